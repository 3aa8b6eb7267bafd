"""Matrices in files of their own: scipy's ``.npz``, numpy's dense ``.npy``, and sparse text.

Sparse text begins with ``rows columns``; then every row is a line ``column:value column:value …`` with
columns from 0. An empty line is an empty row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...arrays import UNREADABLE, read_array, why
from ...errors import DataError, raise_machine_fault
from ...sparse import npz_columns, read_npz
from ...units import counted
from ..files import Input
from .sparse_text import LARGEST, Sizes, check_rows_declared, read_rows

HEADER = re.compile(r"\s*([0-9]{1,30})\s+([0-9]{1,30})\s*")
_ENTRIES = re.compile(r"\s*([0-9]+:[-+.0-9eE]+(\s+|$))*")
_BINARY = (".npz", ".npy")
_DENSE_ROWS = 4096
"""Rows of a dense matrix that are made sparse at a time."""
_ENTRY = "{word!r} is not an entry such as 12:0.5"
_COMPLAINTS = {
    "label list": _ENTRY,
    "label range": _ENTRY,
    "feature": "{word!r} is not an entry with a finite value such as 12:0.5",
    "feature range": "column {id} is out of range: the header declares columns 0…{last_feature}",
}


def read_matrix(path: Path) -> sparse.csr_matrix:
    """The matrix of any such file, unchecked."""
    if path.suffix == ".npz":
        return _narrow(read_npz(path, columns=None), path)  # whether they are labels is not known here
    if path.suffix == ".npy":
        return _sparse(_narrow(_dense(path), path))
    with Input(path) as source:
        header = HEADER.fullmatch(next(source.lines(), (1, ""))[1])
        if header is None:
            raise DataError(f"{source.name} line 1: the header must be two numbers: rows columns; add it")
        rows, columns = map(int, header.groups())
        sizes = Sizes(rows, columns, 0).checked(source.name)
        matrix, _ = read_rows(source, sizes, _COMPLAINTS, first_line=2)
    check_rows_declared(str(path), counted(rows, "row"), rows, matrix.shape[0])
    return matrix


def _narrow(matrix: Any, path: Path) -> Any:
    if max(matrix.shape) > LARGEST:
        raise DataError(
            f"{path}: declares {matrix.shape[0]:,} rows and {matrix.shape[1]:,} columns; there may be"
            f" {LARGEST:,} of each"
        )
    return matrix


def are_entries(lines: list[str]) -> bool:
    """Whether they are rows of sparse text, not all empty."""
    return any(map(str.strip, lines)) and all(map(_ENTRIES.fullmatch, lines))


def columns_of(path: Path) -> int | None:
    """The number of columns, without reading the matrix; None if the file does not say."""
    try:
        if path.suffix == ".npz":
            return npz_columns(path)
        if path.suffix == ".npy":
            return int(_dense(path).shape[1])
        with Input(path) as source:
            numbers = [int(word) for word in source.first_line().split()]
        return numbers[1] if len(numbers) in (2, 3) else None
    except (*UNREADABLE, DataError):
        return None  # the error belongs to whoever reads the file


def binary_matrix(folder: Path, stem: str) -> Path | None:
    """``stem.npz`` or ``stem.npy``, whichever there is."""
    found = [path for suffix in _BINARY if (path := folder / f"{stem}{suffix}").is_file()]
    if len(found) > 1:
        raise DataError(f"{found[0]}: {found[1].name} is next to it; name one of the two files")
    return found[0] if found else None


def check_columns(path: Path, columns: int, others: Iterable[Path | None], what: str) -> None:
    """Checks that the same matrix of other splits has as many columns."""
    for other in others:
        count = None if other is None or other == path else columns_of(other)
        if count is not None and count != columns:
            raise DataError(
                f"{path}: has {counted(columns, 'column')} but {other} has {count:,}; all splits need the"
                f" same {what}"
            )


def _dense(path: Path) -> npt.NDArray[Any]:
    try:
        array = read_array(path, mapped=True)
    except UNREADABLE as error:
        raise_machine_fault(error, path)
        raise DataError(
            f"{path}: not an array saved by numpy ({why(error)}); write it with numpy.save"
        ) from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError(
            f"{path}: has shape {array.shape} and type {array.dtype}; save a matrix of numbers with two"
            " dimensions"
        )
    return array


def _sparse(array: npt.NDArray[Any]) -> sparse.csr_matrix:
    """The entries of a dense matrix that are not 0; the file is read a block of rows at a time."""
    counts = np.zeros(len(array) + 1, np.int64)
    blocks = [slice(start, start + _DENSE_ROWS) for start in range(0, len(array), _DENSE_ROWS)]
    for rows in blocks:
        counts[1:][rows] = (array[rows] != 0).sum(axis=1)
    indptr = np.cumsum(counts)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    for rows in blocks:
        block = array[rows]
        inside = slice(indptr[rows.start], indptr[min(rows.stop, len(array))])
        kept = np.nonzero(block)
        indices[inside], data[inside] = kept[1], block[kept]
    return sparse.csr_matrix((data, indices, indptr), shape=array.shape)
