"""Feature and label matrices as all of the package takes them: checked float32 CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataError
from ..sparse import is_checked
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
    """Any 0/1 or weighted label matrix as float32 CSR; stored zeros are dropped."""
    if is_checked(Y):
        return Y
    matrix = _as_csr(Y, source, "labels")
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{source}: label weights must be finite and not negative; row {row} has {matrix.data[bad[0]]:g}"
        )
    if (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _as_csr(values: Any, source: str, what: str) -> sparse.csr_matrix:
    if is_frame(values):
        if not is_matrix(values):
            raise DataError(f"{source}: the {what} are a frame with non-numeric columns; drop them")
        values = numbers_of(values)
    try:
        matrix = sparse.csr_matrix(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the {what} are not a matrix of numbers ({error})") from None
    if matrix.nnz and (matrix.indices.min() < 0 or matrix.indices.max() >= matrix.shape[1]):
        raise DataError(f"{source}: a column id of the {what} is outside 0…{matrix.shape[1] - 1}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
