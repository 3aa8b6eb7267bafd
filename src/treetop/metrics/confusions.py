"""Which wrong labels are predicted in place of missed true ones.

Only the first n predictions (at most ``depth``) of a document with n true labels are kept, so that every
wrong label takes the place of a true one. With M the missed and W the wrong labels of a document, each pair
(m, w) ∈ M × W counts as one document of that pair, and as 1/|W| of a miss: each miss is divided among the
wrong labels of its document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..data import Dataset
from ..errors import ConfigError
from ..predictions import Predictions
from .matching import hits, match_truth


class Confusion(NamedTuple):
    """A true label that is missed and a wrong one that is predicted, in the same documents."""

    missing: int
    given: int
    """Both are ids of the predictions' vocabulary; labels found only in the truth follow them."""
    documents: int
    misses: float
    """The given label's part of the misses of the missing one."""
    all_misses: int
    """Misses of the missing label over all wrong labels: the sum of `misses`."""


def confusions(
    predictions: Predictions, truth: Dataset, *, depth: int = 5, most: int | None = None
) -> list[Confusion]:
    """All pairs, or the first ``most``, in order of decreasing misses."""
    if depth < 1:
        raise ConfigError(f"depth must be at least 1, not {depth}")
    matched = match_truth(predictions, truth, depth)
    kept = matched.best.ranks < np.repeat(matched.true_counts, matched.best.counts)
    correct = hits(matched.best, matched.truth)
    rows, labels = matched.best.rows, matched.best.indices
    shape = matched.truth.shape
    found = _marks(rows[kept & correct], labels[kept & correct], shape)
    wrong = _marks(rows[kept & ~correct], labels[kept & ~correct], shape)
    true = _marks(np.repeat(np.arange(shape[0]), matched.true_counts), matched.truth.indices, shape)
    missing = sparse.csr_matrix(true - found)
    missing.eliminate_zeros()
    shares = np.repeat(1 / np.maximum(np.diff(wrong.indptr), 1), np.diff(wrong.indptr))
    shared = sparse.csr_matrix((shares, wrong.indices, wrong.indptr), shape=shape)
    documents = sparse.csr_matrix(missing.T @ wrong)
    misses = sparse.csr_matrix(missing.T @ shared)
    documents.sort_indices()
    misses.sort_indices()  # the same pattern as documents: no share is 0
    all_misses = np.asarray(misses.sum(axis=1)).ravel().round().astype(np.int64)
    first = np.repeat(np.arange(shape[1]), np.diff(documents.indptr))
    order = np.lexsort((documents.indices, first, -documents.data, -misses.data.round(9)))[:most]
    columns = (first, documents.indices, documents.data, misses.data, all_misses[first])
    listed = (column[order].tolist() for column in columns)
    return [
        Confusion(m, g, int(count), share, total) for m, g, count, share, total in zip(*listed, strict=True)
    ]


def _marks(
    rows: npt.NDArray[np.int64], labels: npt.NDArray[np.int32], shape: tuple[int, int]
) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(len(rows)), (rows, labels)), shape=shape)
