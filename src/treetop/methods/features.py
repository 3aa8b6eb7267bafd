"""`FeatureMethod`: a method on feature vectors, which turns texts into TF-IDF itself."""

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
from ..features.text_terms import TextTerms
from ..linear.forest import member_seeds
from ..progress import step
from ..sparse import Rows, csr_arrays
from ..strings import Strings
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .base import Method, MethodConfig


@dataclass(frozen=True)
class FeatureConfig(MethodConfig):
    """Settings of every method on TF-IDF features."""

    tfidf: TfidfConfig = part(TfidfConfig(ngram_max=2, min_df=2, saturation=15), "features of texts")


class FeatureMethod(Method):
    """Takes texts, or feature matrices with unit rows.

    A method calls `_fit_features` first in its ``_fit`` and `_features` in its ``_rank``, and joins
    `_feature_state` to its state and hands it to `_restore_features`.
    """

    config: FeatureConfig
    tfidf: Tfidf | None = None
    n_features: int = 0

    @property
    def takes_texts(self) -> bool:
        return self.tfidf is not None

    def _fit_features(self, dataset: Dataset) -> sparse.csr_matrix:
        """The features of the training set; texts teach the vocabulary."""
        self.tfidf = None
        X = dataset.X
        if X is None:
            assert dataset.texts is not None
            X = self._fit_tfidf(dataset.texts)
        self.n_features = X.shape[1]
        return X

    def _fit_tfidf(self, texts: Strings) -> sparse.csr_matrix:
        """Where so few texts share no term, each text keeps its own terms."""
        config = self.config.tfidf
        with step("TF-IDF") as progress:
            try:
                tfidf = Tfidf(config)
                X = tfidf.fit_transform(texts, self.threads, progress)
            except (ConfigError, DataError) as error:
                if config.min_df <= 1 or (isinstance(error, ConfigError) and len(texts) > 1):
                    raise
                tfidf = Tfidf(config.replace_settings({"min_df": 1}))
                X = tfidf.fit_transform(texts, self.threads, progress)
        self.tfidf = tfidf
        return X

    def _features(self, dataset: Dataset) -> Rows:
        """The features of new texts, or the given ones."""
        if self.tfidf is not None:
            assert dataset.texts is not None
            return self.tfidf.rows(dataset.texts, threads=self.threads)
        X = dataset.X
        assert X is not None
        if X.shape[1] != self.n_features:
            raise DataError(f"the model takes {self.n_features:,} features but the input has {X.shape[1]:,}")
        return X

    def _terms(self, dataset: Dataset) -> TextTerms:
        """The features of the only row of ``dataset``, by name."""
        X = csr_arrays(self._features(dataset))
        if self.tfidf is None or dataset.texts is None:
            return TextTerms(X)
        return TextTerms.of_text(dataset.texts[0], X, self.tfidf)

    def _title(self, tree: LabelTree, level: int, node: int) -> str:
        """A label by its name; a cluster by the readable texts of its labels, where there are some."""
        names = self._fitted()
        if level + 1 < tree.depth and self.label_texts is not None:
            names = self.label_texts
        return tree.title(level, node, names, self.label_counts)

    def _grow_trees(
        self, dataset: Dataset, X: sparse.csr_matrix, config: TreeConfig, count: int = 1
    ) -> list[LabelTree]:
        """Label trees of the training set, the first from the method's own seed."""
        assert dataset.Y is not None
        texts = None
        if dataset.label_texts is not None and self.tfidf is not None and config.vectors not in FROM_EXAMPLES:
            texts = self.tfidf.transform(dataset.label_texts, threads=self.threads)
        seeds = member_seeds(self.config.seed, count)
        return trees_of(X, dataset.Y, config, seeds=seeds, text_vectors=texts, threads=self.threads)

    def _feature_state(self) -> dict[str, npt.NDArray]:
        arrays: dict[str, npt.NDArray] = {"n_features": np.array([self.n_features])}
        if self.tfidf is not None:
            arrays |= store.with_prefix("tfidf", self.tfidf.state())
        return arrays

    def _restore_features(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.n_features = int(arrays["n_features"][0])
        tfidf = store.under_prefix("tfidf", arrays)
        self.tfidf = Tfidf.from_state(self.config.tfidf, tfidf) if tfidf else None
