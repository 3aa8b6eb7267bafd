"""`Explanation`: why a label has its score, the result of `Method.explain`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ranked import Ranked
from .units import counted

Span = tuple[int, int]


@dataclass(frozen=True)
class Term:
    """One feature of the text and its contribution to a raw score: value × weight."""

    name: str
    value: float
    weight: float
    contribution: float
    spans: tuple[Span, ...] = ()
    """Character positions of the words in the text; word n-grams only."""


@dataclass(frozen=True)
class PathStep:
    """One node on the path from the root of a label tree to the label.

    ``raw`` = ``bias`` + the sum of the terms' contributions. An only child has no classifier: its raw and
    transformed scores are None, and its score is its parent's.
    """

    level: int
    node: int
    name: str
    """The label, or the most frequent labels of a cluster."""
    labels: int
    """Number of labels below the node."""
    raw: float | None
    transformed: float | None
    """T(raw)."""
    score: float
    """The score of the path down to this node."""
    place: int | None
    """Rank among the nodes in the beam, 1 is the best; None: not reached by the beam search."""
    beam: int
    """Number of nodes in the beam at this level; at the last level, number of scored labels."""
    bias: float
    terms: tuple[Term, ...]
    """Terms with a weight, by decreasing absolute contribution."""


@dataclass(frozen=True)
class Vote:
    """One of the nearest training examples."""

    example: int
    """Its row in the training data, from 0."""
    similarity: float
    share: float
    """Its share of all votes; the shares of the examples with the label sum to the label's score."""
    agrees: bool
    """Whether it has the label."""
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One summand of a score: ``weight`` × ``value``."""

    name: str
    weight: float
    value: float
    """0 if the part does not list the label."""
    explanation: Explanation | None
    """None if the part does not know the label or its method cannot explain."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """A label's score and its origin: a path in a label tree, votes, or several parts."""

    label: str
    score: float
    """The score before calibration; if the label is not reached, the score it would have."""
    rule: str
    """How the score follows from the path, the votes or the parts."""
    reached: bool = True
    """Whether prediction reaches the label at all."""
    probability: float | None = None
    """The calibrated score; None without a calibration."""
    path: tuple[PathStep, ...] = ()
    votes: tuple[Vote, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def dropped(self) -> PathStep | None:
        """The first node of the path outside the beam, if any."""
        return next((step for step in self.path if step.place is None), None)

    @property
    def why_missed(self) -> str | None:
        """A sentence on why prediction does not reach the label; None if it does."""
        if self.reached:
            return None
        dropped = self.dropped
        if dropped is None:
            return "No member lists this label."
        if dropped.labels == 1:
            return "The beam search does not reach this label: its cluster is outside the beam."
        return (
            f"The beam search does not reach this label: at level {dropped.level}, {dropped.name} is outside"
            f" the beam of {counted(dropped.beam, 'node')}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, ready for JSON, without empty fields."""
        plain: dict[str, Any] = _without_empty(dataclasses.asdict(self))
        return plain

    def __repr__(self) -> str:
        kinds = ("path", "votes", "parts")
        made_of = ", ".join(f"{len(getattr(self, kind))} {kind}" for kind in kinds if getattr(self, kind))
        return f"Explanation({self.label!r}, {self.score:.4g}, {made_of})"


def summed(label: str, parts: Sequence[Part], rule: str) -> Explanation:
    """The score is Σ weight · value over the parts; the label is reached if any part lists it."""
    score = math.fsum(part.weight * part.value for part in parts)
    return Explanation(label, score, rule, any(part.value != 0 for part in parts), parts=tuple(parts))


def stacked(label: str, parts: Sequence[Part], *, reached: bool) -> Explanation:
    """The parts are contributions to the log-odds x; the score is the probability 1 / (1 + exp(-x))."""
    odds = math.fsum(part.value for part in parts)
    rule = "1 / (1 + exp(-x)), where x is the sum of the parts' contributions to the log-odds"
    return Explanation(label, 1 / (1 + math.exp(-odds)), rule, reached, parts=tuple(parts))


def listed_score(ranked: Ranked, label: int) -> float:
    """The label's score in the ranked list of one text; 0 if it is not listed."""
    _, ids, scores = ranked
    at = np.flatnonzero(ids == label)
    return float(scores[at[0]]) if len(at) else 0.0


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_empty(item)
            for name, item in value.items()
            if item is not None and not (name in ("path", "votes", "parts", "spans") and not item)
        }
    if isinstance(value, (list, tuple)):
        return [_without_empty(item) for item in value]
    return value
