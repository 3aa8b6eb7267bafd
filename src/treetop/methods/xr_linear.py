"""XR-Linear: TF-IDF, a balanced k-way label tree, squared-hinge classifiers per level, beam search.

Yu, Zhong, Zhang, Chang, Dhillon: "PECOS: Prediction for Enormous and Correlated Output Spaces", JMLR 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import store
from ..config import part
from ..data import Dataset
from ..errors import ConfigError, DataError
from ..features import Tfidf, TfidfConfig
from ..linear import LinearConfig, TreeModel
from ..progress import step
from ..strings import Strings
from ..tree import LabelTree, TreeConfig, build_tree, label_vectors, pifa
from .base import Method, MethodConfig, Ranked


@dataclass(frozen=True)
class XRLinearConfig(MethodConfig):
    """Settings of XR-Linear."""

    tfidf: TfidfConfig = part(TfidfConfig(ngram_max=2, min_df=2, saturation=15), "features of texts")
    tree: TreeConfig = part(TreeConfig(), "the label tree")
    linear: LinearConfig = part(LinearConfig(), "classifiers and search")


class XRLinear(Method):
    """Trains in seconds to minutes on a CPU; takes texts, or feature matrices with unit rows."""

    name = "xr-linear"
    config_class = XRLinearConfig
    config: XRLinearConfig

    tfidf: Tfidf | None = None
    model: TreeModel | None = None

    @property
    def takes_texts(self) -> bool:
        return self.tfidf is not None

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
        assert dataset.Y is not None
        if dataset.X is not None:
            tfidf, X = None, dataset.X
        else:
            assert dataset.texts is not None
            tfidf, X = self._fit_tfidf(dataset.texts)
        if tree is None:
            tree = self._build_tree(dataset, X, tfidf)
        self.model = TreeModel.fit(
            X, dataset.Y, tree, config.linear, negatives=negatives, seed=config.seed, threads=self.threads
        )
        self.tfidf = tfidf

    def _fit_tfidf(self, texts: Strings) -> tuple[Tfidf, sparse.csr_matrix]:
        """Where so few texts share no term, each text keeps its own terms."""
        with step("TF-IDF") as progress:
            try:
                tfidf = Tfidf(self.config.tfidf)
                return tfidf, tfidf.fit_transform(texts, self.threads, progress)
            except (ConfigError, DataError) as error:
                if self.config.tfidf.min_df <= 1 or (isinstance(error, ConfigError) and len(texts) > 1):
                    raise
                tfidf = Tfidf(self.config.tfidf.replace_settings({"min_df": 1}))
                return tfidf, tfidf.fit_transform(texts, self.threads, progress)

    def _build_tree(self, dataset: Dataset, X: sparse.csr_matrix, tfidf: Tfidf | None) -> LabelTree:
        """A tree over the labels that have examples; the others could never be learned."""
        config = self.config.tree
        used = np.flatnonzero(dataset.label_counts)
        assert dataset.Y is not None
        vectors = pifa(X, dataset.Y[:, used], share_rows=config.share_rows, threads=self.threads)
        text_vectors = None
        if dataset.label_texts is not None and tfidf is not None and config.vectors != "pifa":
            text_vectors = tfidf.transform(dataset.label_texts.take(used), threads=self.threads)
        tree = build_tree(
            label_vectors(config, vectors, text_vectors), config, seed=self.config.seed, threads=self.threads
        )
        return LabelTree(tree.offsets, used[tree.labels].astype(np.int32))

    def _rank(  # type: ignore[override]
        self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None
    ) -> Ranked:
        assert self.model is not None
        return self.model.rank(self._features(dataset), k, beam=beam, threads=self.threads)

    def _features(self, dataset: Dataset) -> sparse.csr_matrix:
        if self.tfidf is None:
            return dataset.X
        assert dataset.texts is not None
        return self.tfidf.transform(dataset.texts, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.model is not None
        arrays = self.model.state() | {"n_features": np.array([self.model.n_features])}
        if self.tfidf is not None:
            arrays |= store.with_prefix("tfidf", self.tfidf.state())
        return arrays

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.model = TreeModel.from_state(arrays, self.config.linear, int(arrays["n_features"][0]))
        self.model.tree.check_ids(len(self._fitted()))
        tfidf = store.under_prefix("tfidf", arrays)
        self.tfidf = Tfidf.from_state(self.config.tfidf, tfidf) if tfidf else None
