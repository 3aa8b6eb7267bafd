"""Every ranking metric as a numerator and a denominator per document.

The value over a set of documents is Σ numerators / Σ denominators: a mean where the denominators are 1, a
ratio of corpus sums where they are not. Means, confidence intervals and paired tests are then one mechanism.

With r(1), r(2), … the predicted labels of document i, best first, and y its true labels:

=========  =============================================  ==============================================
metric     numerator                                      denominator
=========  =============================================  ==============================================
P@k        |y ∩ r(1…k)| / k                               1
R@k        |y ∩ r(1…k)| / |y|                             1 where y is not empty
F1@k       2·|y ∩ r(1…k)| / (k + |y|)                     1
RP@k       |y ∩ r(1…k)| / min(k, |y|)                     1 where y is not empty
nDCG@k     Σ_{j≤k} [r(j) ∈ y] / log2(j+1)                 1 where y is not empty
           divided by Σ_{j≤min(k,|y|)} 1 / log2(j+1)
PSP@k      Σ_{j≤k} [r(j) ∈ y] / p_r(j)                    Σ of the k largest 1/p_ℓ, ℓ ∈ y
PSnDCG@k   Σ_{j≤k} [r(j) ∈ y] / (p_r(j)·log2(j+1))        the same sum for y ranked by falling 1/p_ℓ
PSR@k      Σ_{j≤k} [r(j) ∈ y] / p_r(j)                    Σ of 1/p_ℓ over all ℓ ∈ y
PSPraw@k   Σ_{j≤k} [r(j) ∈ y] / p_r(j) / k                1
micro-P    |y ∩ d|, d = labels above the threshold        |d|
micro-R    |y ∩ d|                                        |y|
micro-F1   2·|y ∩ d|                                      |y| + |d|
sample-F1  2·|y ∩ d| / (|y| + |d|), 0/0 := 0              1
=========  =============================================  ==============================================

Rules that decide a figure:

- Where fewer than k labels are predicted, the missing ones count as wrong: P@k always divides by k.
- A document without true labels counts as zero in P@k, F1@k, PSPraw@k and sample-F1, and is left out of the
  others.
- True labels never seen in training stay in the truth: they are misses, and count in every denominator.
- PSP@k, PSnDCG@k and PSR@k are normalised by what is attainable and cannot pass 100 %; PSPraw@k, the formula
  some papers print, is not and can. PSR@k estimates the share of all relevant labels found (micro recall) as
  it would be if no true label had been forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..errors import ConfigError
from ..predictions import Predictions
from .judged import Floats, Judged, hits, judge
from .propensity import DEFAULT_PROPENSITY

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class DocumentScores:
    """One metric: its numerator and denominator for every document."""

    numerator: Floats
    denominator: Floats

    @property
    def value(self) -> float:
        """Σ numerators / Σ denominators in percent; 0/0 := 0."""
        return float(percent(self.numerator.sum(), self.denominator.sum()))


def percent(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Floats:
    """100·numerator/denominator with 0/0 := 0."""
    return 100 * ratio(numerator, denominator)


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Floats:
    """numerator/denominator with 0/0 := 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.asarray(np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0))


def _discounts(k: int) -> Floats:
    """1/log2(j+1) for the ranks j = 1…k."""
    return 1 / np.log2(np.arange(2, k + 2))


def _mean(values: Floats) -> DocumentScores:
    return DocumentScores(values, np.ones(len(values)))


def _mean_over_labelled(values: Floats, judged: Judged) -> DocumentScores:
    return DocumentScores(values, (judged.true_counts > 0).astype(np.float64))


def _hit_counts(judged: Judged, k: int) -> Floats:
    return np.asarray(judged.hits[:, :k].sum(axis=1))


def precision(judged: Judged, k: int) -> DocumentScores:
    return _mean(_hit_counts(judged, k) / k)


def recall(judged: Judged, k: int) -> DocumentScores:
    return _mean_over_labelled(ratio(_hit_counts(judged, k), judged.true_counts), judged)


def f1(judged: Judged, k: int) -> DocumentScores:
    return _mean(2 * _hit_counts(judged, k) / (k + judged.true_counts))


def r_precision(judged: Judged, k: int) -> DocumentScores:
    return _mean_over_labelled(ratio(_hit_counts(judged, k), np.minimum(judged.true_counts, k)), judged)


def ndcg(judged: Judged, k: int) -> DocumentScores:
    discounts = _discounts(k)
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(judged.true_counts, k)]
    return _mean_over_labelled(ratio(judged.hits[:, :k] @ discounts, ideal), judged)


def ps_precision(judged: Judged, k: int) -> DocumentScores:
    return DocumentScores(judged.gains[:, :k].sum(axis=1), judged.ideal_gains[:, :k].sum(axis=1))


def ps_ndcg(judged: Judged, k: int) -> DocumentScores:
    discounts = _discounts(k)
    return DocumentScores(judged.gains[:, :k] @ discounts, judged.ideal_gains[:, :k] @ discounts)


def ps_recall(judged: Judged, k: int) -> DocumentScores:
    return DocumentScores(judged.gains[:, :k].sum(axis=1), judged.true_gains)


def ps_precision_raw(judged: Judged, k: int) -> DocumentScores:
    return _mean(judged.gains[:, :k].sum(axis=1) / k)


RANKING: dict[str, Callable[[Judged, int], DocumentScores]] = {
    "P": precision,
    "R": recall,
    "F1": f1,
    "RP": r_precision,
    "nDCG": ndcg,
    "PSP": ps_precision,
    "PSnDCG": ps_ndcg,
    "PSR": ps_recall,
    "PSPraw": ps_precision_raw,
}
NEED_PROPENSITY = ("PSP", "PSnDCG", "PSR", "PSPraw")
WHOLE_SET = ("coverage", "ECE")
"""Metrics that are not sums over documents."""
DEFAULT_KS = (1, 3, 5)
DEFAULT_METRICS = ("P", "R", "F1", "RP", "nDCG", "PSP", "PSnDCG", "PSR", *WHOLE_SET)
MORE_IS_BETTER = tuple(name for name in DEFAULT_METRICS if name != "ECE")


def parse_metric(text: str) -> tuple[str, int]:
    """``"nDCG@5"`` → ``("nDCG", 5)``: a metric to choose the best by."""
    name, _, k = text.partition("@")
    if name not in MORE_IS_BETTER or not k.isascii() or not k.isdigit() or int(k) < 1:
        known = ", ".join(f"{name}@1" for name in MORE_IS_BETTER)
        raise ConfigError(f"metric must be one of {known} or of another rank, not {text!r}")
    return name, int(k)


class Options(TypedDict, total=False):
    """What `evaluate` and everything built on the same figures accept; see `evaluate`."""

    train: Dataset | None
    train_counts: npt.ArrayLike | None
    n_train: int | None
    ks: Sequence[int]
    propensity: tuple[float, float]
    threshold: float | None
    metrics: Sequence[str]


def judge_for_metrics(
    predictions: Predictions,
    truth: Dataset,
    *,
    train: Dataset | None = None,
    train_counts: npt.ArrayLike | None = None,
    n_train: int | None = None,
    ks: Sequence[int] = DEFAULT_KS,
    propensity: tuple[float, float] = DEFAULT_PROPENSITY,
    threshold: float | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> tuple[Judged, dict[str, DocumentScores]]:
    """The judged predictions and every per-document metric that was asked for, by name.

    Propensity-scored metrics are left out where no training counts are given.
    """
    if not ks or min(ks) < 1:
        raise ConfigError(f"ks must be one or more numbers of at least 1, not {tuple(ks)!r}")
    for name in metrics:
        if name not in RANKING and name not in WHOLE_SET:
            known = ", ".join([*RANKING, *WHOLE_SET])
            raise ConfigError(f"there is no metric {name!r}; there are {known}")
    if train_counts is not None and n_train is None:
        raise ConfigError("train_counts needs n_train: the number of training texts")
    judged = judge(
        predictions,
        truth,
        max(ks),
        train=train,
        train_counts=train_counts,
        n_train=n_train,
        propensity=propensity,
    )
    scores = {
        f"{name}@{k}": RANKING[name](judged, k)
        for name in metrics
        if name in RANKING and (judged.inverse_propensity is not None or name not in NEED_PROPENSITY)
        for k in ks
    }
    if threshold is not None:
        scores |= _decision_scores(judged, threshold)
    return judged, scores


def document_scores(
    predictions: Predictions, truth: Dataset, **options: Unpack[Options]
) -> dict[str, DocumentScores]:
    """Numerators and denominators of each document for every metric that has them (see the table above)."""
    return judge_for_metrics(predictions, truth, **options)[1]


def _decision_scores(judged: Judged, threshold: float) -> dict[str, DocumentScores]:
    chosen = judged.predictions.above(threshold)
    right = np.bincount(chosen.rows[hits(chosen, judged.truth)], minlength=len(chosen)).astype(np.float64)
    decided, true = chosen.counts.astype(np.float64), judged.true_counts.astype(np.float64)
    return {
        "micro-P": DocumentScores(right, decided),
        "micro-R": DocumentScores(right, true),
        "micro-F1": DocumentScores(2 * right, true + decided),
        "sample-F1": _mean(ratio(2 * right, true + decided)),
    }
