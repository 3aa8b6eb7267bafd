"""Checkpoints: finished pieces of a long training, kept on disk until the model is saved.

A piece is named after a hash of everything that it depends on. A later run that needs a piece of that name
reads it from disk; with other data or settings the name differs, and the piece is computed again. Outside of
`keeping`, nothing is written.

A piece is a folder of ``.npy`` files, which are memory-mapped from then on: the weights of finished levels
leave memory while the training continues. ``piece.json`` lists the files with their sizes and checksums; a
piece that differs from it counts as absent.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import durable
from .arrays import UNREADABLE, read_array, write_array
from .digests import digest_of, file_digest
from .errors import ConfigError, TreetopError, not_written
from .machine import is_main_process
from .regular_files import read_regular
from .store import VERSION

_MAPPED = sys.platform != "win32"
"""Windows cannot remove mapped files."""
_LIST = "piece.json"
T = TypeVar("T")
_folder: contextvars.ContextVar[Path | None] = contextvars.ContextVar("checkpoints", default=None)


@contextlib.contextmanager
def keeping(folder: str | os.PathLike[str], *, resume: bool) -> Iterator[None]:
    """Keeps the pieces finished inside in ``folder``, which is removed at the end if nothing fails.

    One training at a time may use a folder: `store.reserved` is for that. ``resume`` uses the pieces that an
    earlier run left there. If settings are rejected, no new ones are left.
    """
    place = Path(folder).resolve()  # a link remains a link
    if not is_main_process():  # another process of this training manages the folder
        token = _folder.set(place)
        try:
            yield
        finally:
            _folder.reset(token)
        return
    if resume:
        durable.remove_leftovers(place)
        for killed in place.glob(".*"):
            shutil.rmtree(killed, ignore_errors=True)
    else:
        durable.remove(place)
    token = _folder.set(place)
    try:
        yield
        durable.remove(place)
    except ConfigError:
        if not resume:
            durable.remove(place)
        raise
    finally:
        _folder.reset(token)
        with contextlib.suppress(OSError):
            place.rmdir()  # only if no piece was finished


def name_of(kind: str, *parts: Any) -> str | None:
    """The name of a piece that depends on ``parts`` and the model format; None if nothing is kept."""
    return None if _folder.get() is None else f"{kind}-{digest_of(VERSION, *parts)}"


def folder() -> Path | None:
    """The folder of checkpoints; None if nothing is kept."""
    return _folder.get()


def find(name: str | None) -> dict[str, npt.NDArray] | None:
    """The arrays of a finished piece, or None if it is missing, incomplete or damaged."""
    folder = _folder.get()
    if folder is None or name is None:
        return None
    try:
        files = json.loads(read_regular(folder / name / _LIST))
        if files != _described(folder / name):
            return None
        return _opened(folder / name)
    except UNREADABLE:
        return None


def restored(name: str | None, restore: Callable[[Mapping[str, npt.NDArray]], T]) -> T | None:
    """What ``restore`` makes of a finished piece; None if it is absent, or ``restore`` rejects its arrays."""
    arrays = find(name)
    if arrays is None:
        return None
    try:
        return restore(arrays)
    except (TreetopError, *UNREADABLE):
        return None


def keep(name: str | None, arrays: Mapping[str, npt.NDArray]) -> Mapping[str, npt.NDArray]:
    """Writes a finished piece, completely or not at all, and returns the arrays to use from now on.

    If several processes run one training, only the first writes.
    """
    folder = _folder.get()
    if folder is None or name is None or not is_main_process():
        return arrays
    try:
        durable.create_folder(folder)
        temporary = Path(tempfile.mkdtemp(prefix=".", dir=folder))
        try:
            for part, array in arrays.items():
                with (temporary / f"{part}.npy").open("wb") as file:
                    # np.ascontiguousarray would turn a scalar into an array of one dimension.
                    write_array(file, np.asarray(array, order="C"))
                    durable.sync_file(file)
            with (temporary / _LIST).open("wb") as file:
                file.write(json.dumps(_described(temporary)).encode())
                durable.sync_file(file)
            durable.remove(folder / name)  # left over and damaged
            durable.move(temporary, folder / name)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise not_written(folder, error) from error
    return _opened(folder / name)


def _described(piece: Path) -> dict[str, list[int | str]]:
    """Size and checksum of every array."""
    return {
        path.stem: [path.stat().st_size, file_digest(path)]
        for path in sorted(piece.glob("*.npy"))
        if path.is_file()
    }


def _opened(piece: Path) -> dict[str, npt.NDArray]:
    paths = sorted(piece.glob("*.npy"))
    return {path.stem: read_array(path, mapped=_MAPPED) for path in paths}


def keep_latest(name: str | None, number: int, arrays: Mapping[str, npt.NDArray]) -> None:
    """Keeps an intermediate state of a piece; other states of it are removed."""
    folder = _folder.get()
    if folder is None or name is None:
        return
    keep(f"{name}.{number}", arrays)
    for other in _states(folder, name):
        if other != number:
            durable.remove(folder / f"{name}.{other}")


def find_latest(name: str | None) -> dict[str, npt.NDArray] | None:
    """The newest complete state of a piece, or None."""
    folder = _folder.get()
    if folder is None or name is None:
        return None
    return next((found for number in _states(folder, name) if (found := find(f"{name}.{number}"))), None)


def _states(folder: Path, name: str) -> list[int]:
    """The numbers of the states of a piece, newest first."""
    endings = (path.name[len(name) + 1 :] for path in folder.glob(f"{name}.*"))
    return sorted((int(ending) for ending in endings if ending.isdecimal()), reverse=True)
