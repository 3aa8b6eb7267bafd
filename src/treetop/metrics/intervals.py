"""Bootstrap confidence intervals of metrics, and paired tests of two models.

Both resample the documents and recompute Σ numerators / Σ denominators, so that ratio metrics such as PSP@k
are resampled as ratios. Coverage, ECE and the macro averages are not sums over documents and have no
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data import Dataset
from ..errors import ConfigError, DataError
from ..predictions import Predictions
from .documents import DocumentScores, Options, document_scores, percent
from .matching import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

BLOCK_BYTES = 32 << 20
"""Memory for resampling weights at a time; the result does not depend on it."""


class Interval(NamedTuple):
    """A value and the bounds of its confidence interval, in percent."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


class Difference(NamedTuple):
    """Two models on one metric: values, first − second with its confidence interval (percent), p-value."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float

    def __str__(self) -> str:
        return f"{self.difference:+.2f} [{self.low:+.2f}, {self.high:+.2f}], p = {self.p_value:.3g}"


def confidence_intervals(
    predictions: Predictions,
    truth: Dataset,
    *,
    level: float = 0.95,
    samples: int = 1000,
    seed: int = 0,
    **options: Unpack[Options],
) -> dict[str, Interval]:
    """Percentile bootstrap: documents drawn with replacement, ``samples`` times.

    ``options`` are those of `evaluate`.
    """
    _check(len(truth), level, samples)
    return score_intervals(
        document_scores(predictions, truth, **options), level=level, samples=samples, seed=seed
    )


def score_intervals(
    scores: Mapping[str, DocumentScores], *, level: float = 0.95, samples: int = 1000, seed: int = 0
) -> dict[str, Interval]:
    """`confidence_intervals` of scores that are already computed."""
    documents = _documents(scores)
    _check(documents, level, samples)
    drawn = _ratios(_columns(scores), _bootstrap_weights(documents, np.random.default_rng(seed)), samples)
    low, high = _bounds(drawn, level)
    return {
        name: Interval(score.value, float(low[column]), float(high[column]))
        for column, (name, score) in enumerate(scores.items())
    }


def compare(
    first: Predictions,
    second: Predictions,
    truth: Dataset,
    *,
    level: float = 0.95,
    samples: int = 1000,
    seed: int = 0,
    **options: Unpack[Options],
) -> dict[str, Difference]:
    """Is the first model better than the second on the same documents?

    The interval of the difference is a paired bootstrap: both models are scored on the same resampled
    documents. The p-value is two-sided, from a permutation test: between equal models, the two predictions
    for a document are interchangeable; p = (1 + random swaps with a difference at least as large) / (1 +
    ``samples``). ``options`` are those of `evaluate`; ``train_counts`` belong to ``first.labels``.
    """
    if options.get("train") is None:
        second = second.aligned_to(first.labels)
    mine = document_scores(first, truth, **options)
    counts = options.get("train_counts")
    if counts is not None:
        padded = np.zeros(len(second.labels), np.int64)
        padded[: len(first.labels)] = counts
        options["train_counts"] = padded
    theirs = document_scores(second, truth, **options)
    return compare_scores(mine, theirs, level=level, samples=samples, seed=seed)


def compare_scores(
    mine: Mapping[str, DocumentScores],
    theirs: Mapping[str, DocumentScores],
    *,
    level: float = 0.95,
    samples: int = 1000,
    seed: int = 0,
) -> dict[str, Difference]:
    """`compare` of scores that are already computed, on the same documents and metrics."""
    documents = _documents(mine)
    _check(documents, level, samples)
    if set(mine) != set(theirs) or _documents(theirs) != documents:
        raise ConfigError(
            "two models are compared on the same metrics of the same documents; score both on one test set"
        )
    rng = np.random.default_rng(seed)
    a, b = _columns(mine), _columns({name: theirs[name] for name in mine})
    observed = _ratio(a.sum(axis=0)) - _ratio(b.sum(axis=0))
    width = a.shape[1]

    def difference(sums: Floats) -> Floats:
        return _ratio(sums[:, :width]) - _ratio(sums[:, width:])

    both = np.hstack([a, b])
    drawn = np.vstack(
        [difference(sums) for sums in _weighted_sums(both, _bootstrap_weights(documents, rng), samples)]
    )
    low, high = _bounds(drawn, level)

    # Swapping document i moves its a to b and its b to a: Σa + Σ swap·(b − a), and Σb − the same.
    extreme = np.zeros(len(mine), np.int64)
    total, change = both.sum(axis=0), b - a
    for moved in _weighted_sums(change, _swap_weights(documents, rng), samples):
        swapped = difference(total + np.hstack([moved, -moved]))
        extreme += (np.abs(swapped) >= np.abs(observed) - 1e-9).sum(axis=0)
    return {
        name: Difference(
            mine[name].value,
            theirs[name].value,
            float(observed[column]),
            float(low[column]),
            float(high[column]),
            float((1 + extreme[column]) / (1 + samples)),
        )
        for column, name in enumerate(mine)
    }


def holm(p_values: Sequence[float], of: int | None = None) -> list[float]:
    """Holm's correction for multiple tests: it bounds the probability of any false positive among them.

    With p₍₁₎ ≤ … ≤ p₍ₘ₎ the corrected p-value of rank i is max_{j≤i} min(1, (m − j + 1)·p₍ⱼ₎).

    For tests selected by their outcome, such as those against the best model, ``of`` is the number of tests
    they were selected from, and m is that number. Holm's method on all m tests never gives them larger
    p-values.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    tests = len(p) if of is None else of
    if tests < len(p):
        raise ConfigError(f"of must be at least the number of p-values, {len(p)}, not {tests}")
    factors = tests - np.arange(len(p))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return [float(value) for value in corrected]


Weights = Callable[[int], Floats]
"""count → that many random weightings of the documents, one per row."""


def _bootstrap_weights(documents: int, rng: np.random.Generator) -> Weights:
    """How often each document is drawn when ``documents`` are drawn with replacement."""

    def draw(count: int) -> Floats:
        chosen = [rng.integers(documents, size=documents) for _ in range(count)]
        return np.array([np.bincount(rows, minlength=documents) for rows in chosen], np.float64)

    return draw


def _swap_weights(documents: int, rng: np.random.Generator) -> Weights:
    """0 or 1 for each document, with equal probability."""

    def draw(count: int) -> Floats:
        chosen = [rng.integers(2, size=documents, dtype=np.uint8) for _ in range(count)]
        return np.array(chosen, np.float64)

    return draw


def _weighted_sums(columns: Floats, weights: Weights, samples: int) -> Iterator[Floats]:
    """Random weightings × columns, one block of rows at a time."""
    block = max(1, BLOCK_BYTES // (8 * len(columns)))
    for start in range(0, samples, block):
        yield weights(min(block, samples - start)) @ columns


def _columns(scores: Mapping[str, DocumentScores]) -> Floats:
    """Documents × (all numerators, then all denominators)."""
    parts = [score.numerator for score in scores.values()] + [score.denominator for score in scores.values()]
    return np.column_stack(parts)


def _ratio(sums: Floats) -> Floats:
    half = sums.shape[-1] // 2
    return percent(sums[..., :half], sums[..., half:])


def _ratios(columns: Floats, weights: Weights, samples: int) -> Floats:
    return np.vstack([_ratio(sums) for sums in _weighted_sums(columns, weights, samples)])


def _bounds(drawn: Floats, level: float) -> Floats:
    return np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)


def _documents(scores: Mapping[str, DocumentScores]) -> int:
    if not scores:
        raise ConfigError(
            "none of the metrics is a sum over documents: coverage and ECE have no interval; choose others"
        )
    return len(next(iter(scores.values())).numerator)


def _check(documents: int, level: float, samples: int) -> None:
    if documents == 0:
        raise DataError("a confidence interval needs at least one document")
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, not {level}")
    if samples < 1:
        raise ConfigError(f"samples must be at least 1, not {samples}")
