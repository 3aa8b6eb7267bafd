"""Plain arrays in a folder, memory-mapped: for data that are larger than memory or read repeatedly.

    folder/data.json                     sizes, and for every array its file with its size and time of change
    folder/arrays-1f0c…/X.indices.npy    the arrays: CSR matrices X, Y, … (indptr, indices, data) as the
                                         native core takes them; the relevances of Y's entries and the
                                         weights of examples; labels, texts, … as UTF-8 and offsets

Writing over an older data set puts the new arrays next to the old ones, replaces ``data.json`` in one step
and then removes the old arrays. Arrays are read as read-only memory maps. Row pointers and ids are checked on
every reading, as native code relies on them; values, which were checked when they were written, only if the
size or time of change of a file differs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...arrays import UNREADABLE, read_array, write_array
from ...errors import DataError, raise_machine_fault
from ...regular_files import read_regular
from ...sparse import around, csr_arrays, structure_flaw
from ...strings import Strings
from ..dataset import Dataset
from ..files import Input, Output
from ..labels import distinct_names
from ..matrices import feature_matrix, label_matrix
from .examples import check_labelled
from .options import ReadOptions, WriteOptions

MANIFEST = "data.json"
FORMAT, VERSION = "treetop-arrays", 1
_MATRICES = {
    "X": (("examples", "features"), feature_matrix),
    "Y": (("examples", "labels"), label_matrix),
    "label_features": (("labels", "features"), feature_matrix),
    "excluded": (("examples", "labels"), label_matrix),
}
"""The sizes of each matrix, and what it has to be."""
_CSR: dict[str, type[np.generic]] = {"indptr": np.int64, "indices": np.int32, "data": np.float32}
_STRINGS: dict[str, type[np.generic]] = {"buffer": np.uint8, "offsets": np.int64}
_COLUMNS = ("labels", "texts", "ids", "groups", "label_texts")
_VALUES = "1"
"""What Y holds; older folders also have relevances there."""
_CONVERT_AGAIN = "convert the data again"


def read(source: Input, options: ReadOptions) -> Dataset:
    folder = source.path
    if folder is None or not folder.is_dir():
        raise DataError(f"{source.name}: is not a folder; name a folder of arrays")
    arrays = _Arrays(folder)
    columns: dict[str, Any] = {name: arrays.strings(name) for name in _COLUMNS}
    labels = columns.pop("labels")
    if labels is None:
        raise arrays.damaged("it lists no labels")
    if not arrays.as_written("labels.buffer", "labels.offsets"):
        labels = distinct_names(labels, source.name)
    matrices: dict[str, Any] = {name: arrays.matrix(name) for name in _MATRICES}
    if not arrays.sizes["examples"]:
        raise DataError(f"{source.name}: has no examples; choose another folder")
    Y = matrices["Y"]
    check_labelled(source.name, 0 if Y is None else Y.nnz, options.need_labels)
    relevance = None if Y is None else arrays.relevance(Y)
    if Y is not None and relevance is None and arrays.may_hold_relevance and (Y.data != 1).any():
        matrices["Y"] = sparse.csr_matrix(Y)  # a plain one, whose values are looked at
    weights = arrays.numbers("weights")
    return Dataset(
        labels=labels, source=source.name, relevance=relevance, weights=weights, **matrices, **columns
    )


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    if path.exists() and not (path / MANIFEST).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"{path}: exists and is not a folder of arrays; choose another name")
    output.folder(path)
    for old in path.glob("arrays-*"):
        output.replaced(old)
    home = path / f"arrays-{os.urandom(8).hex()}"
    output.folder(home)
    entries = {}
    for name, array in _named_arrays(dataset).items():
        file = output.binary(home / f"{name}.npy")
        write_array(file, np.ascontiguousarray(array))
        file.flush()
        entries[name] = {"file": f"{home.name}/{name}.npy", **_stamp(os.fstat(file.fileno()))}
    wide = dataset.label_features if dataset.X is None else dataset.X
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "examples": len(dataset),
        "features": 0 if wide is None else int(wide.shape[1]),
        "labels": len(dataset.labels),
        "values": _VALUES,
        "arrays": entries,
    }
    output.text(path / MANIFEST).write(json.dumps(manifest, indent=1) + "\n")  # renamed last, so it counts


def _named_arrays(dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    named: dict[str, npt.NDArray[Any]] = {}
    for name, (_, check) in _MATRICES.items():
        matrix = getattr(dataset, name)
        if matrix is not None:
            parts: tuple[npt.NDArray[Any], ...] = csr_arrays(check(matrix, dataset.source))
            named |= {f"{name}.{part}": array for part, array in zip(_CSR, parts, strict=True)}
    if dataset.relevance is not None:
        named["relevance"] = csr_arrays(dataset.relevance)[2]
    if dataset.weights is not None:
        named["weights"] = dataset.weights
    for name in _COLUMNS:
        strings = getattr(dataset, name)
        if strings is not None:
            named |= {f"{name}.{part}": array for part, array in strings.state().items()}
    return named


def _stamp(status: os.stat_result) -> dict[str, int]:
    return {"bytes": status.st_size, "changed": status.st_mtime_ns}


class _Arrays:
    """The arrays that a manifest lists, opened on demand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = folder / MANIFEST
        if not path.is_file():
            raise DataError(f"{folder}: is not a folder of arrays: it has no {MANIFEST}")
        try:
            manifest = json.loads(read_regular(path))
            kind, version = manifest["format"], int(manifest["version"])
            self.sizes = {name: int(manifest[name]) for name in ("examples", "features", "labels")}
            self._entries = {name: dict(entry) for name, entry in manifest["arrays"].items()}
            self.may_hold_relevance = manifest.get("values") != _VALUES
        except UNREADABLE as error:
            raise_machine_fault(error, path)
            raise self.damaged("it is not a manifest of arrays") from None
        if kind != FORMAT:
            raise self.damaged("it is not a manifest of arrays")
        if version != VERSION:
            raise DataError(
                f"{path}: has version {version}, and this treetop reads version {VERSION}; {_CONVERT_AGAIN}"
            )

    def damaged(self, why: str) -> DataError:
        return DataError(f"{self._folder / MANIFEST}: is damaged: {why}; {_CONVERT_AGAIN}")

    def matrix(self, name: str) -> sparse.csr_matrix | None:
        if f"{name}.indptr" not in self._entries:
            return None
        indptr, indices, data = (self._open(f"{name}.{part}", kind) for part, kind in _CSR.items())
        rows, columns = _MATRICES[name][0]
        shape = self.sizes[rows], self.sizes[columns]
        ordered = structure_flaw(indptr, indices, shape, ascending=True) is None
        flaw = None if ordered else structure_flaw(indptr, indices, shape)
        if len(data) != len(indices):
            flaw = f"it has {len(data):,} values for {len(indices):,} entries"
        if flaw is not None:
            raise DataError(f"{self._folder}: the matrix {name} is damaged: {flaw}; {_CONVERT_AGAIN}")
        checked = ordered and self.as_written(*(f"{name}.{part}" for part in _CSR))
        return around(indptr, indices, data, shape, checked=checked)

    def relevance(self, Y: sparse.csr_matrix) -> sparse.csr_matrix | None:
        data = self.numbers("relevance")
        if data is None:
            return None
        if len(data) != Y.nnz:
            raise DataError(
                f"{self._folder}: {len(data):,} relevances for {Y.nnz:,} labels; {_CONVERT_AGAIN}"
            )
        checked = self.as_written("relevance", *(f"Y.{part}" for part in _CSR))
        return around(np.asarray(Y.indptr, np.int64), Y.indices, data, Y.shape, checked=checked)

    def numbers(self, name: str) -> npt.NDArray[np.float32] | None:
        return self._open(name, np.float32) if name in self._entries else None

    def strings(self, name: str) -> Strings | None:
        if f"{name}.offsets" not in self._entries:
            return None
        buffer, offsets = (self._open(f"{name}.{part}", kind) for part, kind in _STRINGS.items())
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(buffer) or (np.diff(offsets) < 0).any():
            raise DataError(f"{self._folder}: the arrays of {name} are inconsistent; {_CONVERT_AGAIN}")
        return Strings(buffer, offsets)

    def as_written(self, *names: str) -> bool:
        """Whether these files are the ones that were written."""
        entries = [self._entries[name] for name in names]
        return all(
            _stamp((self._folder / entry["file"]).stat()).items() <= entry.items() for entry in entries
        )

    def _open(self, name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
        file = self._entries.get(name, {}).get("file")
        if not isinstance(file, str):
            raise self.damaged(f"no file is recorded for {name}")
        path = self._folder / file
        try:
            if path.resolve().parent.parent != self._folder.resolve():
                raise self.damaged(f"{name} points outside the folder")
            array = read_array(path, mapped=True)
        except DataError:
            raise
        except FileNotFoundError:
            raise DataError(f"{self._folder}: the file {file} is missing; {_CONVERT_AGAIN}") from None
        except UNREADABLE as error:
            raise_machine_fault(error, path)
            raise DataError(f"{self._folder}: the file {file} is damaged; {_CONVERT_AGAIN}") from None
        if array.dtype != kind or array.ndim != 1:
            raise DataError(f"{self._folder}: {file} must be a list of {np.dtype(kind)}")
        return np.asarray(array)
