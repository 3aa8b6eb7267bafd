"""`Stack`: a logistic model of the probability that a label is right, from the scores of members.

    log-odds(l) = bias + Σ_m f_m(s_m(l)) + g(n(l))

s_m(l) is the score of member m (f_m has a separate value for labels that its list lacks), n(l) the number
of training examples of the label. f_m and g are piecewise linear: between knots x_j ≤ x ≤ x_{j+1} they run
from c_j to c_{j+1}. The values c at all knots minimise

    Σ_pairs log(1 + exp(-y · log-odds)) + ridge / 2 · ‖c‖² + smooth / 2 · Σ_j bend_j²

over the (text, label) pairs that any member lists, by Newton's method. bend_j is the change of a curve's
slope at its knot j, times the mean distance of its knots: with few pairs, curves are straight lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix
from ..model_arrays import Numbers, checked
from ..ranked import Ranked

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
KNOTS = 12
RIDGE = 0.3
SMOOTH = 30.0
COUNT_KNOTS = np.array([0, 1, 2, 3, 4, 6, 8, 10, 13, 17, 22], np.float64)
"""Knots of log2 n."""
NEAR = 1e-3
"""Knots closer than this share of the range are merged."""
TINY = 1e-7
BLOCK = 1 << 18
"""Pairs whose rows are computed at a time."""
STEPS = 30


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear function; its value is constant outside the knots."""

    knots: Floats
    values: Floats
    bounded: bool = False
    """Whether it is a function of log(s / (1 - s)), for scores s from 0 to 1."""

    def __call__(self, x: Floats) -> Floats:
        return np.interp(_odds(x) if self.bounded else x, self.knots, self.values)


class Stack:
    """Fitted curves: one per member, then one for the counts."""

    def __init__(self, curves: Sequence[Curve], missing: Floats, bias: float) -> None:
        """``missing``: replaces a member's curve where its list lacks the label."""
        self.curves = list(curves)
        self.missing = missing
        self.bias = bias

    @classmethod
    def fit(cls, lists: Sequence[Ranked], Y: sparse.csr_matrix, counts: Ints) -> Stack:
        """``lists`` of members that were not trained on these texts; ``Y`` are the true labels of each.

        ``counts``: the training examples of each label.
        """
        pairs = Pairs.of(lists, len(counts))
        right = pairs.among(Y)
        bounded = [_within_one(value[known]) for value, known in zip(pairs.scores, pairs.known, strict=True)]
        scores = [_odds(value) if one else value for value, one in zip(pairs.scores, bounded, strict=True)]
        knots = [_knots(value[known], right[known]) for value, known in zip(scores, pairs.known, strict=True)]
        knots.append(COUNT_KNOTS)
        scores.append(_log_counts(counts[pairs.labels]))
        members = len(lists)

        def rows(part: slice) -> Floats:
            """The design matrix: knots of all curves, members that lack the label, 1."""
            columns = [_hats(value[part], at) for value, at in zip(scores, knots, strict=True)]
            for member in range(members):
                columns[member][~pairs.known[member][part]] = 0
            lacking = np.stack([~known[part] for known in pairs.known], 1).astype(np.float64)
            return np.concatenate([*columns, lacking, np.ones((len(lacking), 1))], 1)

        # Unbounded scores may have long tails: their knots count as evenly spaced.
        spaced = [
            at if one else np.arange(len(at), dtype=np.float64)
            for at, one in zip(knots, [*bounded, True], strict=True)
        ]
        solved = _newton(rows, right, _penalty(spaced, members + 1))
        values = np.split(solved, np.cumsum([len(at) for at in knots]))
        parts = zip(knots, values, [*bounded, False], strict=False)
        curves = [Curve(at, value, one) for at, value, one in parts]
        return cls(curves, values[-1][:-1], float(values[-1][-1]))

    def combine(self, lists: Sequence[Ranked], k: int, counts: Ints, depth: int | None = None) -> Ranked:
        """The ``k`` best labels of every text, with their probabilities.

        ``depth``: length of the lists that the curves were fitted on. Labels further down in longer lists
        count as missing, and rank after all labels within ``depth``.
        """
        pairs = Pairs.of(lists, len(counts), depth)
        odds = self.bias + sum(
            np.where(known, curve(scores), lacking)
            for curve, lacking, scores, known in zip(
                self.curves, self.missing, pairs.scores, pairs.known, strict=False
            )
        )
        odds = odds + self.of_counts(counts[pairs.labels])
        listed = np.any(pairs.known, 0)
        order = np.lexsort((pairs.labels, -odds, ~listed, pairs.texts))
        texts = pairs.texts[order]
        firsts = np.searchsorted(texts, np.arange(pairs.n_texts + 1))
        chosen = order[np.arange(len(texts)) - firsts[texts] < k]
        indptr = np.append(0, np.cumsum(np.minimum(np.diff(firsts), k)))
        probabilities = 1 / (1 + np.exp(-_falling(odds[chosen], listed[chosen], pairs.texts[chosen])))
        return Ranked(indptr, pairs.labels[chosen].astype(np.int32), probabilities.astype(np.float32))

    def of_counts(self, counts: Ints) -> Floats:
        """The contribution of the numbers of training examples to the log-odds."""
        return self.curves[-1](_log_counts(counts))

    def of_member(self, member: int, score: float | None) -> float:
        """The contribution of a member to the log-odds; ``score`` None: its list lacks the label."""
        if score is None:
            return float(self.missing[member])
        return float(self.curves[member](np.array([score], np.float64))[0])

    def shares(self) -> Floats:
        """The range of each member's contributions to the log-odds, scaled to sum to 1."""
        values = [np.append(curve.values, self.missing[at]) for at, curve in enumerate(self.curves[:-1])]
        spans = np.array([np.ptp(own) for own in values]) + TINY
        return np.asarray(spans / spans.sum())

    def state(self) -> dict[str, npt.NDArray]:
        bounded = np.array([curve.bounded for curve in self.curves], np.int8)
        arrays = {"missing": self.missing, "bias": np.array([self.bias]), "bounded": bounded}
        for number, curve in enumerate(self.curves):
            arrays |= {f"curve{number}.knots": curve.knots, f"curve{number}.values": curve.values}
        return arrays

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray], members: int) -> Stack:
        """The inverse of `state`, for so many members."""
        expected = {
            "missing": Numbers(np.float64, members, "members", finite=True),
            "bias": Numbers(np.float64, 1, finite=True),
            "bounded": Numbers(np.int8, members + 1, "members and the counts"),
        }
        plain = checked(arrays, expected)
        curves = []
        for number in range(members + 1):
            part = under_prefix(f"curve{number}", arrays)
            knots = checked(part, {"knots": Numbers(np.float64, filled=True, rising=True, finite=True)})[
                "knots"
            ]
            values = checked(part, {"values": Numbers(np.float64, len(knots), "knots", finite=True)})[
                "values"
            ]
            curves.append(Curve(knots, values, bounded=bool(plain["bounded"][number])))
        return cls(curves, plain["missing"], float(plain["bias"][0]))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The (text, label) pairs in any of several lists."""

    texts: Ints
    labels: Ints
    scores: list[Floats]
    """Per list; 0 where it lacks the pair."""
    known: list[npt.NDArray[np.bool_]]
    n_texts: int

    @classmethod
    def of(cls, lists: Sequence[Ranked], n_labels: int, depth: int | None = None) -> Pairs:
        """``depth``: pairs further down in a list count as missing from it."""
        texts = len(lists[0][0]) - 1
        keys = [_keys(indptr, ids, n_labels) for indptr, ids, _ in lists]
        together = np.unique(np.concatenate(keys))
        scores, known = [], []
        for own, (indptr, _, values) in zip(keys, lists, strict=True):
            ranks = np.arange(len(own)) - np.repeat(indptr[:-1], np.diff(indptr))
            high = ranks < (len(own) if depth is None else depth)
            places = np.searchsorted(together, own[high])
            here = np.zeros(len(together), bool)
            here[places] = True
            score = np.zeros(len(together))
            score[places] = values[high]
            scores.append(score)
            known.append(here)
        return cls(together // n_labels, together % n_labels, scores, known, texts)

    def among(self, Y: sparse.csr_matrix) -> npt.NDArray[np.bool_]:
        """Whether each pair is in ``Y``."""
        true = _keys(Y.indptr, Y.indices, Y.shape[1])
        return np.isin(self.texts * Y.shape[1] + self.labels, true)


def _falling(odds: Floats, listed: npt.NDArray[np.bool_], texts: Ints) -> Floats:
    """Labels in no list get at most the lowest odds of the text's listed labels, after which they rank."""
    lowest = np.full(texts.max(initial=-1) + 1, np.inf)
    np.minimum.at(lowest, texts[listed], odds[listed])
    return np.where(listed, odds, np.minimum(odds, lowest[texts]))


def _keys(indptr: npt.NDArray, ids: npt.NDArray, n_labels: int) -> Ints:
    texts = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.asarray(texts * n_labels + ids, np.int64)


def _within_one(scores: Floats) -> bool:
    return bool(((scores >= 0) & (scores <= 1)).all())


def _odds(scores: Floats) -> Floats:
    """log(s / (1 - s)): scores crowd at 0 and 1."""
    inside = np.clip(scores, TINY, 1 - TINY)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _log_counts(counts: Ints) -> Floats:
    return np.asarray(np.log2(np.maximum(counts, 1)))


def _knots(values: Floats, right: npt.NDArray[np.bool_]) -> Floats:
    """Quantiles of all pairs and, with equal weight, of the few right ones."""
    if not len(values):
        return np.array([0.0, 1.0])
    both = np.concatenate([values, np.resize(values[right], len(values) if right.any() else 0)])
    found = np.unique(np.quantile(both, np.linspace(0, 1, KNOTS)))
    found = found[np.append(True, np.diff(found) > NEAR * np.ptp(found))]
    return found if len(found) > 1 else np.array([found[0], found[0] + 1])


def _hats(values: Floats, knots: Floats) -> Floats:
    """Values × knots: the weight of each knot's c in f(x), 1 at the knot and 0 at its neighbours."""
    inside = np.clip(values, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    share = (inside - knots[left]) / (knots[left + 1] - knots[left])
    hats = np.zeros((len(values), len(knots)))
    number = np.arange(len(values))
    hats[number, left], hats[number, left + 1] = 1 - share, share
    return hats


def _penalty(knots: Sequence[Floats], others: int) -> Floats:
    """P of the penalty cᵀ P c / 2, for the values at all knots and ``others`` coefficients."""
    bends = [_bends(at) for at in knots]
    smooth = sparse.block_diag([*(bend.T @ bend for bend in bends), np.zeros((others, others))])
    return np.asarray(SMOOTH * smooth.toarray() + RIDGE * np.eye(smooth.shape[0]))


def _bends(knots: Floats) -> Floats:
    """Inner knots × knots: bend_j = h · ((c_{j+1} - c_j) / h_j - (c_j - c_{j-1}) / h_{j-1})."""
    gaps = np.diff(knots)
    slopes = np.diff(np.eye(len(knots)), axis=0) / gaps[:, None]
    return np.asarray(gaps.mean() * np.diff(slopes, axis=0))


def _newton(rows: Callable[[slice], Floats], right: npt.NDArray[np.bool_], penalty: Floats) -> Floats:
    """The coefficients with the lowest loss; steps that are too long are halved."""

    def parts() -> Iterator[tuple[Floats, Floats]]:
        for at in range(0, len(right), BLOCK):
            part = slice(at, at + BLOCK)
            yield rows(part), right[part].astype(np.float64)

    def loss(solved: Floats) -> float:
        fit = sum(np.logaddexp(0, (1 - 2 * y) * (A @ solved)).sum() for A, y in parts())
        return float(fit + solved @ penalty @ solved / 2)

    solved = np.zeros(len(penalty))
    lowest = loss(solved)
    for _ in range(STEPS):
        slope, bend = penalty @ solved, penalty.copy()
        for A, y in parts():
            p = 1 / (1 + np.exp(-np.clip(A @ solved, -40, 40)))
            slope += A.T @ (p - y)
            bend += (A * (p * (1 - p))[:, None]).T @ A
        step = np.linalg.solve(bend, slope)
        size_of_step = 1.0
        while (now := loss(solved - size_of_step * step)) > lowest and size_of_step > 1e-4:
            size_of_step /= 2
        if now > lowest:
            break
        solved = solved - size_of_step * step
        done, lowest = lowest - now <= 1e-6 * max(lowest, 1), now
        if done:
            break
    return solved
