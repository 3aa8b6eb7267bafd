"""Operations on CSR matrices, and reading of those that scipy saved."""

from __future__ import annotations

import os
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _native
from .arrays import UNREADABLE, why
from .errors import DataError, raise_machine_fault
from .limits import FEATURES, ROWS, Limit, check_declared, check_decompressed
from .machine import thread_count
from .regular_files import open_regular

CsrArrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""``indptr, indices, data`` as the native core takes them, with ascending indices in every row. Making a
matrix of them takes longer than ranking the labels of one text."""
Rows: TypeAlias = "sparse.csr_matrix | CsrArrays"


def read_npz(path: str | os.PathLike[str], *, columns: Limit | None = FEATURES) -> Any:
    """The sparse matrix that ``scipy.sparse.save_npz`` wrote: CSC as CSC, any other as CSR.

    Shape, pointers and indices are checked; entries keep their order. Pickled objects are rejected.
    ``columns``: the limit of their number; None: the caller checks it.
    """
    try:
        with warnings.catch_warnings(), open_regular(Path(path)) as file:
            warnings.simplefilter("ignore")  # of shapes and types that are rejected next
            _check_unpacked(file, path)
            matrix = sparse.load_npz(file)  # allow_pickle is off
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(f"{matrix.ndim} dimensions, values of the type {matrix.dtype}")
        if flaw := sparse_flaw(matrix):
            raise ValueError(flaw)
        check_shape(matrix, str(path), columns)
        matrix = sparse.csc_matrix(matrix) if matrix.format == "csc" else sparse.csr_matrix(matrix)
    except DataError:
        raise
    except UNREADABLE as error:
        raise_machine_fault(error, path)
        raise DataError(
            f"{path}: not a sparse matrix saved by scipy ({why(error)}); write it with scipy.sparse.save_npz"
        ) from None
    return matrix


def npz_columns(path: Path) -> int:
    """The number of columns of such a file; raises a `DataError` or one of `UNREADABLE`."""
    with warnings.catch_warnings(), open_regular(path) as file:
        warnings.simplefilter("ignore")  # of a shape that is not two whole numbers
        _check_unpacked(file, path)
        with np.load(file, allow_pickle=False) as arrays:
            return int(arrays["shape"][1])


def _check_unpacked(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    """Rejects an archive that unpacks to far more than its size, before anything is unpacked."""
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    check_decompressed(unpacked, os.fstat(file.fileno()).st_size, str(path))
    file.seek(0)


def structure_flaw(
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    shape: tuple[int, int],
    *,
    ascending: bool = False,
    rows: str = "row",
    columns: str = "column",
) -> str | None:
    """Why no native code, ours or scipy's, may be given these arrays of a matrix; None if they are valid.

    Row pointers ascend from 0 to the number of entries, columns are inside ``shape``, and, if they have to be
    ``ascending``, ascend in every row. Of a CSC matrix, rows are columns and columns are rows.
    """
    if indptr.ndim != 1 or len(indptr) != shape[0] + 1:
        return f"it has {indptr.size:,} {rows} pointers for {shape[0]:,} {rows}s"
    pointers = np.ascontiguousarray(indptr, np.int64)
    if pointers[-1] != len(indices):
        return f"its {rows} pointers end at {pointers[-1]:,}, but it has {len(indices):,} entries"
    if indices.dtype.itemsize > 4 and len(indices) and not -1 < indices.min() <= indices.max() < 2**31:
        return f"a {columns} id is outside 0…{shape[1] - 1}"
    ids = np.ascontiguousarray(indices, np.int32)
    found = _native.csr_flaw(pointers, ids, shape[1], ascending, thread_count(0))
    if found is None:
        return None
    kind, row = found
    match kind:
        case "pointers":
            return f"its {rows} pointers do not ascend from 0 at {rows} {row}"
        case "columns":
            return f"{rows} {row} has a {columns} id outside 0…{shape[1] - 1}"
    return f"the {columns} ids of {rows} {row} do not ascend"


def is_valid_csr(values: Any) -> bool:
    """Whether it is CSR as native code takes it, with ascending columns, whatever scipy's flags say."""
    if not sparse.issparse(values) or values.format != "csr" or len(values.data) != len(values.indices):
        return False
    return structure_flaw(values.indptr, values.indices, values.shape, ascending=True) is None


def sparse_flaw(matrix: Any) -> str | None:
    """`structure_flaw` of any matrix of scipy: checked before scipy converts it, which trusts the arrays."""
    if matrix.format in ("csr", "csc"):
        if matrix.data.ndim != 1 or len(matrix.data) != len(matrix.indices):
            return f"it has {matrix.data.size:,} values for {len(matrix.indices):,} entries"
        flip = matrix.format == "csc"
        shape, names = matrix.shape[:: -1 if flip else 1], ("column", "row") if flip else ("row", "column")
        return structure_flaw(matrix.indptr, matrix.indices, shape, rows=names[0], columns=names[1])
    if matrix.format == "coo":
        for ids, size, name in (
            (matrix.row, matrix.shape[0], "row"),
            (matrix.col, matrix.shape[1], "column"),
        ):
            if len(ids) != len(matrix.data):
                return f"it has {len(ids):,} {name} ids for {len(matrix.data):,} entries"
            if len(ids) and not -1 < ids.min() <= ids.max() < size:
                return f"a {name} id is outside 0…{size - 1}"
        return None
    if matrix.format == "bsr":
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            return str(error)
    return None


def check_shape(matrix: Any, where: str, columns: Limit | None = FEATURES) -> None:
    """Checks the shape of any matrix of scipy, which may have rows and columns without entries at no cost."""
    entries = int(matrix.nnz)
    if matrix.format != "csr":  # it has no pointer for each row
        check_declared(ROWS, matrix.shape[0], entries, where)
    if columns is not None:
        check_declared(columns, matrix.shape[1], entries, where)


def csr_arrays(matrix: Rows) -> CsrArrays:
    """The arrays of a matrix, copied only if they have another type or order."""
    if isinstance(matrix, tuple):
        return matrix
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    return (
        np.ascontiguousarray(matrix.indptr, np.int64),
        np.ascontiguousarray(matrix.indices, np.int32),
        np.ascontiguousarray(matrix.data, np.float32),
    )


def around(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float32],
    shape: tuple[int, int],
    *,
    checked: bool,
) -> sparse.csr_matrix:
    """A matrix around arrays of the core's types, without copying entries, whatever their number.

    scipy's constructor converts row pointers and columns to one type, 64 bits from 2³¹ entries on; here the
    columns keep 32 bits. ``checked``: the columns of every row ascend and are inside ``shape``, and the
    values are valid for a `Dataset`. A matrix of read-only arrays is then not checked again.
    """
    matrix = sparse.csr_matrix(shape, dtype=np.float32)
    matrix.indptr = indptr.astype(np.int32) if len(indices) < 2**31 else indptr
    matrix.indices, matrix.data = indices, data
    if checked:
        matrix.has_canonical_format = True
        matrix.checked = True
    return matrix


def frozen(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same matrix, valid for a `Dataset`, made read-only: it is not checked again."""
    for array in (matrix.indices, matrix.data):
        array.flags.writeable = False
    matrix.checked = True
    return matrix


def is_checked(matrix: Any) -> bool:
    """Whether the matrix comes from `around` or `frozen`, checked and read-only."""
    if not getattr(matrix, "checked", False):
        return False
    return not (matrix.indices.flags.writeable or matrix.data.flags.writeable)


def listed(
    indptr: npt.NDArray[Any], indices: npt.NDArray[np.int32], pairs: sparse.csr_matrix
) -> npt.NDArray[np.bool_]:
    """For each entry (row, column) of a matrix: is it an entry of ``pairs``, whose columns ascend?"""
    found: npt.NDArray[np.uint8] = _native.hits(
        np.ascontiguousarray(pairs.indptr, np.int64),
        np.ascontiguousarray(pairs.indices, np.int32),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(indices, np.int32),
        thread_count(0),
    )
    return found.view(np.bool_)


def without_entries(matrix: sparse.csr_matrix, pairs: sparse.csr_matrix) -> sparse.csr_matrix:
    """The entries of a matrix that are not entries of ``pairs``, whose columns ascend."""
    kept = ~listed(matrix.indptr, matrix.indices, pairs)
    before = np.append(0, np.cumsum(kept))
    return sparse.csr_matrix(
        (matrix.data[kept], matrix.indices[kept], before[matrix.indptr]), shape=matrix.shape
    )


def transpose(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """The transpose, with ascending indices in every row."""
    return matrix.T.tocsr()


def merge_columns(matrix: sparse.csr_matrix, group: npt.NDArray[np.int64], groups: int) -> sparse.csr_matrix:
    """Sums the columns of each group: ``matrix @ C`` for the 0/1 matrix C of ``group``."""
    merged = sparse.csr_matrix(
        (matrix.data, group[matrix.indices], matrix.indptr), shape=(matrix.shape[0], groups), copy=True
    )
    merged.sum_duplicates()
    return merged


def normalize_rows(matrix: sparse.csr_matrix, norm: str = "l2") -> sparse.csr_matrix:
    """Rows scaled to unit length (``l2``), unit sum (``l1``) or unit largest (``max``) of absolute values.

    Zero rows stay zero.
    """
    values = matrix.data.astype(np.float64) ** 2 if norm == "l2" else np.abs(matrix.data)
    over = np.maximum if norm == "max" else np.add
    sums = over.reduceat(np.append(values, 0.0), matrix.indptr[:-1]) if matrix.shape[0] else np.zeros(0)
    lengths = np.diff(matrix.indptr)
    sums = np.where(lengths > 0, sums, 0.0)
    size = np.sqrt(sums) if norm == "l2" else sums
    scale = np.divide(1.0, size, out=np.zeros_like(size, dtype=np.float64), where=size > 0)
    data = (matrix.data * np.repeat(scale, lengths)).astype(np.float32)
    return sparse.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def scale_rows(matrix: sparse.csr_matrix, factors: npt.NDArray[np.float32]) -> sparse.csr_matrix:
    """Each row times its factor."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sparse.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def binarize(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same entries, all 1."""
    return sparse.csr_matrix(
        (np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), shape=matrix.shape
    )
