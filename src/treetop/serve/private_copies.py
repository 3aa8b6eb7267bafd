"""`PrivateCopies`: the files that the server maps into memory, copied from the served folders.

    TMP/treetop-serve-x7f1/alive                    locked while the server runs
    TMP/treetop-serve-x7f1/NAME/8e36ebdfb5910500/   the model NAME in this version
    TMP/treetop-serve-x7f1/NAME/served              the version that was served last

Reading a mapped file that somebody has truncated ends a process with SIGBUS, and overwriting one changes the
predictions of a running model. So nothing of a served folder is mapped: it is read once, which verifies its
checksums, and written to a folder that nobody else uses. All workers map the same copy and share its memory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from ..errors import ModelError, TreetopError
from ..regular_files import open_regular, read_regular
from ..store import MANIFEST, array_file, read_manifest

PREFIX = "treetop-serve-"
ALIVE = "alive"
SERVED = "served"
MAX_MANIFEST = 64 << 20
BLOCK = 1 << 20


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
                with self._alone():  # the workers notice a new version at the same time
                    if not copy.exists():
                        _copy(folder, manifest, copy)
            except ModelError:
                if read_served_manifest(folder) == manifest:
                    raise
                continue  # it was saved again meanwhile
            return copy

    def keep(self, copy: Path) -> None:
        """Notes that this copy is served, and removes the others of its model; mapped ones stay usable."""
        with self._alone():
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

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.root / "lock").open("w") as file:
            _lock(file)
            yield


def version_of_manifest(manifest: bytes) -> str:
    """A digest of the manifest, which has the checksums of all other files."""
    return xxhash.xxh3_64_hexdigest(manifest)


def read_served_manifest(folder: Path) -> bytes:
    """The manifest as bytes."""
    try:
        return read_regular(folder / MANIFEST, MAX_MANIFEST)
    except OSError as error:
        raise ModelError(
            f"{folder} is not a model folder ({error.strerror or error}); give one that treetop train or"
            " treetop import wrote"
        ) from None


def _copy(folder: Path, manifest: bytes, copy: Path) -> None:
    """Writes the verified files of ``folder`` to ``copy``, which appears when it is complete."""
    try:
        copy.parent.mkdir(exist_ok=True)
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
            _check_room(folder, list(checksums), fresh)
            for path, checksum in checksums.items():
                target = fresh / path.relative_to(folder)
                target.parent.mkdir(exist_ok=True)
                _copy_array(folder, path, checksum, target)
            fresh.replace(copy)
    except OSError as error:
        raise TreetopError(
            f"could not copy {folder} to {copy.parent} ({error.strerror or error}); set TMPDIR to a folder"
            " with room for the model"
        ) from None


def _copy_array(folder: Path, path: Path, checksum: str, target: Path) -> None:
    where = path.relative_to(folder)
    digest, block = xxhash.xxh3_128(), memoryview(bytearray(BLOCK))
    with target.open("wb", buffering=0) as out:
        try:
            source = open_regular(path)
        except OSError as error:
            raise ModelError(
                f"{folder}: the file {where} cannot be read ({error.strerror}); copy the model folder again"
            ) from None
        with source:
            while count := source.readinto(block):  # type: ignore[attr-defined]
                digest.update(block[:count])
                out.write(block[:count])
    if digest.hexdigest() != checksum:
        raise ModelError(
            f"{folder}: the file {where} is damaged (its checksum does not match); copy the model folder"
            " again, or retrain the model"
        )


def _check_room(folder: Path, paths: list[Path], target: Path) -> None:
    needed = sum(path.stat().st_size for path in paths if path.is_file())
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
    _remove_leftovers(Path(tempfile.gettempdir()))
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as root,
        (Path(root) / f".{ALIVE}").open("w") as alive,
    ):
        _lock(alive)
        if sys.platform != "win32":
            Path(alive.name).replace(Path(root) / ALIVE)  # visible once it is locked
        yield Path(root)


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # without the file, or another user's, or still locked
            if not stat.S_ISDIR(folder.lstat().st_mode):
                continue
            with (folder / ALIVE).open("r+") as alive:
                if _lock(alive, wait=False):
                    shutil.rmtree(folder, ignore_errors=True)


def _lock(file: Any, *, wait: bool = True) -> bool:
    """Locks a file until it is closed; False on systems without locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
