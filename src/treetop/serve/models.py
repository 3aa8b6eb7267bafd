"""`Models`: the served models by name, and the replacement of models whose folder has changed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from ..errors import ConfigError, TreetopError
from ..store import MANIFEST
from .batching import Batcher
from .http_errors import HttpError
from .metrics import Metrics
from .private_copies import PrivateCopies
from .served_model import ServedModel, load_copy, load_served
from .settings import ServeConfig

log = logging.getLogger("treetop.serve")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names are parts of URLs."""
Fingerprint = frozenset[tuple[Path, int, int, int]]
"""Path, inode, modification time and size of files."""


def named_folders(arguments: Iterable[str]) -> dict[str, Path]:
    """``FOLDER`` is served by its own name, ``NAME=FOLDER`` by the given one."""
    folders: dict[str, Path] = {}
    for argument in arguments:
        name, separator, folder = argument.partition("=")
        if not separator or "/" in name:
            folder, name = argument, Path(argument).name  # of a link, not its target, which may change
            if name in ("", ".."):
                name = Path(argument).resolve().name
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is not a valid model name; choose one of letters, digits, '.', '_' and '-'"
                f" with NAME={folder}"
            )
        if name in folders:
            raise ConfigError(f"two models are named {name!r}; rename one with NAME=FOLDER")
        folders[name] = Path(folder)
    if not folders:
        raise ConfigError("no model to serve; give at least one model folder")
    return folders


class Slot:
    """One model name: the version served now, and the thread that predicts with it."""

    def __init__(
        self, served: ServedModel, seen: Fingerprint, broken: bool, config: ServeConfig, metrics: Metrics
    ) -> None:
        self.serve(served)
        self.seen, self.broken = seen, broken
        """The manifest loaded last or, if loading failed, all files of the folder at that time."""
        self.batcher = Batcher(
            lambda: self.served,
            metrics,
            batch=config.batch,
            wait_s=config.batch_wait / 1000,
            max_waiting=config.max_waiting,
            timeout_s=config.timeout,
        )

    def serve(self, served: ServedModel) -> None:
        """Serves this version from the next batch on. Its label index is built in the background."""
        self.served = served
        threading.Thread(target=lambda: served.search, name="treetop-labels", daemon=True).start()


class Models:
    """Loads all models at startup; `refresh` reloads those that changed."""

    def __init__(
        self, folders: dict[str, Path], config: ServeConfig, metrics: Metrics, copies: PrivateCopies
    ) -> None:
        self._config, self._metrics, self._copies = config, metrics, copies
        self._refreshing, self._pending = asyncio.Lock(), False
        # Taken before loading, so that changes meanwhile are seen.
        seen = {
            name: (_fingerprint(folder), _fingerprint(folder, deep=True)) for name, folder in folders.items()
        }
        loaded = {name: self._first(name, folder) for name, folder in folders.items()}
        self._slots = {
            name: Slot(served, seen[name][broken], broken, config, metrics)
            for name, (served, broken) in loaded.items()
        }
        for name, (_, broken) in loaded.items():
            metrics.loads.labels(name, "failed" if broken else "loaded").inc()
        self.default = next(iter(loaded))

    def _first(self, name: str, folder: Path) -> tuple[ServedModel, bool]:
        """The model, and whether its folder is broken: then a new worker serves what the others do."""
        settings = self._config.load_settings
        try:
            return load_served(name, folder, settings, self._copies), False
        except TreetopError as error:
            last = self._copies.last(name)
            if last is None:
                raise
            log.error("%s: still serving version %s: %s", name, last.name, error)
            return load_copy(name, folder, settings, last), True

    def __getitem__(self, name: str | None) -> Slot:
        """The model of that name; the first for None."""
        slot = self._slots.get(self.default if name is None else name)
        if slot is None:
            known = ", ".join(self._slots)
            raise HttpError(404, f"unknown model {str(name)[:100]!r}; available: {known}")
        return slot

    def served(self) -> list[ServedModel]:
        return [slot.served for slot in self._slots.values()]

    def check_room(self) -> None:
        """Raises 429 before a request's body is read if the only model has no room for it."""
        if len(self._slots) == 1:
            self._slots[self.default].batcher.check_room()

    async def refresh(self, *, always: bool = False) -> None:
        """Loads changed models (or, with ``always``, all) in the background, then replaces the old ones.

        Requests continue meanwhile; batches that have started finish with the old version. A folder that
        cannot be loaded, perhaps because it is still being copied, is retried when it changes again.
        """
        if always and self._pending:
            return  # a waiting refresh will load the current files
        self._pending = self._pending or always
        async with self._refreshing:
            self._pending = self._pending and not always
            for name, slot in self._slots.items():
                try:
                    await self._refresh_slot(name, slot, always)
                except Exception as error:  # of a folder, or of a machine without room for a thread
                    known = isinstance(error, TreetopError)
                    why = str(error) if known else f"{type(error).__name__}: {error}"
                    log.error("%s: still serving version %s: %s", name, slot.served.version, why)
                    self._metrics.loads.labels(name, "failed").inc()

    async def _refresh_slot(self, name: str, slot: Slot, always: bool) -> None:
        folder = slot.served.folder
        fingerprint = await asyncio.to_thread(_fingerprint, folder, deep=slot.broken)
        if fingerprint == slot.seen and not always:
            return
        files = await asyncio.to_thread(_fingerprint, folder, deep=True)
        seen = await asyncio.to_thread(_fingerprint, folder)
        slot.seen, slot.broken = files, True
        fresh = await asyncio.to_thread(load_served, name, folder, self._config.load_settings, self._copies)
        slot.seen, slot.broken = seen, False
        old = slot.served.version
        slot.serve(fresh)
        log.info("%s: version %s replaced %s", name, fresh.version, old)
        self._metrics.loads.labels(name, "loaded").inc()

    async def watch(self, seconds: float) -> None:
        """Refreshes periodically, forever."""
        while True:
            await asyncio.sleep(seconds)
            await self.refresh()

    def close(self) -> None:
        """Ends the threads after the queued jobs."""
        for slot in self._slots.values():
            slot.batcher.close()


def _fingerprint(folder: Path, *, deep: bool = False) -> Fingerprint:
    """Identifies a manifest (``deep``: all files where a model has its files) without reading it."""
    paths = [folder / MANIFEST]
    if deep:
        with contextlib.suppress(OSError):  # removed meanwhile
            paths = [*folder.glob("*"), *folder.glob("*/*")]
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):  # missing, or removed meanwhile
            state = path.stat()
            found.add((path, state.st_ino, state.st_mtime_ns, state.st_size))
    return frozenset(found)
