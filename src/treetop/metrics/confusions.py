"""Which wrong label stands where a right one is missing.

A document with n true labels is cut at its first n predictions (at most ``depth``), so that every wrong label
stands in the place of a missing right one. With M the missing and W the wrong labels of a document, each pair
(m, w) ∈ M × W counts as one document of that pair, and as 1/|W| of a miss: the misses of a label are shared
out among the labels that stood in its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..data import Dataset
from ..errors import ConfigError
from ..predictions import Predictions
from .judged import hits, judge


class Confusion(NamedTuple):
    """A right label that is missing and a wrong one that was given, in the same documents."""

    missing: int
    given: int
    """Both are numbers of the predictions' labels; labels that only the truth has come after them."""
    documents: int
    misses: float
    """Of the missing label, shared out among the wrong labels of each document."""
    all_misses: int
    """Of the missing label, whatever wrong label was given: the sum of `misses` over all of them."""


def confusions(
    predictions: Predictions, truth: Dataset, *, depth: int = 5, most: int | None = None
) -> list[Confusion]:
    """The pairs, those with most misses first: all, or ``most`` of them."""
    if depth < 1:
        raise ConfigError(f"depth must be at least 1, not {depth}")
    judged = judge(predictions, truth, depth)
    kept = judged.best.ranks < np.repeat(judged.true_counts, judged.best.counts)
    right = hits(judged.best, judged.truth)
    rows, labels = judged.best.rows, judged.best.indices
    shape = judged.truth.shape
    found = _marks(rows[kept & right], labels[kept & right], shape)
    wrong = _marks(rows[kept & ~right], labels[kept & ~right], shape)
    true = _marks(np.repeat(np.arange(shape[0]), judged.true_counts), judged.truth.indices, shape)
    missing = sparse.csr_matrix(true - found)
    missing.eliminate_zeros()
    shares = np.repeat(1 / np.maximum(np.diff(wrong.indptr), 1), np.diff(wrong.indptr))
    shared = sparse.csr_matrix((shares, wrong.indices, wrong.indptr), shape=shape)
    documents = sparse.csr_matrix(missing.T @ wrong)
    misses = sparse.csr_matrix(missing.T @ shared)
    documents.sort_indices()
    misses.sort_indices()  # the same places: no share is 0
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
