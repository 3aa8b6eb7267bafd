"""Finished pieces of a long training, kept on disk until the model is saved.

A piece is named after a hash of everything it is made from. A later run that comes to a piece of that name
takes it from the disk; with other data or other settings it has another name and is made anew. Without a
`keeping` around it, nothing is written.

A piece is a folder of ``.npy`` files. What is kept is used from there, memory-mapped: the weights of finished
levels leave the memory while the training goes on.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .arrays import write_array
from .digests import digest_of
from .errors import ConfigError, TreetopError
from .machine import is_main_process
from .store import VERSION

_MAPPED: Literal["r"] | None = None if sys.platform == "win32" else "r"
"""Windows does not remove files that are mapped."""
_folder: contextvars.ContextVar[Path | None] = contextvars.ContextVar("checkpoints", default=None)


@contextlib.contextmanager
def keeping(folder: str | os.PathLike[str], *, resume: bool) -> Iterator[None]:
    """Keeps what is finished inside in ``folder``, which is removed at the end if nothing fails.

    With ``resume`` the pieces that an earlier, failed run has left there are used. Where settings are refused
    there is nothing to go on with: only what was there before stays.
    """
    place = Path(folder)
    if not is_main_process():  # another process of this training looks after the folder
        token = _folder.set(place)
        try:
            yield
        finally:
            _folder.reset(token)
        return
    if not resume:
        shutil.rmtree(place, ignore_errors=True)
    token = _folder.set(place)
    try:
        yield
        shutil.rmtree(place, ignore_errors=True)
    except ConfigError:
        if not resume:
            shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        _folder.reset(token)
        with contextlib.suppress(OSError):
            place.rmdir()  # if nothing was finished


def name_of(kind: str, *parts: Any) -> str | None:
    """The name of a piece made from ``parts``, in the model format of today. None: nothing is kept."""
    return None if _folder.get() is None else f"{kind}-{digest_of(VERSION, *parts)}"


def folder() -> Path | None:
    """Where pieces are kept; None: nowhere."""
    return _folder.get()


def find(name: str | None) -> dict[str, npt.NDArray] | None:
    """The arrays of a finished piece, or None."""
    folder = _folder.get()
    if folder is None or name is None:
        return None
    try:
        paths = sorted((folder / name).glob("*.npy"))
        arrays = {path.stem: np.load(path, mmap_mode=_MAPPED, allow_pickle=False) for path in paths}
    except (OSError, ValueError, EOFError):
        return None
    return arrays or None


def keep(name: str | None, arrays: Mapping[str, npt.NDArray]) -> Mapping[str, npt.NDArray]:
    """Writes a finished piece, whole or not at all, and gives it back as it is to be used from now on.

    Of several processes of one training the first alone writes.
    """
    folder = _folder.get()
    if folder is None or name is None or not is_main_process():
        return arrays
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".", dir=folder))
        try:
            for part, array in arrays.items():
                with (temporary / f"{part}.npy").open("wb") as file:
                    # np.ascontiguousarray would make a list of a single number.
                    write_array(file, np.asarray(array, order="C"))
                    file.flush()
                    os.fsync(file.fileno())
            shutil.rmtree(folder / name, ignore_errors=True)  # a damaged one
            temporary.replace(folder / name)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise TreetopError(f"could not write to {folder}: {error.strerror or error}") from error
    return find(name) or arrays


def keep_latest(name: str | None, number: int, arrays: Mapping[str, npt.NDArray]) -> None:
    """Keeps a state of a piece that is not finished; older ones of smaller ``number`` go."""
    folder = _folder.get()
    if folder is None or name is None:
        return
    keep(f"{name}.{number}", arrays)
    for other in folder.glob(f"{name}.*"):
        if other.name != f"{name}.{number}":
            shutil.rmtree(other, ignore_errors=True)


def find_latest(name: str | None) -> dict[str, npt.NDArray] | None:
    """The newest state of a piece that is whole, or None."""
    folder = _folder.get()
    if folder is None or name is None:
        return None
    numbers = sorted((int(path.suffix[1:]) for path in folder.glob(f"{name}.*")), reverse=True)
    return next((found for number in numbers if (found := find(f"{name}.{number}"))), None)
