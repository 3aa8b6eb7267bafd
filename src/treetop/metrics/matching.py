"""`MatchedPredictions`: predictions and truth over one label vocabulary, where every metric starts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..data import Dataset
from ..data.frames import labelled
from ..errors import ConfigError, DataError
from ..predictions import Predictions, sort_rows
from ..sparse import listed, without_entries
from .propensity import DEFAULT_PROPENSITY, inverse_propensity

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MatchedPredictions:
    """Predictions and truth over one vocabulary: the model's labels, then those found only in the truth."""

    predictions: Predictions
    truth: sparse.csr_matrix
    """Examples × labels, ids sorted within a row. Labels the model never saw are the last columns."""
    depth: int
    """The largest k: columns of `hits`, `gains` and `ideal_gains`."""
    train_counts: npt.NDArray[np.int64] | None
    """Number of training texts of each label of the vocabulary; 0 for labels the model never saw."""
    inverse_propensity: Floats | None

    @cached_property
    def best(self) -> Predictions:
        """The first `depth` labels of each example."""
        return self.predictions.top(self.depth)

    @cached_property
    def best_hits(self) -> npt.NDArray[np.bool_]:
        """For each entry of `best`: is the label true?"""
        return hits(self.best, self.truth)

    @cached_property
    def hits(self) -> Floats:
        """1 where the label predicted at rank j is true, 0 where it is wrong or absent: examples × depth."""
        return self._table(self.best_hits.astype(np.float64))

    @cached_property
    def gains(self) -> Floats:
        """`hits`, each weighted by its label's inverse propensity."""
        assert self.inverse_propensity is not None
        return self._table(self.best_hits * self.inverse_propensity[self.best.indices])

    @cached_property
    def true_counts(self) -> npt.NDArray[np.int64]:
        """|y_i|: the number of true labels of each example."""
        return np.asarray(np.diff(self.truth.indptr), np.int64)

    @cached_property
    def true_gains(self) -> Floats:
        """Sum of the inverse propensities of all true labels of each example."""
        assert self.inverse_propensity is not None
        rows = np.repeat(np.arange(len(self.true_counts)), self.true_counts)
        weights = self.inverse_propensity[self.truth.indices]
        return np.asarray(np.bincount(rows, weights, len(self.true_counts)), np.float64)

    @cached_property
    def ideal_gains(self) -> Floats:
        """`gains` of the best possible ranking: true labels by decreasing inverse propensity."""
        assert self.inverse_propensity is not None
        _, order = np.unique(-self.inverse_propensity, return_inverse=True)
        keys = order.astype(np.uint32)[self.truth.indices]
        best_first = self.truth.indices[sort_rows(self.truth.indptr, keys)]
        ranks = np.arange(len(best_first)) - np.repeat(self.truth.indptr[:-1], self.true_counts)
        rows = np.repeat(np.arange(len(self.true_counts)), self.true_counts)
        kept = ranks < self.depth
        table = np.zeros((len(self.true_counts), self.depth))
        table[rows[kept], ranks[kept]] = self.inverse_propensity[best_first[kept]]
        return table

    def _table(self, values: Floats) -> Floats:
        table = np.zeros((len(self.best), self.depth))
        table[self.best.rows, self.best.ranks] = values
        return table


def match_truth(
    predictions: Predictions,
    truth: Dataset,
    depth: int,
    *,
    train: Dataset | None = None,
    train_counts: npt.ArrayLike | None = None,
    n_train: int | None = None,
    propensity: tuple[float, float] = DEFAULT_PROPENSITY,
) -> MatchedPredictions:
    """Puts predictions, truth and training counts onto one vocabulary, once the examples are the same.

    Excluded pairs of the truth (`Dataset.excluded`) are neither predicted nor true.
    """
    truth = labelled(truth, "the truth must be")
    if truth.Y is None:
        raise DataError(f"{truth.source}: no labels to evaluate against; give a labelled test set")
    if len(predictions) != len(truth):
        raise DataError(
            f"{truth.source}: {len(predictions):,} predictions but {len(truth):,} examples; evaluate on the"
            " test set that was predicted"
        )
    if predictions.ids is not None and truth.ids is not None and predictions.ids != truth.ids:
        pairs = enumerate(zip(predictions.ids, truth.ids, strict=True))
        row, (mine, theirs) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        raise DataError(
            f"{truth.source}: row {row} is {theirs!r}, but the prediction there is for {mine!r}; evaluate on"
            " the test set that was predicted, in the same order"
        )
    if train is not None:
        if train_counts is not None or n_train is not None:
            raise ConfigError("give either train, or train_counts and n_train, not both")
        train = labelled(train, "the training data must be")
        predictions = predictions.aligned_to(train.labels)
        known, n_train = train.label_counts, len(train)
    elif train_counts is not None:
        known = np.asarray(train_counts, np.int64)
        if known.shape != (len(predictions.labels),):
            raise ConfigError(
                f"train_counts must have one number for each of the {len(predictions.labels):,} labels "
                f"of the predictions, not the shape {known.shape}"
            )
    elif n_train is not None:
        raise ConfigError("n_train needs train_counts: the number of training texts of each label")
    else:
        known = None
    aligned = truth.aligned_to(predictions.labels)
    Y = aligned.Y
    if Y is not None and not Y.has_sorted_indices:
        Y = Y.sorted_indices()
    counts = weights = None
    if known is not None:
        counts = np.zeros(len(aligned.labels), np.int64)
        counts[: len(known)] = known
        if n_train is not None:
            weights = inverse_propensity(counts, n_train, *propensity)
    predictions = dataclasses.replace(predictions, labels=aligned.labels)
    excluded = truth.excluded_among(aligned.labels)
    if excluded is not None:
        predictions, Y = predictions.without(excluded), without_entries(Y, excluded)
    return MatchedPredictions(predictions, Y, depth, counts, weights)


def hits(predictions: Predictions, truth: sparse.csr_matrix) -> npt.NDArray[np.bool_]:
    """For each predicted label: is it true?"""
    return listed(predictions.indptr, predictions.indices, truth)
