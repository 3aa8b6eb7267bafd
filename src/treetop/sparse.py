"""Operations on CSR matrices, and reading of those that scipy saved."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _native
from .arrays import UNREADABLE
from .errors import DataError
from .machine import thread_count

CsrArrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""``indptr, indices, data`` as the native core takes them, with ascending indices in every row. Making a
matrix of them takes longer than ranking the labels of one text."""
Rows: TypeAlias = "sparse.csr_matrix | CsrArrays"


def read_npz(path: str | os.PathLike[str]) -> Any:
    """The sparse matrix that ``scipy.sparse.save_npz`` wrote: CSC as CSC, any other as CSR.

    Shape, pointers and indices are checked; entries keep their order. Pickled objects are rejected.
    """
    try:
        matrix = sparse.load_npz(path)  # allow_pickle is off
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(f"{matrix.ndim} dimensions, values of the type {matrix.dtype}")
        matrix = sparse.csc_matrix(matrix) if matrix.format == "csc" else sparse.csr_matrix(matrix)
        matrix.check_format(full_check=True)
    except UNREADABLE as error:
        raise DataError(
            f"{path}: not a sparse matrix saved by scipy ({error}); write it with scipy.sparse.save_npz"
        ) from None
    return matrix


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
