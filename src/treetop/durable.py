"""Changes of files and folders that are whole or absent after a kill or a power loss.

A file gets its name after its content is on disk, and the name is on disk once its folder is synchronised. A
folder loses its name before its files are deleted. What a killed process leaves behind has a hidden name,
and the next process that writes or removes the same thing deletes it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import time
import uuid
from pathlib import Path
from typing import BinaryIO, cast

from . import locks

_HEX = "[0-9a-f]" * 8
_DAY_S = 86400.0
"""Without locks, a temporary file of this age belongs to no running process."""


def sync_folder(folder: Path) -> None:
    """Puts the names in a folder on disk; nothing on systems that cannot do that."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # one may write into it, but not read it
        return
    try:
        with contextlib.suppress(OSError):  # some network disks reject it
            os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(file: BinaryIO) -> None:
    """Puts what was written on disk."""
    file.flush()
    os.fsync(file.fileno())


def create_folder(folder: Path) -> None:
    """Creates a folder and its parents where they are missing."""
    if folder.is_dir():
        return
    create_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def move(source: Path, target: Path) -> None:
    """Renames a file whose content is on disk, or a folder of such files, and replaces what was there."""
    if source.is_dir():
        sync_folder(source)
    source.replace(target)
    sync_folder(target.parent)


def remove(folder: Path) -> None:
    """Deletes a folder: it has no name any more before its first file is gone."""
    hidden = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.removed")
    try:
        move(folder, hidden)
    except FileNotFoundError:
        pass
    except OSError:  # it may not be renamed, but perhaps emptied
        shutil.rmtree(folder, ignore_errors=True)
    remove_leftovers(folder)


def remove_leftovers(folder: Path) -> None:
    """Deletes what killed removals of ``folder`` left."""
    for hidden in _named_like(folder, "removed"):
        shutil.rmtree(hidden, ignore_errors=True)


class NewFile:
    """A file that is written under a temporary name; `commit` gives it its own.

    The temporary file is locked while its process runs. Those of dead processes are deleted by the next write
    to the same ``path``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        for left in _named_like(path, "tmp"):
            _remove_if_abandoned(left)
        while True:
            self._temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
            self.file = cast(BinaryIO, self._temporary.open("xb"))
            self._handle = -1
            try:
                self._handle = os.dup(self.file.fileno())  # keeps the lock when the file is closed
            except OSError:  # too many open files
                self.discard()
                raise
            if locks.try_lock(self._handle) is not False and self._temporary.exists():
                return
            self.discard()  # another process took it for abandoned before it was locked

    def commit(self) -> None:
        """Puts the content and then the name on disk."""
        if not self.file.closed:
            self.file.flush()
        os.fsync(self._handle)
        if sys.platform == "win32":  # cannot rename open files
            self._close()
        move(self._temporary, self.path)
        self._close()

    def discard(self) -> None:
        """Deletes the temporary file, if it was not committed."""
        self._close()
        self._temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        self.file.close()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_old(path: Path) -> bool:
    """Whether it has not been changed for a day."""
    try:
        return time.time() - path.stat().st_mtime > _DAY_S
    except OSError:
        return False


def _named_like(path: Path, ending: str) -> list[Path]:
    return list(path.parent.glob(f".{glob.escape(path.name)}.{_HEX}.{ending}"))


def _remove_if_abandoned(path: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            locked = locks.try_lock(handle)
            windows = sys.platform == "win32"  # unlocks files before it renames them, and keeps open ones
            if (locked and not windows) or (locked is not False and is_old(path)):
                if windows:
                    os.close(handle)
                    handle = -1
                path.unlink()
        finally:
            if handle >= 0:
                os.close(handle)
