"""Locks on files that end with their process, however it ends.

They work on local disks of Linux, macOS and Windows, and on most network disks. On the others nothing is
locked: whoever writes last wins.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def try_lock(handle: int) -> bool | None:
    """Locks an open file until it is closed: True; False if another has it; None if there are no locks."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[bool]:
    """Waits for others inside for the same folder; yields False where folders cannot be locked."""
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            alone = True
        except OSError:
            alone = False
        yield alone
    finally:
        os.close(handle)  # releases the lock


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Holds a lock file, which exists only inside; yields False, at once, if another process holds it.

    Yields True where it cannot be created or locked.
    """
    created = [parent for parent in path.parents if not parent.exists()]
    handle, taken = _lock_file(path)
    try:
        yield not taken
    finally:
        if handle is not None:
            _remove(path, handle)
        for parent in created:
            with contextlib.suppress(OSError):  # it is not empty
                parent.rmdir()


def _lock_file(path: Path) -> tuple[int | None, bool]:
    """The handle of the locked file, if there is one, and whether another process has it."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None, False
        if try_lock(handle) is False:
            os.close(handle)
            return None, True
        try:
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle, False
        except OSError:
            pass
        os.close(handle)  # its owner removed it before this process locked it


def _remove(path: Path, handle: int) -> None:
    """Removes the file while it is locked, so that nobody can lock it under this name afterwards."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":  # cannot delete open files, nor any that another process has opened
            os.close(handle)
        path.unlink()
    if sys.platform != "win32":
        os.close(handle)
