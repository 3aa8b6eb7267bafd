"""Rules that put the scores of several members' ranked lists on one scale, before they are averaged.

With s the scores of a list of n labels and r = 0, 1, … their ranks, a label outside the list counting 0:

    rank      (m - r) / m, with m the length of the text's longest list
    sigmoid   1 / (1 + exp(-s))
    softmax   exp(s) / Σ exp(s), over the labels in the list
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..ranked import Ranked

Scores = npt.NDArray[np.float32]
RESCALED = {
    "rank": "rank in its list (1: first)",
    "sigmoid": "1 / (1 + exp(-score))",
    "softmax": "softmax of the scores in its list",
}
"""The rules, and what they make of a score, for explanations."""


def rescaled(lists: Sequence[Ranked], rule: str) -> list[Ranked]:
    """The lists with scores by one of `RESCALED`; unchanged for other rules."""
    if rule == "rank":
        longest = np.max([np.diff(ranked.indptr) for ranked in lists], axis=0)
        return [ranked._replace(scores=_relevance(ranked.indptr, longest)) for ranked in lists]
    if rule == "sigmoid":
        return [ranked._replace(scores=_sigmoid(ranked.scores)) for ranked in lists]
    if rule == "softmax":
        return [ranked._replace(scores=_softmax(ranked.indptr, ranked.scores)) for ranked in lists]
    return list(lists)


def _relevance(indptr: npt.NDArray[np.int64], longest: npt.NDArray[np.int64]) -> Scores:
    counts = np.diff(indptr)
    ranks = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
    n = np.repeat(longest, counts)
    return np.asarray((n - ranks) / n, np.float32)


def _sigmoid(scores: Scores) -> Scores:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores.astype(np.float64))), np.float32)


def _softmax(indptr: npt.NDArray[np.int64], scores: Scores) -> Scores:
    """Lists are sorted, so the first score of each is its largest."""
    counts = np.diff(indptr)
    filled = indptr[:-1][counts > 0]
    largest = np.repeat(scores[filled].astype(np.float64), counts[counts > 0])
    raised = np.exp(scores - largest)
    sums = np.add.reduceat(raised, filled) if len(filled) else np.zeros(0)
    return np.asarray(raised / np.repeat(sums, counts[counts > 0]), np.float32)
