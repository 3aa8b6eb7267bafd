"""`PrivateCopies`: the files that the server maps into memory, copied from the served folders.

    TMP/treetop-serve-x7f1/                         locked while the server runs
    TMP/treetop-serve-x7f1/NAME/8e36ebdfb5910500/   the model NAME in this version
    TMP/treetop-serve-x7f1/NAME/served              the version that was served last

Reading a mapped file that somebody has truncated ends a process with SIGBUS, and overwriting one changes the
predictions of a running model. So nothing of a served folder is mapped: it is read once, which verifies its
checksums, and written to a folder that nobody else uses. All workers map the same copy and share its memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import xxhash

from .. import locks
from ..errors import ModelError, TreetopError, raise_machine_fault
from ..regular_files import open_regular, read_regular
from ..store import MANIFEST, array_file, read_manifest

PREFIX = "treetop-serve-"
SERVED = "served"
MAX_MANIFEST = 64 << 20
BLOCK = 1 << 20
_OF_THE_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
"""Faults that another TMPDIR mends."""


class PrivateCopies:
    """Copies in ``root``, or in a temporary folder of their own, which `close` removes."""

    def __init__(self, root: Path | None = None) -> None:
        self._own = contextlib.ExitStack()
        self.root = self._own.enter_context(_own_folder()) if root is None else root

    def __enter__(self) -> PrivateCopies:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the copies, if this object made their folder; mapped ones stay usable."""
        self._own.close()

    def of(self, name: str, folder: Path) -> Path:
        """The copy of a model folder as it is now, named after its version."""
        while True:
            manifest = read_served_manifest(folder)
            copy = self.root / name / version_of_manifest(manifest)
            try:
                with _making(copy, folder), _alone(copy):  # the workers notice a new version at the same time
                    if not copy.exists():
                        _copy(folder, manifest, copy)
            except ModelError:
                if read_served_manifest(folder) == manifest:
                    raise
                continue  # it was saved again meanwhile
            return copy

    def keep(self, copy: Path) -> None:
        """Notes that this copy is served, and removes the others of its model; mapped ones stay usable."""
        with _alone(copy):
            fresh = copy.parent / f".{SERVED}.{os.getpid()}"
            fresh.write_text(copy.name)
            fresh.replace(copy.parent / SERVED)
            for other in copy.parent.iterdir():
                if other.is_dir() and other != copy:
                    shutil.rmtree(other, ignore_errors=True)

    def last(self, name: str) -> Path | None:
        """The copy of a model that was served last, by any worker."""
        try:
            copy = self.root / name / (self.root / name / SERVED).read_text()
        except FileNotFoundError:
            return None
        return copy if copy.exists() else None


def version_of_manifest(manifest: bytes) -> str:
    """A digest of the manifest, which has the checksums of all other files."""
    return xxhash.xxh3_64_hexdigest(manifest)


def read_served_manifest(folder: Path) -> bytes:
    """The manifest as bytes."""
    try:
        return read_regular(folder / MANIFEST, MAX_MANIFEST)
    except OSError as error:
        raise_machine_fault(error, folder / MANIFEST)
        raise ModelError(
            f"{folder} is not a model folder ({error.strerror or error}); give one that treetop train or"
            " treetop import wrote"
        ) from None


@contextlib.contextmanager
def _alone(copy: Path) -> Iterator[None]:
    """Waits for other workers that make or remove copies of the same model."""
    copy.parent.mkdir(exist_ok=True)
    with locks.one_at_a_time(copy.parent):
        yield


@contextlib.contextmanager
def _making(copy: Path, folder: Path) -> Iterator[None]:
    """Faults of the place where copies are."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_THE_PLACE:
            raise_machine_fault(error, copy.parent)
        raise TreetopError(
            f"could not copy {folder} to {copy.parent} ({error.strerror or error}); set TMPDIR to a folder"
            " with room for the model"
        ) from None


def _copy(folder: Path, manifest: bytes, copy: Path) -> None:
    """Writes the verified files of ``folder`` to ``copy``, which appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=copy.parent, ignore_cleanup_errors=True) as temporary:
        fresh = Path(temporary) / "copy"
        fresh.mkdir()
        (fresh / MANIFEST).write_bytes(manifest)
        with naming(folder, fresh):
            entries = read_manifest(fresh)["arrays"]
        home = folder.resolve()
        checksums = {
            array_file(folder, home, name, entry): entry["checksum"] for name, entry in entries.items()
        }
        sizes = {path: _size(folder, path) for path in checksums}
        _check_room(folder, sum(sizes.values()), fresh)
        for path, checksum in checksums.items():
            target = fresh / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            _copy_array(folder, path, sizes[path], checksum, target)
        fresh.replace(copy)


def _size(folder: Path, path: Path) -> int:
    with _reading(folder, path):
        return path.stat().st_size


def _copy_array(folder: Path, path: Path, size: int, checksum: str, target: Path) -> None:
    """Copies at most ``size`` bytes: a file that grows meanwhile must not fill the disk."""
    digest = xxhash.xxh3_128()
    with target.open("wb", buffering=0) as out, contextlib.ExitStack() as opened:
        with _reading(folder, path):
            source = opened.enter_context(open_regular(path))
        while size > 0:
            with _reading(folder, path):
                block = source.read(min(BLOCK, size))
            if not block:
                break
            size -= len(block)
            digest.update(block)
            out.write(block)
    if digest.hexdigest() != checksum:
        raise ModelError(
            f"{folder}: the file {path.relative_to(folder)} is damaged (its checksum does not match); copy"
            " the model folder again, or retrain the model"
        )


@contextlib.contextmanager
def _reading(folder: Path, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise_machine_fault(error, path)
        raise ModelError(
            f"{folder}: the file {path.relative_to(folder)} cannot be read ({error.strerror}); copy the model"
            " folder again"
        ) from None


def _check_room(folder: Path, needed: int, target: Path) -> None:
    free = shutil.disk_usage(target).free
    if needed > free:
        place = tempfile.gettempdir()
        raise TreetopError(
            f"{folder}: the server's copy of this model needs {needed / 1e6:,.0f} MB, and {place} has"
            f" {free / 1e6:,.0f} MB left; set TMPDIR to a folder with more room"
        )


@contextlib.contextmanager
def naming(folder: Path, copy: Path) -> Iterator[None]:
    """Errors in this block name the folder in place of its copy."""
    try:
        yield
    except ModelError as error:
        raise ModelError(str(error).replace(str(copy), str(folder))) from None


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """A temporary folder, locked while this process lives; removes those of servers that were killed."""
    if sys.platform == "win32":  # folders cannot be locked
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    _remove_leftovers(Path(tempfile.gettempdir()))
    while True:
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
            root = Path(name)
            handle = os.open(root, os.O_RDONLY)
            try:
                if locks.try_lock(handle) is not False and root.exists():
                    yield root
                    return
            finally:
                os.close(handle)
        # Another server that starts took it for abandoned before it was locked.


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's
            if not stat.S_ISDIR(folder.lstat().st_mode):
                continue
            handle = os.open(folder, os.O_RDONLY)
            try:
                if locks.try_lock(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
