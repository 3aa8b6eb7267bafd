"""Ranking metrics as a numerator and a denominator per document.

The value over a set of documents is Σ numerators / Σ denominators: a mean if the denominators are 1, a ratio
of sums over the corpus if not. One mechanism then serves means, confidence intervals and paired tests.

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
PSnDCG@k   Σ_{j≤k} [r(j) ∈ y] / (p_r(j)·log2(j+1))        the same for y sorted by decreasing 1/p_ℓ
           divided by Σ_{j≤min(k,|y|)} 1 / log2(j+1)
PSR@k      Σ_{j≤k} [r(j) ∈ y] / p_r(j)                    Σ of 1/p_ℓ over all ℓ ∈ y
PSPraw@k   Σ_{j≤k} [r(j) ∈ y] / p_r(j) / k                1
micro-P    |y ∩ d|, d = labels above the threshold        |d|
micro-R    |y ∩ d|                                        |y|
micro-F1   2·|y ∩ d|                                      |y| + |d|
sample-F1  2·|y ∩ d| / (|y| + |d|), 0/0 := 0              1
=========  =============================================  ==============================================

Conventions:

- If fewer than k labels are predicted, the absent ones count as wrong: P@k always divides by k.
- A document without true labels counts as zero in P@k, F1@k, PSPraw@k and sample-F1; the other metrics leave
  it out.
- PSnDCG@k is that of xclib and napkinXC: gains and ideal gains of each document are divided by the
  document's ideal DCG before they are added up. PSR@k is a ratio of plain sums over all true labels; xclib's
  and napkinXC's divides the sums of each document by |y| first, and its ideal has at most k labels.
- True labels that training never saw stay in the truth: they are misses, and count in every denominator.
- PSP@k, PSnDCG@k and PSR@k are normalised by the best attainable value and cannot exceed 100 %. PSPraw@k, the
  formula that some papers print, is not normalised and can. PSR@k estimates micro recall, the share of all
  relevant labels found, as it would be with no true label missing from the annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..errors import ConfigError
from ..predictions import Predictions
from .matching import Floats, MatchedPredictions, hits, match_truth
from .propensity import DEFAULT_PROPENSITY

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class DocumentScores:
    """One metric: its numerator and denominator for each document."""

    numerator: Floats
    denominator: Floats

    @property
    def value(self) -> float:
        """Σ numerators / Σ denominators in percent; 0/0 := 0."""
        return float(percent(self.numerator.sum(), self.denominator.sum()))


def mean_scores(runs: Sequence[Mapping[str, DocumentScores]]) -> dict[str, DocumentScores]:
    """The scores of each document, averaged over several runs on the same documents.

    Denominators depend on the truth alone, so these scores have the mean of the runs' values.
    """
    return {
        name: DocumentScores(np.mean([run[name].numerator for run in runs], axis=0), first.denominator)
        for name, first in runs[0].items()
    }


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


def _ideal_dcg(matched: MatchedPredictions, k: int) -> Floats:
    """Σ_{j≤min(k,|y|)} 1/log2(j+1): the DCG of a ranking that begins with the true labels."""
    sums = np.concatenate([[0.0], np.cumsum(_discounts(k))])
    return np.asarray(sums[np.minimum(matched.true_counts, k)])


def _mean(values: Floats) -> DocumentScores:
    return DocumentScores(values, np.ones(len(values)))


def _mean_over_labelled(values: Floats, matched: MatchedPredictions) -> DocumentScores:
    return DocumentScores(values, (matched.true_counts > 0).astype(np.float64))


def _hit_counts(matched: MatchedPredictions, k: int) -> Floats:
    return np.asarray(matched.hits[:, :k].sum(axis=1))


def precision(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean(_hit_counts(matched, k) / k)


def recall(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean_over_labelled(ratio(_hit_counts(matched, k), matched.true_counts), matched)


def f1(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean(2 * _hit_counts(matched, k) / (k + matched.true_counts))


def r_precision(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean_over_labelled(ratio(_hit_counts(matched, k), np.minimum(matched.true_counts, k)), matched)


def ndcg(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean_over_labelled(ratio(matched.hits[:, :k] @ _discounts(k), _ideal_dcg(matched, k)), matched)


def ps_precision(matched: MatchedPredictions, k: int) -> DocumentScores:
    return DocumentScores(matched.gains[:, :k].sum(axis=1), matched.ideal_gains[:, :k].sum(axis=1))


def ps_ndcg(matched: MatchedPredictions, k: int) -> DocumentScores:
    discounts, ideal = _discounts(k), _ideal_dcg(matched, k)
    return DocumentScores(
        ratio(matched.gains[:, :k] @ discounts, ideal), ratio(matched.ideal_gains[:, :k] @ discounts, ideal)
    )


def ps_recall(matched: MatchedPredictions, k: int) -> DocumentScores:
    return DocumentScores(matched.gains[:, :k].sum(axis=1), matched.true_gains)


def ps_precision_raw(matched: MatchedPredictions, k: int) -> DocumentScores:
    return _mean(matched.gains[:, :k].sum(axis=1) / k)


RANKING: dict[str, Callable[[MatchedPredictions, int], DocumentScores]] = {
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
"""Metrics of the whole test set, which are not sums over documents."""
DEFAULT_KS = (1, 3, 5)
DEFAULT_METRICS = ("P", "R", "F1", "RP", "nDCG", "PSP", "PSnDCG", "PSR", *WHOLE_SET)
MORE_IS_BETTER = tuple(name for name in DEFAULT_METRICS if name != "ECE")


def parse_metric(text: str) -> tuple[str, int]:
    """``"nDCG@5"`` → ``("nDCG", 5)``: a metric to select models by."""
    name, _, k = text.partition("@")
    if name not in MORE_IS_BETTER or not k.isascii() or not k.isdigit() or int(k) < 1:
        known = ", ".join(f"{name}@1" for name in MORE_IS_BETTER)
        raise ConfigError(f"metric must be one of {known}, or the same at another rank, not {text!r}")
    return name, int(k)


def check_ks(ks: Sequence[int]) -> None:
    """Rejects ranks that do not exist."""
    if not ks or min(ks) < 1:
        raise ConfigError(f"ks must be one or more numbers of at least 1, not {tuple(ks)!r}")


class Options(TypedDict, total=False):
    """The options of `evaluate` and of everything built on its metrics; see `evaluate`."""

    train: Dataset | None
    train_counts: npt.ArrayLike | None
    n_train: int | None
    ks: Sequence[int]
    propensity: tuple[float, float]
    threshold: float | None
    metrics: Sequence[str]


def match_and_score(
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
) -> tuple[MatchedPredictions, dict[str, DocumentScores]]:
    """The matched predictions, and each requested metric that is a sum over documents, by name.

    Propensity-scored metrics need training counts, and are left out without them.
    """
    check_ks(ks)
    for name in metrics:
        if name not in RANKING and name not in WHOLE_SET:
            known = ", ".join([*RANKING, *WHOLE_SET])
            raise ConfigError(f"there is no metric {name!r}; choose from {known}")
    if train_counts is not None and n_train is None:
        raise ConfigError("train_counts needs n_train: the number of training texts")
    matched = match_truth(
        predictions,
        truth,
        max(ks),
        train=train,
        train_counts=train_counts,
        n_train=n_train,
        propensity=propensity,
    )
    scores = {
        f"{name}@{k}": RANKING[name](matched, k)
        for name in metrics
        if name in RANKING and (matched.inverse_propensity is not None or name not in NEED_PROPENSITY)
        for k in ks
    }
    if threshold is not None:
        scores |= _decision_scores(matched, threshold)
    return matched, scores


def document_scores(
    predictions: Predictions, truth: Dataset, **options: Unpack[Options]
) -> dict[str, DocumentScores]:
    """Each metric's numerators and denominators, one per document (see the table above)."""
    return match_and_score(predictions, truth, **options)[1]


def _decision_scores(matched: MatchedPredictions, threshold: float) -> dict[str, DocumentScores]:
    chosen = matched.predictions.above(threshold)
    correct = np.bincount(chosen.rows[hits(chosen, matched.truth)], minlength=len(chosen)).astype(np.float64)
    decided, true = chosen.counts.astype(np.float64), matched.true_counts.astype(np.float64)
    return {
        "micro-P": DocumentScores(correct, decided),
        "micro-R": DocumentScores(correct, true),
        "micro-F1": DocumentScores(2 * correct, true + decided),
        "sample-F1": _mean(ratio(2 * correct, true + decided)),
    }
