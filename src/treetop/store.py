"""The model folder: plain arrays and a JSON manifest, memory-mapped on load. Nothing in it is ever executed.

    model/manifest.json              method, config, data statistics, version, and a checksum of every array
    model/arrays-1f0c…/NAME.npy      the arrays, in a folder named after its content; equal ones share a file

The manifest defines the model. Saving over an old model writes the new arrays next to the old ones, replaces
the manifest in one step, and then removes the arrays that it no longer names: a killed run leaves the old
model or the new one, complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from . import __version__, durable, locks
from .arrays import UNREADABLE, write_array
from .digests import file_digest
from .errors import MachineError, ModelError, not_written, raise_machine_fault
from .machine import is_main_process

FORMAT = "treetop-model"
VERSION = 4
MANIFEST = "manifest.json"
TEMPORARY = ".treetop-"
"""The prefix of temporary folders."""
_COPY_AGAIN = "copy the model folder again, or retrain the model"
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DEEPEST = 60
"""Levels of lists and objects in a manifest: an ensemble in another takes three."""
_MANIFEST_FIELDS = {"treetop": str, "method": str, "config": dict, "data": dict, "arrays": dict}


@dataclass(frozen=True)
class Stored:
    """The content of a model folder."""

    method: str
    config: dict[str, Any]
    data: dict[str, Any]
    """Statistics of the training data, and what else the method needs to be restored."""
    arrays: dict[str, npt.NDArray]
    treetop: str = __version__
    """The version of treetop that wrote it."""


def save(folder: str | os.PathLike[str], stored: Stored) -> None:
    """Writes the model folder. It replaces an older model, but nothing else."""
    target = Path(folder).resolve()
    try:
        check_target(folder)
        durable.create_folder(target.parent)
        with locks.one_at_a_time(target.parent) as alone:
            _remove_leftovers(target.parent, alone)
            if target.exists():
                _remove_leftovers(target, alone)
                _write(target, stored)
            else:
                with _temporary_folder(target.parent) as temporary:
                    _write(temporary, stored)
                    durable.move(temporary, target)
    except OSError as error:
        raise not_written(folder, error) from error


@contextlib.contextmanager
def reserved(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Reserves a folder for the model that is made inside; another process that tries is rejected at once.

    The lock ends with the process, however it ends. Of several that run one training, the first holds it.
    """
    check_target(folder)
    if not is_main_process():
        yield
        return
    target = Path(folder).resolve()
    with locks.held(target.with_name(f".{target.name}.lock")) as ours:
        if not ours:
            raise ModelError(
                f"{folder}: another process is making or changing this model; wait until it ends, or choose"
                " another folder"
            )
        yield


def check_target(folder: str | os.PathLike[str]) -> None:
    """Rejects a folder where `save` would have to overwrite something that is not a model."""
    target = Path(folder)
    if not target.exists() or (target / MANIFEST).exists():
        return
    if not target.is_dir() or any(target.iterdir()):
        raise ModelError(f"{target} exists and is not a model folder; choose another name")


def load(folder: str | os.PathLike[str], *, verify: bool = True) -> Stored:
    """Opens a model folder. ``verify`` compares every array with its checksum."""
    folder = Path(folder)
    written = _written(folder)
    manifest = read_manifest(folder)
    try:
        arrays = _open_arrays(folder, manifest["arrays"], verify)
    except (ModelError, MachineError):
        if _written(folder) == written:
            raise
        return load(folder, verify=verify)  # the model was replaced while it was being read
    return Stored(manifest["method"], manifest["config"], manifest["data"], arrays, manifest["treetop"])


def _written(folder: Path) -> tuple[int, int] | None:
    """The identity of the manifest file, which differs even between manifests of the same content."""
    try:
        state = (folder / MANIFEST).stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def _open_arrays(
    folder: Path, entries: Mapping[str, Mapping[str, str]], verify: bool
) -> dict[str, npt.NDArray]:
    arrays: dict[str, npt.NDArray] = {}
    opened: dict[tuple[str, str], npt.NDArray] = {}
    home = folder.resolve()
    for name, entry in entries.items():
        path = array_file(folder, home, name, entry)
        source = str(entry["file"]), str(entry["checksum"])
        if source in opened:
            arrays[name] = opened[source]
            continue
        try:
            if verify and file_digest(path) != entry["checksum"]:
                raise ModelError(
                    f"{folder}: the file {entry['file']} is damaged (its checksum does not match);"
                    f" {_COPY_AGAIN}"
                )
            arrays[name] = opened[source] = np.load(path, mmap_mode="r", allow_pickle=False)
        except UNREADABLE as error:
            raise_machine_fault(error, path)
            raise ModelError(f"{folder}: the file {entry['file']} is damaged; {_COPY_AGAIN}") from None
    return arrays


def array_file(folder: Path, home: Path, name: str, entry: Mapping[str, str]) -> Path:
    """The file of an array by its entry in the manifest: in the model folder, and there.

    ``home``: the folder without links.
    """
    if not isinstance(entry, dict) or not {"file", "checksum"} <= entry.keys():
        raise ModelError(
            f"{folder / MANIFEST} is damaged: no file or checksum recorded for {name}; {_COPY_AGAIN}"
        )
    path = folder / str(entry["file"])
    try:
        named = Path(entry["file"])
        inside = len(named.parts) == 2 and not named.anchor and ".." not in named.parts
        if inside and (path.is_symlink() or path.parent.is_symlink()):  # else nothing leads elsewhere
            inside = path.resolve().parent.parent == home
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise_machine_fault(error, path)
        # Links in a circle, or a name that no file can have.
        raise ModelError(f"{folder}: the file {entry['file']} is missing; {_COPY_AGAIN}") from None
    if not inside:
        raise ModelError(f"{folder}: {name} points outside the model folder; use a model that you trust")
    if not path.is_file():
        raise ModelError(f"{folder}: the file {entry['file']} is missing; {_COPY_AGAIN}")
    return path


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest without the arrays, checked for kind and version."""
    path = Path(folder) / MANIFEST
    try:
        if not path.is_file():
            reason = "there is no such folder" if not Path(folder).exists() else f"it has no {MANIFEST}"
            raise ModelError(f"{folder} is not a model folder: {reason}")
        manifest = json.loads(path.read_text("utf-8"))
        kind, version = manifest["format"], manifest["version"]
        complete = (
            isinstance(version, int)
            and all(isinstance(manifest[key], kind_of) for key, kind_of in _MANIFEST_FIELDS.items())
            and all(_is_plain(manifest[key]) for key in ("treetop", "method", "config", "data"))
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise_machine_fault(error, path)
        raise ModelError(f"{path} is damaged: it is not a model manifest; {_COPY_AGAIN}") from None
    if kind != FORMAT or not complete:
        raise ModelError(f"{path} is damaged: it is not a model manifest; {_COPY_AGAIN}")
    if version != VERSION:
        age, advice = ("newer", "upgrade treetop") if version > VERSION else ("older", "retrain the model")
        raise ModelError(
            f"{folder} has model format {version}, {age} than this treetop's {VERSION}"
            f" (it was written by treetop {manifest['treetop']}); {advice}"
        )
    return dict(manifest)


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether it can be shown and written again: no half characters, no endless nesting or numbers."""
    match value:
        case str():
            return value.isascii() or not _HALF_CHARACTER.search(value)
        case dict():
            return depth < _DEEPEST and all(
                _is_plain(part, depth + 1) for item in value.items() for part in item
            )
        case list():
            return depth < _DEEPEST and all(_is_plain(item, depth + 1) for item in value)
        case int():
            return abs(value) < 1 << 64
    return True


def _write(folder: Path, stored: Stored) -> None:
    with _temporary_folder(folder) as temporary:
        entries: dict[str, dict[str, str]] = {}
        file_of: dict[str, str] = {}  # by checksum, since members of an ensemble may share arrays
        digest = xxhash.xxh3_128()
        for name, array in stored.arrays.items():
            path = temporary / f"{name}.npy"
            with path.open("wb") as file:
                write_array(file, np.ascontiguousarray(array))
                durable.sync_file(file)
            checksum = file_digest(path)
            if checksum in file_of:
                path.unlink()
            entries[name] = {"checksum": checksum, "file": file_of.setdefault(checksum, path.name)}
            digest.update(name.encode() + checksum.encode())
        arrays_name = f"arrays-{digest.hexdigest()[:16]}"
        if (folder / arrays_name).exists() and not _intact(folder / arrays_name, entries):
            arrays_name += f"-{os.urandom(4).hex()}"  # the same model again, over damaged files
        for entry in entries.values():
            entry["file"] = f"{arrays_name}/{entry['file']}"
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "treetop": stored.treetop,
            "method": stored.method,
            "config": stored.config,
            "data": stored.data,
            "arrays": entries,
        }
        if not (folder / arrays_name).exists():
            durable.move(temporary, folder / arrays_name)
        else:
            durable.sync_folder(folder)  # the save that wrote them may have been killed
        fresh = durable.NewFile(folder / MANIFEST)
        try:
            # The name of a source file may have bytes that are no characters.
            fresh.file.write(json.dumps(manifest, indent=1, ensure_ascii=False).encode("utf-8", "replace"))
            fresh.commit()
        finally:
            fresh.discard()
    for old in folder.glob("arrays-*"):
        if old.name != arrays_name:
            shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder that is removed afterwards unless it was renamed."""
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(folder: Path, alone: bool) -> None:
    """Removes what killed saves left: all of it if no other save can be running, else what is old."""
    for left in folder.glob(f"{TEMPORARY}*"):
        if alone or durable.is_old(left):
            shutil.rmtree(left, ignore_errors=True)
    for left in folder.glob(f".{MANIFEST}.*"):
        if alone or durable.is_old(left):
            left.unlink(missing_ok=True)


def _intact(arrays: Path, entries: Mapping[str, Mapping[str, str]]) -> bool:
    checksums = {arrays / entry["file"]: entry["checksum"] for entry in entries.values()}
    return all(path.is_file() and file_digest(path) == checksum for path, checksum in checksums.items())
