"""Words of a text marked by what they add to a label's score."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..explanation import Explanation

STEPS = 4
"""Strengths of a mark."""


class Piece(NamedTuple):
    """A piece of a text; its strength goes from -STEPS, against the label, to STEPS, for it; 0: no mark."""

    text: str
    strength: int


class Word(NamedTuple):
    """A term and what it adds to the raw scores on the way to the label, all levels together."""

    name: str
    added: float
    spans: tuple[tuple[int, int], ...]


def words_of(explanation: Explanation) -> list[Word]:
    """All terms of the path, or of the paths of all parts weighed by the parts; the strongest first."""
    added: dict[str, float] = {}
    spans: dict[str, tuple[tuple[int, int], ...]] = {}
    for weight, path_owner in _with_paths(explanation, 1.0):
        for step in path_owner.path:
            for term in step.terms:
                added[term.name] = added.get(term.name, 0.0) + weight * term.contribution
                spans[term.name] = term.spans
    names = sorted(added, key=lambda name: (-abs(added[name]), name))
    return [Word(name, added[name], spans[name]) for name in names]


def _with_paths(explanation: Explanation, weight: float) -> list[tuple[float, Explanation]]:
    found = [(weight, explanation)] if explanation.path else []
    for part in explanation.parts:
        if part.explanation is not None:
            found += _with_paths(part.explanation, weight * part.weight)
    return found


def marked(text: str, words: list[Word]) -> list[Piece]:
    """The text in pieces. What a term adds is shared out among its places, and places of terms add up."""
    weights: npt.NDArray[np.float64] = np.zeros(len(text))
    for word in words:
        for start, end in word.spans:
            weights[start:end] += word.added / len(word.spans)
    largest = np.abs(weights).max(initial=0)
    if largest == 0:
        return [Piece(text, 0)] if text else []
    strength = np.rint(STEPS * weights / largest).astype(int)
    borders = [0, *(np.flatnonzero(np.diff(strength)) + 1).tolist(), len(text)]
    return [Piece(text[start:end], int(strength[start])) for start, end in pairwise(borders)]
