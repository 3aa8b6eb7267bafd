"""Ranking metrics as scikit-learn scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..data import Dataset
from ..errors import ConfigError
from ..metrics import evaluate, parse_metric
from ..metrics.documents import NEED_PROPENSITY
from ..predictions import Predictions
from ..strings import Strings
from .classifier import TreetopClassifier
from .targets import read_truth


class _RankingScorer:
    """A class, so that scorers can be pickled and sent to other processes."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.name, self.k = parse_metric(metric)

    def __repr__(self) -> str:
        return f"ranking_scorer({self.metric!r})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        classifier = _classifier_in(estimator)
        truth = read_truth(y, classifier.targets_)
        labels = Strings.numbers(truth.shape[1])
        scores = _stored(estimator.decision_function(X))
        known = scores.shape[1]
        scores = sparse.csr_matrix((scores.data, scores.indices, scores.indptr), shape=truth.shape)
        options: dict[str, Any] = {}
        if self.name in NEED_PROPENSITY:
            counts = np.zeros(truth.shape[1], np.int64)
            counts[:known] = classifier.model_.label_counts
            options = {"train_counts": counts, "n_train": classifier.model_.statistics["examples"]}
        found = evaluate(
            Predictions.from_csr(scores, labels, self.k),
            Dataset(
                labels=labels, X=sparse.csr_matrix((truth.shape[0], 1), dtype=np.float32), Y=truth, source="y"
            ),
            ks=(self.k,),
            metrics=(self.name,),
            **options,
        )
        return found[self.metric] / 100


def ranking_scorer(metric: str) -> _RankingScorer:
    """A scorer for ``cross_val_score``, ``GridSearchCV`` and others: "P@1", "nDCG@5", "PSP@3", … from 0 to 1.

    The estimator is a `TreetopClassifier`, or a pipeline or search that ends with one. The scorer evaluates
    the ranking of `decision_function`, not the number of labels that `predict` returns.
    """
    return _RankingScorer(metric)


def _classifier_in(estimator: Any) -> TreetopClassifier:
    while not isinstance(estimator, TreetopClassifier):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            raise ConfigError(f"a ranking scorer needs a TreetopClassifier, not {type(estimator).__name__}")
    return estimator


def _stored(scores: Any) -> sparse.csr_matrix:
    """Scores with all entries stored, also zeros, which rank above negative scores."""
    if sparse.issparse(scores):
        return sparse.csr_matrix(scores)
    if scores.ndim == 1:  # two classes: the score of the second
        scores = np.column_stack([-scores, scores])
    rows, columns = scores.shape
    indptr = np.arange(rows + 1) * columns
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    return sparse.csr_matrix((scores.ravel(), indices, indptr), shape=(rows, columns))
