"""`Models`: the models that are served by name, and how a changed folder takes the place of an old one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from ..errors import ConfigError, TreetopError
from ..store import MANIFEST
from .batching import Batcher
from .metrics import Meters
from .refusals import RefusalError
from .served_model import ServedModel, load_served
from .settings import ServeConfig

log = logging.getLogger("treetop.serve")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names stand in addresses."""
Mark = frozenset[tuple[Path, int, int, int]]


def named_folders(given: Iterable[str]) -> dict[str, Path]:
    """``FOLDER`` is served by its own name, ``NAME=FOLDER`` by that."""
    folders: dict[str, Path] = {}
    for argument in given:
        name, separator, folder = argument.partition("=")
        if not separator or "/" in name:
            folder, name = argument, Path(argument).name  # of a link, too: it may point elsewhere tomorrow
            if name in ("", ".."):
                name = Path(argument).resolve().name
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no name for a model: letters, digits, '.', '_' and '-'; write NAME={folder}"
            )
        if name in folders:
            raise ConfigError(f"two models are named {name!r}: write NAME=FOLDER for one of them")
        folders[name] = Path(folder)
    if not folders:
        raise ConfigError("there is no model to serve")
    return folders


class Slot:
    """One name: the version that is served now, and the thread that predicts with it."""

    def __init__(self, served: ServedModel, seen: Mark, config: ServeConfig, meters: Meters) -> None:
        self.serve(served)
        self.seen, self.broken = seen, False
        """The manifest that was loaded last; or, where it could not be, all files that were there."""
        self.batcher = Batcher(
            lambda: self.served,
            meters,
            batch=config.batch,
            wait_s=config.batch_wait / 1000,
            most_waiting=config.max_waiting,
            timeout_s=config.timeout,
        )

    def serve(self, served: ServedModel) -> None:
        """From the next batch on. The index of its label names is made beside the first requests."""
        self.served = served
        threading.Thread(target=lambda: served.search, name="treetop-labels", daemon=True).start()


class Models:
    """Loads all models at the start; `refresh` looks for changes."""

    def __init__(
        self, folders: dict[str, Path], config: ServeConfig, meters: Meters, *, verify: bool
    ) -> None:
        self._config, self._meters = config, meters
        self._refreshing, self._awaited = asyncio.Lock(), False
        seen = {name: _mark(folder) for name, folder in folders.items()}  # before: a change meanwhile is seen
        loaded = {
            name: load_served(name, folder, config.at_prediction, verify=verify)
            for name, folder in folders.items()
        }
        self._slots = {name: Slot(served, seen[name], config, meters) for name, served in loaded.items()}
        for name in loaded:
            meters.loads.labels(name, "loaded").inc()
        self.default = next(iter(loaded))

    def __getitem__(self, name: str | None) -> Slot:
        """By name; None is the first."""
        slot = self._slots.get(self.default if name is None else name)
        if slot is None:
            raise RefusalError(
                404, f"there is no model {str(name)[:100]!r}; there are: {', '.join(self._slots)}"
            )
        return slot

    def served(self) -> list[ServedModel]:
        return [slot.served for slot in self._slots.values()]

    def check_room(self) -> None:
        """Refuses, before anything of a request is read, where no model has room for it."""
        if len(self._slots) == 1:
            self._slots[self.default].batcher.check_room()

    async def refresh(self, *, always: bool = False) -> None:
        """Loads what has changed (or, with ``always``, everything) beside what is served, then swaps.

        Requests go on meanwhile; those already in a batch end with the old version. A folder that cannot be
        loaded, perhaps because it is still being copied, changes nothing and is tried again when it changes.
        """
        if always and self._awaited:
            return  # one is waiting, and will load what is there then
        self._awaited = self._awaited or always
        async with self._refreshing:
            self._awaited = self._awaited and not always
            for name, slot in self._slots.items():
                folder = slot.served.folder
                mark = await asyncio.to_thread(_mark, folder, deep=slot.broken)
                if mark == slot.seen and not always:
                    continue
                files = await asyncio.to_thread(_mark, folder, deep=True)
                slot.seen, slot.broken = await asyncio.to_thread(_mark, folder), False
                try:
                    fresh = await asyncio.to_thread(
                        load_served, name, folder, self._config.at_prediction, verify=True
                    )
                except Exception as error:
                    why = (
                        str(error) if isinstance(error, TreetopError) else f"{type(error).__name__}: {error}"
                    )
                    log.error("%s stays at version %s: %s", name, slot.served.version, why)
                    self._meters.loads.labels(name, "failed").inc()
                    slot.seen, slot.broken = files, True
                    continue
                old = slot.served.version
                slot.serve(fresh)
                log.info("%s: version %s takes the place of %s", name, fresh.version, old)
                self._meters.loads.labels(name, "loaded").inc()

    async def watch(self, seconds: float) -> None:
        """Refreshes for ever."""
        while True:
            await asyncio.sleep(seconds)
            await self.refresh()

    def close(self) -> None:
        """Ends the threads after what is queued."""
        for slot in self._slots.values():
            slot.batcher.close()


def _mark(folder: Path, *, deep: bool = False) -> Mark:
    """What tells one manifest (``deep``: everything in the folder) from another without reading it."""
    paths = [folder / MANIFEST]
    if deep:
        paths = [Path(where, name) for where, _, names in os.walk(folder) for name in names]
    marks = set()
    for path in paths:
        with contextlib.suppress(OSError):  # is not there, or not any more
            state = path.stat()
            marks.add((path, state.st_ino, state.st_mtime_ns, state.st_size))
    return frozenset(marks)
