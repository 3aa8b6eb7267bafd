"""TF-IDF and dense vectors concatenated: Φ_cat = [tfidf / ‖tfidf‖ ; φ / ‖φ‖], Eq. 10 of XR-Transformer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

Vectors = npt.NDArray[np.float32]


def joined(X: sparse.csr_matrix, vectors: Vectors | None, use: str = "both") -> sparse.csr_matrix:
    """Both kinds of features, or only those that ``use`` names: tfidf or vectors."""
    if use == "tfidf":
        return X
    assert vectors is not None
    return side_by_side(X if use == "both" else None, vectors)


def joined_width(features: int, width: int, use: str = "both") -> int:
    """The number of columns of `joined`, for so many features and vectors of that width."""
    return (0 if use == "vectors" else features) + (0 if use == "tfidf" else width)


def side_by_side(X: sparse.csr_matrix | None, vectors: Vectors) -> sparse.csr_matrix:
    """Rows of X (unit length), if given, followed by the vectors scaled to unit length. X stays sparse."""
    rows, width = vectors.shape
    if X is None:
        X = sparse.csr_matrix((rows, 0), dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-12)
    counts = np.diff(X.indptr)
    indptr = np.append(0, np.cumsum(counts + width)).astype(np.int64)
    dense = (indptr[1:, None] - width + np.arange(width)).reshape(-1)  # a row's last places
    sparse_places = np.ones(indptr[-1], bool)
    sparse_places[dense] = False
    indices = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], np.float32)
    indices[sparse_places], data[sparse_places] = X.indices, X.data
    indices[dense], data[dense] = np.tile(np.arange(X.shape[1], X.shape[1] + width), rows), unit.reshape(-1)
    return sparse.csr_matrix((data, indices, indptr), shape=(rows, X.shape[1] + width))
