"""XR-Linear: TF-IDF, a balanced k-way label tree, squared-hinge classifiers per level, beam search.

Yu, Zhong, Zhang, Chang, Dhillon: "PECOS: Prediction for Enormous and Correlated Output Spaces", JMLR 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..config import part
from ..data import Dataset
from ..linear import LinearConfig, TreeModel
from ..tree import LabelTree, TreeConfig, build_tree, label_vectors, pifa
from .base import Ranked
from .features import FeatureConfig, FeatureMethod


@dataclass(frozen=True)
class XRLinearConfig(FeatureConfig):
    """Settings of XR-Linear."""

    tree: TreeConfig = part(TreeConfig(), "the label tree")
    linear: LinearConfig = part(LinearConfig(), "classifiers and search")


class XRLinear(FeatureMethod):
    """Trains in seconds to minutes on a CPU; takes texts, or feature matrices with unit rows."""

    name = "xr-linear"
    config_class = XRLinearConfig
    config: XRLinearConfig

    model: TreeModel | None = None

    @property
    def tree(self) -> LabelTree:
        """The label tree of the fitted model."""
        self._fitted()
        assert self.model is not None
        return self.model.tree

    def _fit(  # type: ignore[override]  # a method names the options it knows
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        negatives: sparse.csr_matrix | None = None,
    ) -> None:
        """``tree``: your own (see `LabelTree.from_parents`); ``negatives``: like Y, for negatives=given."""
        config = self.config
        X = self._fit_features(dataset)
        if tree is None:
            tree = self._build_tree(dataset, X)
        self.model = TreeModel.fit(
            X, dataset.Y, tree, config.linear, negatives=negatives, seed=config.seed, threads=self.threads
        )

    def _build_tree(self, dataset: Dataset, X: sparse.csr_matrix) -> LabelTree:
        """A tree over the labels that have examples; the others could never be learned."""
        config = self.config.tree
        used = np.flatnonzero(dataset.label_counts)
        assert dataset.Y is not None
        vectors = pifa(
            X,
            dataset.Y[:, used],
            share_rows=config.share_rows,
            size=config.vector_size,
            min_df=config.vector_min_df,
            threads=self.threads,
        )
        text_vectors = None
        if dataset.label_texts is not None and self.tfidf is not None and config.vectors != "pifa":
            text_vectors = self.tfidf.transform(dataset.label_texts.take(used), threads=self.threads)
        tree = build_tree(
            label_vectors(config, vectors, text_vectors), config, seed=self.config.seed, threads=self.threads
        )
        return LabelTree(tree.offsets, used[tree.labels].astype(np.int32))

    def _rank(  # type: ignore[override]
        self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None
    ) -> Ranked:
        assert self.model is not None
        return self.model.rank(self._features(dataset), k, beam=beam, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.model is not None
        return self.model.state() | self._feature_state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self._restore_features(arrays)
        self.model = TreeModel.from_state(arrays, self.config.linear, self.n_features)
        self.model.tree.check_ids(len(self._fitted()))
