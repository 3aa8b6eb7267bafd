"""`Explanation`: why a model gives a label its score, the result type of `Method.explain`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ranked import Ranked

Span = tuple[int, int]


@dataclass(frozen=True)
class Term:
    """One feature of the text and what it adds to a raw score: value × weight."""

    name: str
    value: float
    weight: float
    contribution: float
    spans: tuple[Span, ...] = ()
    """Where the words stand in the text, as character positions; of word n-grams only."""


@dataclass(frozen=True)
class PathStep:
    """One node on the way from the root of a label tree to the label.

    ``raw`` = ``bias`` + the sum of the terms' contributions. An only child has no classifier: its raw and
    transformed scores are None, and its score is its parent's.
    """

    level: int
    node: int
    name: str
    """The label, or of a cluster its most frequent labels."""
    labels: int
    """Labels below the node."""
    raw: float | None
    transformed: float | None
    """T(raw)."""
    score: float
    """Of the path down to here."""
    place: int | None
    """Among the nodes that the search keeps, 1 the best; None: the search does not get here."""
    beam: int
    """Nodes that the search keeps at this level; at the last level, labels it scores."""
    bias: float
    terms: tuple[Term, ...]
    """Those with a weight, largest contribution first, whatever its sign."""


@dataclass(frozen=True)
class Vote:
    """One of the nearest training examples."""

    example: int
    """Its row in the training data, from 0."""
    similarity: float
    share: float
    """Of all votes; the shares of the examples that have the label sum to its score."""
    agrees: bool
    """Whether it has the label."""
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One of several scores that are added up: ``weight`` × ``value``."""

    name: str
    weight: float
    value: float
    """0 where the part does not list the label."""
    explanation: Explanation | None
    """None where the part does not know the label, or its method cannot explain."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """A label's score and what it is made of: a path in a label tree, votes, or several parts."""

    label: str
    score: float
    """What `predict` gives, before calibration; where the label is not reached, what it would be."""
    rule: str
    """How the score comes from the path, the votes or the parts."""
    reached: bool = True
    """Whether the search comes upon the label at all."""
    probability: float | None = None
    """The score through the model's calibration, where it has one."""
    path: tuple[PathStep, ...] = ()
    votes: tuple[Vote, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def dropped(self) -> PathStep | None:
        """The first node of the path that the search leaves out, if any."""
        return next((step for step in self.path if step.place is None), None)

    @property
    def why_missed(self) -> str | None:
        """A sentence where the search does not come upon the label."""
        if self.reached:
            return None
        dropped = self.dropped
        if dropped is None:
            return "No list has this label."
        if dropped.labels == 1:
            return "The search does not get to this label: its cluster is left out."
        return (
            f"The search does not get to this label: at level {dropped.level} it keeps {dropped.beam:,}"
            f" nodes, and not {dropped.name}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, ready for JSON; what is empty is left out."""
        plain: dict[str, Any] = _without_empty(dataclasses.asdict(self))
        return plain

    def __repr__(self) -> str:
        kinds = ("path", "votes", "parts")
        made_of = ", ".join(f"{len(getattr(self, kind))} {kind}" for kind in kinds if getattr(self, kind))
        return f"Explanation({self.label!r}, {self.score:.4g}, {made_of})"


def summed(label: str, parts: Sequence[Part], rule: str) -> Explanation:
    """The score is Σ weight · value over the parts; a part that lists the label reaches it."""
    score = math.fsum(part.weight * part.value for part in parts)
    return Explanation(label, score, rule, any(part.value != 0 for part in parts), parts=tuple(parts))


def stacked(label: str, parts: Sequence[Part], *, reached: bool) -> Explanation:
    """The parts are what each adds to the log-odds x; the score is the probability 1 / (1 + exp(-x))."""
    odds = math.fsum(part.value for part in parts)
    rule = "1 / (1 + exp(-x)) of the sum x of what each part adds to the log-odds"
    return Explanation(label, 1 / (1 + math.exp(-odds)), rule, reached, parts=tuple(parts))


def listed_score(ranked: Ranked, label: int) -> float:
    """The label's score in the ranked list of one text; 0 where it is not there."""
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
