"""Words of a text highlighted by their contribution to a label's score."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..explanation import Explanation

STEPS = 4
"""Number of highlight strengths."""


class Segment(NamedTuple):
    """A piece of a text."""

    text: str
    strength: int
    """From -STEPS (against the label) to STEPS (for it); 0: no highlight."""


class WordContribution(NamedTuple):
    """A term and its contribution to the raw scores on the path to the label, summed over the levels."""

    name: str
    contribution: float
    spans: tuple[tuple[int, int], ...]


def word_contributions(explanation: Explanation) -> list[WordContribution]:
    """All terms of the path, or of the paths of all parts times the parts' weights; largest first."""
    added: dict[str, float] = {}
    spans: dict[str, tuple[tuple[int, int], ...]] = {}
    for weight, path_owner in _with_paths(explanation, 1.0):
        for step in path_owner.path:
            for term in step.terms:
                added[term.name] = added.get(term.name, 0.0) + weight * term.contribution
                spans[term.name] = term.spans
    names = sorted(added, key=lambda name: (-abs(added[name]), name))
    return [WordContribution(name, added[name], spans[name]) for name in names]


def _with_paths(explanation: Explanation, weight: float) -> list[tuple[float, Explanation]]:
    found = [(weight, explanation)] if explanation.path else []
    for part in explanation.parts:
        if part.explanation is not None:
            found += _with_paths(part.explanation, weight * part.weight)
    return found


def highlighted(text: str, words: list[WordContribution]) -> list[Segment]:
    """The text in segments. A term's contribution is divided among its places; overlapping terms add up."""
    weights: npt.NDArray[np.float64] = np.zeros(len(text))
    for word in words:
        for start, end in word.spans:
            weights[start:end] += word.contribution / len(word.spans)
    largest = np.abs(weights).max(initial=0)
    if largest == 0:
        return [Segment(text, 0)] if text else []
    strength = np.rint(STEPS * weights / largest).astype(int)
    borders = [0, *(np.flatnonzero(np.diff(strength)) + 1).tolist(), len(text)]
    return [Segment(text[start:end], int(strength[start])) for start, end in pairwise(borders)]
