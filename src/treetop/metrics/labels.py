"""Metrics per label: macro-F1, coverage, a report of each label, a breakdown by label frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..errors import ConfigError, MissingExtraError
from ..predictions import Predictions
from .documents import check_ks, percent, ratio
from .matching import MatchedPredictions, hits, match_truth

Counts = npt.NDArray[np.int64]


class LabelRow(NamedTuple):
    """The metrics of one label. Precision, recall and F1 are in percent, with 0/0 := 0."""

    label: str
    train_count: int | None
    test_count: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float


class FrequencyBucket(NamedTuple):
    """The labels with a training count in [low, high]; high None: no upper bound."""

    name: str
    low: int
    high: int | None
    labels: int
    """Number of labels of the vocabulary in this bucket."""
    occurrences: int
    """Number of their occurrences in the truth."""
    recall: dict[int, float]
    """k → share of those occurrences found in the top k, in percent."""
    precision: dict[int, float]
    """k → the contribution of their hits to P@k, in percent; the sum over all buckets is P@k."""

    @property
    def training_texts(self) -> str:
        """``6-50``, ``0`` or ``51+``."""
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


BUCKETS: dict[str, int | None] = {"unseen": 0, "tail": 5, "middle": 50, "head": None}
"""The largest training count of each bucket, in increasing order; None for no upper bound."""


@dataclass(frozen=True)
class _Tally:
    """For each label of the vocabulary: how often it is true, predicted, and both."""

    true: Counts
    predicted: Counts
    correct: Counts

    @classmethod
    def of(cls, matched: MatchedPredictions, predictions: Predictions) -> _Tally:
        labels = len(predictions.labels)
        correct = hits(predictions, matched.truth)
        return cls(
            np.bincount(matched.truth.indices, minlength=labels),
            np.bincount(predictions.indices, minlength=labels),
            np.bincount(predictions.indices[correct], minlength=labels),
        )


def macro_scores(matched: MatchedPredictions, threshold: float) -> dict[str, float]:
    """Averages over all labels of the vocabulary, for the decision "score above the threshold", in percent.

    macro-F1 is the mean of the F1 of each label; macro-F1-of-means, also called macro-F1 in the literature,
    is the harmonic mean of the mean precision and the mean recall. 0/0 := 0, so a label neither true nor
    predicted counts as 0 in all of them.
    """
    tally = _Tally.of(matched, matched.predictions.above(threshold))
    f1 = ratio(2 * tally.correct, tally.true + tally.predicted)
    precision = _mean(ratio(tally.correct, tally.predicted))
    recall = _mean(ratio(tally.correct, tally.true))
    of_means = ratio(2 * precision * recall, precision + recall)
    return {"macro-F1": 100 * _mean(f1), "macro-F1-of-means": float(100 * of_means)}


def coverage(matched: MatchedPredictions, k: int) -> float:
    """Share of the labels in the truth that are found at least once among the first k, in percent."""
    found = matched.best.indices[matched.best_hits & (matched.best.ranks < k)]
    return float(percent(len(np.unique(found)), len(np.unique(matched.truth.indices))))


@dataclass(frozen=True)
class LabelReport:
    """A row for each label of the truth or of the predictions, the most frequent in the truth first."""

    rows: list[LabelRow]

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> Any:
        """A pandas frame with the fields of `LabelRow` as columns."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("a pandas frame of the label report", "frames") from None
        return pandas.DataFrame(self.rows, columns=list(LabelRow._fields))

    def to_polars(self) -> Any:
        """A polars frame with the fields of `LabelRow` as columns."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("a polars frame of the label report", "frames") from None
        return polars.DataFrame(self.rows, schema=list(LabelRow._fields), orient="row")


def label_report(
    predictions: Predictions,
    truth: Dataset,
    *,
    k: int = 5,
    train: Dataset | None = None,
    train_counts: npt.ArrayLike | None = None,
) -> LabelReport:
    """Metrics of each label among the first ``k`` predictions (``predictions.above(t)`` adds a threshold)."""
    matched = match_truth(predictions, truth, k, train=train, train_counts=train_counts)
    tally = _Tally.of(matched, matched.best)
    present = np.flatnonzero(tally.true + tally.predicted)
    present = present[np.argsort(-tally.true[present], kind="stable")]
    true, predicted, correct = (part[present] for part in (tally.true, tally.predicted, tally.correct))
    trained = matched.train_counts
    columns = (
        matched.predictions.labels.take(present),
        [None] * len(present) if trained is None else trained[present].tolist(),
        true.tolist(),
        predicted.tolist(),
        correct.tolist(),
        percent(correct, predicted).tolist(),
        percent(correct, true).tolist(),
        percent(2 * correct, true + predicted).tolist(),
    )
    return LabelReport([LabelRow(*row) for row in zip(*columns, strict=True)])


def by_frequency(
    predictions: Predictions,
    truth: Dataset,
    *,
    train: Dataset | None = None,
    train_counts: npt.ArrayLike | None = None,
    ks: Sequence[int] = (1, 3, 5),
    buckets: Mapping[str, int | None] = BUCKETS,
) -> list[FrequencyBucket]:
    """Recall and contribution to P@k of frequent and rare labels, by training count.

    ``buckets`` maps the name of each bucket to its largest training count, in increasing order; the last one
    must be open (None).
    """
    if train is None and train_counts is None:
        raise ConfigError("a breakdown by label frequency needs train or train_counts: give one of them")
    check_ks(ks)
    *borders, last = buckets.values()
    closed = [border for border in borders if border is not None]
    if last is not None or len(closed) < len(borders) or closed != sorted(set(closed)):
        raise ConfigError(f"bucket borders must increase and end with None, not {list(buckets.values())}")
    matched = match_truth(predictions, truth, max(ks), train=train, train_counts=train_counts)
    assert matched.train_counts is not None
    # Bucket b holds the counts in (closed[b - 1], closed[b]].
    bucket_of = np.searchsorted(closed, matched.train_counts, side="left")
    labels = np.bincount(bucket_of, minlength=len(buckets))
    occurrences = np.bincount(bucket_of[matched.truth.indices], minlength=len(buckets))
    found = {
        k: np.bincount(
            bucket_of[matched.best.indices[matched.best_hits & (matched.best.ranks < k)]],
            minlength=len(buckets),
        )
        for k in ks
    }
    return [
        FrequencyBucket(
            name,
            0 if b == 0 else closed[b - 1] + 1,
            high,
            int(labels[b]),
            int(occurrences[b]),
            {k: float(percent(found[k][b], occurrences[b])) for k in ks},
            {k: float(percent(found[k][b], k * len(matched.best))) for k in ks},
        )
        for b, (name, high) in enumerate(buckets.items())
    ]


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
