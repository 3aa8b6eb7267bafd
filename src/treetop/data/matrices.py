"""Feature and label matrices as all of the package takes them: checked float32 CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError
from ..limits import FEATURES, LABELS
from ..sparse import binarize, check_shape, is_checked, is_valid_csr, sparse_flaw
from ..units import counted
from .columns import is_frame, is_matrix, numbers_of

_BLOCK = 1 << 20
"""Entries checked at a time."""


def feature_matrix(X: Any, source: str) -> sparse.csr_matrix:
    """Any matrix as float32 CSR with sorted indices; NaN and infinity are rejected."""
    if is_checked(X):
        return X
    matrix = _as_csr(X, source, "features")
    for start in range(0, matrix.nnz, _BLOCK):
        bad = np.flatnonzero(~np.isfinite(matrix.data[start : start + _BLOCK]))
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, start + bad[0], side="right")) - 1
            raise DataError(f"{source}: the features of row {row} contain NaN or infinity; replace them")
    return matrix


def label_matrix(Y: Any, source: str) -> sparse.csr_matrix:
    """Any label matrix, also with relevances as values, as float32 CSR; stored zeros are dropped."""
    if is_checked(Y):
        return Y
    matrix = _as_csr(Y, source, "labels")
    _check_values(matrix, source, "label weights")
    if (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def relevance_matrix(R: Any, Y: sparse.csr_matrix, source: str) -> sparse.csr_matrix:
    """Relevances as float32 CSR with the entries of ``Y``; a stored 0 is the relevance 0."""
    if is_checked(R) and R.indices is Y.indices:
        return R
    matrix = _as_csr(R, source, "relevances")
    if matrix.shape != Y.shape:
        sizes = [f"{rows:,} × {columns:,}" for rows, columns in (matrix.shape, Y.shape)]
        raise DataError(f"{source}: the relevances are {sizes[0]}, but the labels {sizes[1]}; give one shape")
    _check_values(matrix, source, "relevances")
    if not (np.array_equal(matrix.indptr, Y.indptr) and np.array_equal(matrix.indices, Y.indices)):
        odd = sparse.csr_matrix(binarize(matrix) - binarize(Y))
        odd.eliminate_zeros()
        row = int(np.flatnonzero(np.diff(odd.indptr))[0])
        raise DataError(
            f"{source}: the relevances of row {row} are not those of its labels; give one for each label of"
            " the row, and no others"
        )
    return matrix


def example_weights(weights: Any, count: int, source: str) -> npt.NDArray[np.float32] | None:
    """One finite number of at least 0 for each of ``count`` examples; None if all are 1."""
    try:
        array = np.asarray(weights, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the weights are not numbers ({error})") from None
    if array.shape != (count,):
        raise DataError(
            f"{source}: the weights have the shape {array.shape}; give one number for each of the"
            f" {counted(count, 'example')}"
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise DataError(
            f"{source}: weights must be finite and not negative; row {bad[0]} has {array[bad[0]]:g}"
        )
    return None if (array == 1).all() else array


def _check_values(matrix: sparse.csr_matrix, source: str, what: str) -> None:
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{source}: {what} must be finite and not negative; row {row} has {matrix.data[bad[0]]:g}"
        )


def _as_csr(values: Any, source: str, what: str) -> sparse.csr_matrix:
    if is_frame(values):
        if not is_matrix(values):
            raise DataError(f"{source}: the {what} are a frame with non-numeric columns; drop them")
        values = numbers_of(values)
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise DataError(f"{source}: the {what} are complex numbers; give real ones")
    valid = is_valid_csr(values)
    if not valid and sparse.issparse(values) and (flaw := sparse_flaw(values)):
        raise DataError(f"{source}: the matrix of the {what} is damaged: {flaw}; write it again")
    if sparse.issparse(values):
        check_shape(values, source, FEATURES if what == "features" else LABELS)
    try:
        matrix = sparse.csr_matrix(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the {what} are not a matrix of numbers ({error})") from None
    if not valid and not is_valid_csr(matrix):
        matrix = matrix.copy()
        matrix.has_sorted_indices = matrix.has_canonical_format = False
        matrix.sum_duplicates()
    return matrix
