"""`TreeLinear`: linear classifiers on one or several label trees; the methods on trees are its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import sparse

from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..explanation import Explanation
from ..linear import Forest, LinearConfig
from ..linear.config import COST_SPACE
from ..linear.explain_path import explain_forest
from ..linear.update import UpdateConfig, updated
from ..ranked import Ranked
from ..tree import LabelTree, TreeConfig, member_seeds
from .features import TFIDF_SPACE, FeatureConfig, FeatureMethod

TREE_SPACE = TFIDF_SPACE | COST_SPACE | {"linear.beam": (10, 20, 50)}
"""Worth trying with every kind of label tree."""


def number_of_trees(count: int) -> Any:
    """The setting ``trees`` with this default."""
    return setting(
        count, "label trees from different seeds, whose scores are averaged", at_least=1, at_most=100
    )


@dataclass(frozen=True)
class TreeLinearConfig(FeatureConfig):
    """Settings of every linear method on label trees; each method has its own defaults."""

    tree: TreeConfig = part(TreeConfig(), "the label tree")
    linear: LinearConfig = part(LinearConfig(), "classifiers and search")
    trees: int = number_of_trees(1)
    update: UpdateConfig = part(UpdateConfig(), "growing a trained model")

    def check(self) -> None:
        super().check()
        scale = self.linear.transforms(1)[0]
        if self.trees > 1 and (scale == "raw" or scale.startswith("log-")):
            raise ConfigError(
                f"several trees average scores from 0 to 1, which transform={scale} does not give"
            )


class TreeLinear(FeatureMethod):
    """TF-IDF, label trees, a classifier per node, beam search."""

    config: TreeLinearConfig
    forest: Forest | None = None

    @property
    def tree(self) -> LabelTree:
        """The label tree of the fitted model; the first, where there are several."""
        self._fitted()
        assert self.forest is not None
        return self.forest.models[0].tree

    def _fit(  # type: ignore[override]  # a method names the options it knows
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        negatives: sparse.csr_matrix | None = None,
    ) -> None:
        """``tree``: your own (see `LabelTree.from_parents`); ``negatives``: like Y, for negatives=given."""
        self.forest = self._fit_forest(dataset, self._fit_features(dataset), tree, negatives)

    def _fit_forest(
        self,
        dataset: Dataset,
        X: sparse.csr_matrix,
        tree: LabelTree | None,
        negatives: sparse.csr_matrix | None,
    ) -> Forest:
        config = self.config
        trees = [tree] if tree is not None else self._grow_trees(dataset, X, config.tree, config.trees)
        return Forest.fit(
            X, dataset.Y, trees, config.linear, negatives=negatives, seed=config.seed, threads=self.threads
        )

    def _update(  # type: ignore[override]
        self,
        new: Dataset,
        old: Dataset | None,
        *,
        new_positives: float | None = None,
        new_examples: float | None = None,
    ) -> None:
        """``new_positives`` and ``new_examples``: other limits than those of the settings, this time."""
        X, Y, known = self._all_examples(new, old)
        self._grow(new, X, Y, known, self.config.update.with_limits(new_positives, new_examples))
        self._keep(X, Y)

    def _grow(
        self, dataset: Dataset, X: sparse.csr_matrix, Y: sparse.csr_matrix, known: int, limits: UpdateConfig
    ) -> None:
        """Takes in all examples, the first ``known`` of them old; ``dataset`` has the label texts."""
        assert self.forest is not None
        models, config = self.forest.models, self.config
        trees = self._grown_trees(dataset, X, Y, config.tree, [model.tree for model in models])
        seeds = member_seeds(config.seed, len(models))
        self.forest = Forest(
            [
                updated(model, tree, X, Y, known, limits, seed=seed, threads=self.threads)
                for model, tree, seed in zip(models, trees, seeds, strict=True)
            ]
        )

    def _rank(  # type: ignore[override]
        self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None
    ) -> Ranked:
        assert self.forest is not None
        return self.forest.rank(self._features(dataset), k, beam=beam, threads=self.threads)

    def _explain(  # type: ignore[override]
        self, dataset: Dataset, label: int, *, beam: tuple[int, ...] | None = None
    ) -> Explanation:
        return self._explain_linear(dataset, label, beam, wanted=1)

    def _explain_linear(
        self, dataset: Dataset, label: int, beam: tuple[int, ...] | None, wanted: int
    ) -> Explanation:
        """Of the forest, as it ranks where ``wanted`` labels are."""
        assert self.forest is not None
        terms, threads = self._terms(dataset), self.threads
        return explain_forest(
            self.forest, terms, label, self._title, wanted=wanted, beam=beam, threads=threads
        )

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.forest is not None
        return self.forest.state() | self._feature_state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self._restore_features(arrays)
        self.forest = Forest.from_state(arrays, self.config.linear, self.n_features)
        for model in self.forest.models:
            model.tree.check_ids(len(self._fitted()))
