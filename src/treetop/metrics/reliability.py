"""Are scores probabilities? Reliability bins of predictions, and the expected calibration error.

Each of the first k predictions of a document is a pair of a score s ∈ [0, 1] and a hit: is the label true?
With the pairs in bins b of equal width, each with n_b pairs, mean score s̄_b and share of hits h̄_b:

    ECE@k = Σ_b n_b / n · |s̄_b − h̄_b|        (expected calibration error)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..data import Dataset
from ..errors import ConfigError, DataError
from ..predictions import Predictions
from .matching import MatchedPredictions, match_truth

BINS = 15


class ReliabilityBin(NamedTuple):
    """The predictions with a score in (low, high]; the first bin includes 0."""

    low: float
    high: float
    pairs: int
    score: float
    """The mean score."""
    hits: float
    """The share of predictions that are correct."""


def reliability(
    predictions: Predictions, truth: Dataset, *, k: int = 5, bins: int = BINS
) -> list[ReliabilityBin]:
    """The non-empty bins of a reliability diagram, lowest scores first."""
    if k < 1 or bins < 1:
        raise ConfigError(f"k and bins must be at least 1, not {k} and {bins}")
    matched = match_truth(predictions, truth, k)
    if not _in_range(matched):
        raise DataError("a reliability table needs scores between 0 and 1: calibrate the model first")
    return _bins(matched, k, bins)


def calibration_errors(matched: MatchedPredictions, ks: Iterable[int]) -> dict[str, float]:
    """ECE@k in percent for each k; empty if some score lies outside [0, 1]."""
    if not _in_range(matched):
        return {}
    errors = {}
    for k in ks:
        table = _bins(matched, k, BINS)
        off = sum(item.pairs * abs(item.score - item.hits) for item in table)
        errors[f"ECE@{k}"] = 100 * off / max(sum(item.pairs for item in table), 1)
    return errors


def _in_range(matched: MatchedPredictions) -> bool:
    scores = matched.best.scores
    return len(scores) == 0 or bool(scores.min() >= 0 and scores.max() <= 1)


def _bins(matched: MatchedPredictions, k: int, bins: int) -> list[ReliabilityBin]:
    first = matched.best.ranks < k
    scores = matched.best.scores[first].astype(np.float64)
    place = np.maximum(np.ceil(scores * bins).astype(np.int64) - 1, 0)
    counts = np.bincount(place, minlength=bins)
    held = np.flatnonzero(counts)
    means = np.bincount(place, scores, bins)[held] / counts[held]
    shares = np.bincount(place, matched.best_hits[first], bins)[held] / counts[held]
    columns = (held.tolist(), counts[held].tolist(), means.tolist(), shares.tolist())
    return [
        ReliabilityBin(b / bins, (b + 1) / bins, pairs, score, hits)
        for b, pairs, score, hits in zip(*columns, strict=True)
    ]
