"""DiSMEC: one squared-hinge classifier per label against all texts, without small weights.

Babbar, Schölkopf: "DiSMEC: Distributed Sparse Machines for Extreme Multi-label Classification", WSDM 2017.
With ``regulariser="l1"`` it is ProXML (Babbar, Schölkopf: "Data scarcity, robustness and extreme multi-label
classification", Machine Learning 2019), and with ``refit`` too it resembles PPD-Sparse (Yen, Huang, Dai,
Ravikumar, Dhillon, Xing: "PPDsparse: A Parallel Primal-Dual Sparse Method for Extreme Classification", KDD
2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..config import part
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..explanation import Explanation
from ..features.text_features import TextFeatures
from ..linear import LinearConfig, TreeModel
from ..linear.config import COST_SPACE, USE_RELEVANCE
from ..linear.explain_path import explain_path
from ..linear.update import UpdateConfig, updated
from ..ranked import Ranked
from ..tree import LabelTree
from ..tree.growth import with_labels
from .base import Method
from .feature_config import TFIDF_SPACE, FeatureConfig


@dataclass(frozen=True)
class DiSMECConfig(FeatureConfig):
    """Settings of DiSMEC. Ignores beams and negatives: it scores all labels, and all texts are negatives."""

    linear: LinearConfig = part(LinearConfig(threshold=0.01, transform="raw"), "classifiers")
    update: UpdateConfig = part(UpdateConfig(), "updates of a trained model")


class DiSMEC(Method):
    """Training time grows with texts × labels: for tens of thousands of labels. Scores are raw margins."""

    name = "dismec"
    config_class = DiSMECConfig
    search_space = TFIDF_SPACE | COST_SPACE
    weighs_examples = True
    how_to_use_relevance = USE_RELEVANCE
    config: DiSMECConfig
    features = TextFeatures(None, 0)
    model: TreeModel | None = None

    tfidf = renamed_attribute("tfidf", "features.tfidf")
    n_features = renamed_attribute("n_features", "features.n_features")
    kept = renamed_attribute("kept", "features.kept")

    @property
    def takes_texts(self) -> bool:
        return self.features.of_texts

    @property
    def uses_relevance(self) -> bool:
        return self.config.linear.uses_relevance

    def _fit(self, dataset: Dataset) -> None:
        self.features, X = TextFeatures.fit(
            dataset, self.config.tfidf, keeps_data=self.config.keep_data, threads=self.threads
        )
        labels = LabelTree.flat(np.flatnonzero(dataset.label_counts).astype(np.int32))
        config = self.config
        self.model = TreeModel.fit(
            X,
            dataset.weighted_labels,
            labels,
            config.linear,
            weights=dataset.weights,
            seed=config.seed,
            threads=self.threads,
        )

    def _update(
        self,
        new: Dataset,
        old: Dataset | None,
        *,
        new_positives: float | None = None,
        new_examples: float | None = None,
    ) -> None:
        """``new_positives`` and ``new_examples`` override the settings for this update."""
        assert self.model is not None
        X, Y, known = self.features.with_old_examples(
            new, old, name=self.name, count=self.statistics["examples"], threads=self.threads
        )
        used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        labels = np.setdiff1d(used, self.model.tree.labels)
        tree = with_labels(self.model.tree, labels, np.zeros(len(labels), np.int64))
        limits = self.config.update.with_limits(new_positives, new_examples)
        self.model = updated(
            self.model, tree, X, Y, known, limits, seed=self.config.seed, threads=self.threads
        )
        self.features.keep(X, Y)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:
        assert self.model is not None
        X = self.features.rows(dataset, threads=self.threads)
        return self.model.rank(X, k, threads=self.threads)

    def _explain(self, dataset: Dataset, label: int) -> Explanation:
        assert self.model is not None
        terms = self.features.terms(dataset, threads=self.threads)
        return explain_path(self.model, terms, label, self.node_title, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.model is not None
        return self.model.state() | self.features.state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config, labels = self.config, len(self.known_labels)
        self.features = TextFeatures.from_state(
            arrays, config.tfidf, keeps_data=config.keep_data, labels=labels
        )
        self.model = TreeModel.from_state(arrays, config.linear, self.features.n_features)
        self.model.tree.check_ids(labels)
