"""Calibration: non-decreasing maps from scores to probabilities, fitted on held-out predictions.

Each (text, predicted label) pair of a held-out set has a score s and a hit h ∈ {0, 1}: is the label true? A
calibration is a non-decreasing map f with f(s) ≈ P(h = 1 | s), so that it never changes the order of labels.

- `Isotonic`: the non-decreasing map with the least Σ (h − f(s))², found by pooling adjacent violators; linear
  between the scores it was fitted on, constant beyond them.
- `Platt`: f(s) = σ(a·t + b), with t = ln s/(1−s) if all scores lie in [0, 1] and t = s otherwise. With two
  parameters, a few hundred pairs are enough. (Platt, "Probabilistic outputs for support vector machines".)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from .deprecation import renamed_names
from .errors import ConfigError, ModelError
from .model_arrays import Numbers, ascends, checked

if TYPE_CHECKING:
    from typing_extensions import Self

CALIBRATED_LABELS = 20
"""Number of predicted labels per held-out text to fit a map on."""
SMALLEST, MARGIN = 1e-30, 1e-6
"""Smallest distance of scores from 0 and from 1 when taking log-odds."""
NOT_A_CALIBRATION = "the calibration is not a non-decreasing map to probabilities; calibrate the model again"
Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]

__getattr__ = renamed_names(__name__, __name__, {"DEPTH": "CALIBRATED_LABELS"})


class Calibration(ABC):
    """A non-decreasing map from scores to probabilities."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, scores: Scores, hits: npt.NDArray[np.bool_]) -> Self:
        """Fits the map on at least one pair."""

    @abstractmethod
    def __call__(self, scores: Scores) -> Scores:
        """The probability of each score, independent of the other scores."""

    @abstractmethod
    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays to be saved."""

    @classmethod
    @abstractmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> Self:
        """The inverse of `state`; raises if the map decreases or leaves [0, 1]."""


class Isotonic(Calibration):
    """Linear between the points (scores[i], probabilities[i]), constant outside them."""

    kind = "isotonic"

    def __init__(self, scores: Scores, probabilities: Scores) -> None:
        self.scores = scores
        self.probabilities = probabilities

    @classmethod
    def fit(cls, scores: Scores, hits: npt.NDArray[np.bool_]) -> Self:
        distinct, place = np.unique(scores, return_inverse=True)
        counts = np.bincount(place)
        starts, means = pool_adjacent_violators(np.bincount(place[hits], minlength=len(counts)), counts)
        ends = np.append(starts[1:], len(distinct)) - 1
        # A block is constant from its first to its last score.
        points, first = np.unique(np.column_stack([starts, ends]).ravel(), return_index=True)
        # With float32 points, rounding values to float32 keeps the map non-decreasing.
        return cls(distinct[points], np.repeat(means, 2)[first].astype(np.float32))

    def __call__(self, scores: Scores) -> Scores:
        return np.interp(scores, self.scores, self.probabilities).astype(np.float32)

    def state(self) -> dict[str, npt.NDArray]:
        return {"scores": self.scores, "probabilities": self.probabilities}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> Self:
        scores = checked(arrays, {"scores": Numbers(np.float32, filled=True, finite=True, rising=True)})[
            "scores"
        ]
        expected = Numbers(np.float32, len(scores), "scores", least=0, most=1)
        probabilities = checked(arrays, {"probabilities": expected})["probabilities"]
        if not ascends(probabilities):
            raise ModelError(NOT_A_CALIBRATION)
        return cls(scores, probabilities)


class Platt(Calibration):
    """σ(slope·t + intercept), where t is the score or its log-odds."""

    kind = "platt"

    def __init__(self, slope: float, intercept: float, *, odds: bool) -> None:
        self.slope = slope
        self.intercept = intercept
        self.odds = odds

    @classmethod
    def fit(cls, scores: Scores, hits: npt.NDArray[np.bool_]) -> Self:
        """Maximum likelihood, with Platt's targets (N₊+1)/(N₊+2) and 1/(N₋+2) in place of 1 and 0."""
        odds = bool(((scores >= 0) & (scores <= 1)).all())
        inputs = _inputs(scores, odds)
        right = int(hits.sum())
        targets = np.where(hits, (right + 1) / (right + 2), 1 / (len(hits) - right + 2))
        centre, spread = float(inputs.mean()), float(inputs.std())
        slope, intercept = _logistic(inputs - centre, targets, spread)
        if slope < 0:  # high scores mean misses: the best non-decreasing map is constant
            base = float(targets.mean())
            slope, intercept = 0.0, float(np.log(base / (1 - base)))
        return cls(slope, intercept - slope * centre, odds=odds)

    def __call__(self, scores: Scores) -> Scores:
        # Rounded to float32: an exponential, inexact in its last bit, keeps distinct values in order.
        z = (self.slope * _inputs(scores, self.odds) + self.intercept).astype(np.float32).astype(np.float64)
        small = np.exp(-np.abs(z))
        return np.where(z >= 0, 1 / (1 + small), small / (1 + small)).astype(np.float32)

    def state(self) -> dict[str, npt.NDArray]:
        return {"line": np.array([self.slope, self.intercept]), "odds": np.array([self.odds])}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> Self:
        expected = {"line": Numbers(np.float64, 2, finite=True), "odds": Numbers(np.bool_, 1)}
        line, odds = checked(arrays, expected).values()
        if line[0] < 0:
            raise ModelError(NOT_A_CALIBRATION)
        return cls(float(line[0]), float(line[1]), odds=bool(odds[0]))


KINDS: dict[str, type[Calibration]] = {cls.kind: cls for cls in (Isotonic, Platt)}


def kind_named(kind: str) -> type[Calibration]:
    """The class of a kind of calibration."""
    if kind not in KINDS:
        raise ConfigError(f"there is no calibration {kind!r}; choose from {', '.join(KINDS)}")
    return KINDS[kind]


def pool_adjacent_violators(
    sums: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Weighted least-squares fit of a non-decreasing sequence to sums/counts: starts and values of its
    blocks.

    Adjacent blocks whose means do not increase are pooled into their common mean until all increase. Means
    are compared exactly, in integers: s₁·n₂ ≥ s₂·n₁.
    """
    starts: list[int] = []
    pooled: list[tuple[int, int]] = []
    for place, pair in enumerate(zip(sums.tolist(), counts.tolist(), strict=True)):
        start, (total, count) = place, pair
        while pooled and pooled[-1][0] * count >= total * pooled[-1][1]:
            before, size = pooled.pop()
            total, count, start = total + before, count + size, starts.pop()
        starts.append(start)
        pooled.append((total, count))
    return np.array(starts, np.int64), np.array([total / count for total, count in pooled])


def _inputs(scores: Scores, odds: bool) -> Floats:
    wide = scores.astype(np.float64)
    if not odds:
        return wide
    inside = np.clip(wide, SMALLEST, 1 - MARGIN)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _logistic(inputs: Floats, targets: Floats, spread: float) -> tuple[float, float]:
    """Minimises −Σ [t ln p + (1−t) ln(1−p)], p = σ(slope·input + intercept), by Newton's method."""
    scaled = inputs / spread if spread > 0 else inputs * 0
    design = np.column_stack([scaled, np.ones(len(scaled))])
    theta = np.zeros(2)

    def loss(theta: Floats) -> float:
        z = design @ theta
        return float((np.logaddexp(0, z) - targets * z).sum())

    value = loss(theta)
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(design @ theta, -500, 500)))
        gradient = design.T @ (p - targets)
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (tried := loss(theta - size * step)) > value and size > 1e-10:
            size /= 2
        if not tried < value:
            break
        theta, value = theta - size * step, tried
    return (float(theta[0]) / spread if spread > 0 else 0.0), float(theta[1])
