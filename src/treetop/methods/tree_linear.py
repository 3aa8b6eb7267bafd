"""`TreeLinear`: linear classifiers on one or more label trees, the base of all methods on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import sparse

from ..config import part, setting
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..errors import ConfigError
from ..explanation import Explanation
from ..features.text_features import TextFeatures
from ..linear import Forest, LinearConfig
from ..linear.config import COST_SPACE, USE_RELEVANCE
from ..linear.explain_path import explain_forest
from ..linear.update import UpdateConfig, updated
from ..ranked import Ranked
from ..tree import LabelTree, TreeConfig, member_seeds, trees_of
from ..tree.growth import grown_trees
from .base import Method
from .feature_config import TFIDF_SPACE, FeatureConfig

TREE_SPACE = TFIDF_SPACE | COST_SPACE | {"linear.beam": (10, 20, 50)}
"""Settings for tuning that all kinds of label trees share."""


def number_of_trees(count: int) -> Any:
    """The setting ``trees`` with the default ``count``."""
    return setting(
        count, "label trees from different seeds, whose scores are averaged", at_least=1, at_most=100
    )


@dataclass(frozen=True)
class TreeLinearConfig(FeatureConfig):
    """Settings of all linear methods on label trees; each method has its own defaults."""

    tree: TreeConfig = part(TreeConfig(), "the label tree")
    linear: LinearConfig = part(LinearConfig(), "classifiers and search")
    trees: int = number_of_trees(1)
    update: UpdateConfig = part(UpdateConfig(), "updates of a trained model")

    def check(self) -> None:
        super().check()
        scale = self.linear.transforms(1)[0]
        if self.trees > 1 and (scale == "raw" or scale.startswith("log-")):
            raise ConfigError(
                f"averaging several trees needs scores from 0 to 1, which transform={scale} does not return:"
                " set trees=1, or another transform"
            )


class TreeLinear(Method):
    """Parts: ``features`` of texts, and a ``forest`` of label trees with a classifier per node."""

    weighs_examples = True
    how_to_use_relevance = USE_RELEVANCE
    config: TreeLinearConfig
    features = TextFeatures(None, 0)
    forest: Forest | None = None

    tfidf = renamed_attribute("tfidf", "features.tfidf")
    n_features = renamed_attribute("n_features", "features.n_features")
    kept = renamed_attribute("kept", "features.kept")

    @property
    def takes_texts(self) -> bool:
        return self.features.of_texts

    @property
    def uses_relevance(self) -> bool:
        return self.config.linear.uses_relevance

    @property
    def tree(self) -> LabelTree:
        """The label tree of the trained model, or the first of several."""
        self.check_trained()
        assert self.forest is not None
        return self.forest.models[0].tree

    def _fit(
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        negatives: sparse.csr_matrix | None = None,
    ) -> None:
        """``tree``: your own or label clusters, see `as_tree`; ``negatives``: like Y, for negatives=given."""
        X = self._fit_features(dataset)
        self.forest = self._fit_forest(dataset, X, tree, negatives)

    def _fit_features(self, dataset: Dataset) -> sparse.csr_matrix:
        self.features, X = TextFeatures.fit(
            dataset, self.config.tfidf, keeps_data=self.config.keep_data, threads=self.threads
        )
        return X

    def _fit_forest(
        self,
        dataset: Dataset,
        X: sparse.csr_matrix,
        tree: LabelTree | None,
        negatives: sparse.csr_matrix | None,
    ) -> Forest:
        config, threads = self.config, self.threads
        seeds = member_seeds(config.seed, config.trees)
        texts = self._label_text_vectors(dataset)
        trees = (
            [tree]
            if tree is not None
            else trees_of(
                X,
                dataset.Y,
                config.tree,
                seeds=seeds,
                text_vectors=texts,
                weights=dataset.weights,
                threads=threads,
            )
        )
        return Forest.fit(
            X,
            dataset.weighted_labels,
            trees,
            config.linear,
            negatives=negatives,
            weights=dataset.weights,
            seed=config.seed,
            threads=threads,
        )

    def _label_text_vectors(self, dataset: Dataset) -> sparse.csr_matrix | None:
        """Features of the labels' own texts, or given ones, if the tree is built from them."""
        if not self.config.tree.needs_label_texts:
            return None
        return self.features.of_labels(dataset, threads=self.threads)

    def _update(
        self,
        new: Dataset,
        old: Dataset | None,
        *,
        new_positives: float | None = None,
        new_examples: float | None = None,
    ) -> None:
        """``new_positives`` and ``new_examples`` override the settings for this update."""
        X, Y, known = self.features.with_old_examples(
            new, old, name=self.name, count=self.statistics["examples"], threads=self.threads
        )
        self._grow(new, X, Y, known, self.config.update.with_limits(new_positives, new_examples))
        self.features.keep(X, Y)

    def _grow(
        self, dataset: Dataset, X: sparse.csr_matrix, Y: sparse.csr_matrix, known: int, limits: UpdateConfig
    ) -> None:
        """Updates the forest to all examples, the first ``known`` of them old; ``dataset`` has the texts."""
        assert self.forest is not None
        models, config = self.forest.models, self.config
        trees = grown_trees(
            [model.tree for model in models],
            X,
            Y,
            config.tree,
            text_vectors=self._label_text_vectors(dataset),
            seed=config.seed,
            threads=self.threads,
        )
        seeds = member_seeds(config.seed, len(models))
        self.forest = Forest(
            [
                updated(model, tree, X, Y, known, limits, seed=seed, threads=self.threads)
                for model, tree, seed in zip(models, trees, seeds, strict=True)
            ]
        )

    def _rank(self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None) -> Ranked:
        assert self.forest is not None
        X = self.features.rows(dataset, threads=self.threads)
        return self.forest.rank(X, k, beam=beam, threads=self.threads)

    def _explain(self, dataset: Dataset, label: int, *, beam: tuple[int, ...] | None = None) -> Explanation:
        return self._explain_linear(dataset, label, beam, k=1)

    def _explain_linear(
        self, dataset: Dataset, label: int, beam: tuple[int, ...] | None, k: int
    ) -> Explanation:
        """The forest's score when ``k`` labels are ranked."""
        assert self.forest is not None
        terms, threads = self.features.terms(dataset, threads=self.threads), self.threads
        return explain_forest(self.forest, terms, label, self.node_title, k=k, beam=beam, threads=threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.forest is not None
        return self.forest.state() | self.features.state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config, labels = self.config, len(self.known_labels)
        self.features = TextFeatures.from_state(
            arrays, config.tfidf, keeps_data=config.keep_data, labels=labels
        )
        self.forest = Forest.from_state(arrays, config.linear, self.features.n_features)
        for model in self.forest.models:
            model.tree.check_ids(labels)
