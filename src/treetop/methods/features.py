"""`FeatureMethod`: a method on feature vectors, which turns texts into TF-IDF itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import typed, under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError, DataError, ModelError
from ..features import Tfidf, TfidfConfig
from ..features.text_terms import TextTerms
from ..progress import step
from ..search_space import SearchSpace
from ..sparse import Rows, around, csr_arrays
from ..strings import Strings
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, member_seeds, trees_of
from ..tree.growth import nearest_clusters, with_labels
from ..tree.label_vectors import used_vectors
from .base import Method, MethodConfig

TFIDF_SPACE: SearchSpace = {
    "tfidf.ngram_max": (1, 2),
    "tfidf.min_df": (1, 2, 3),
    "tfidf.saturation": (None, 5, 15, 50),
}
"""Worth trying where texts are turned into features."""


USUAL_TFIDF = TfidfConfig(ngram_max=2, min_df=2, saturation=15, first_line=4)


@dataclass(frozen=True)
class FeatureConfig(MethodConfig):
    """Settings of every method on TF-IDF features."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "features of texts")
    keep_data: bool = setting(
        False, "keep the features and labels of the training examples, so that an update needs no old data"
    )

    def check(self) -> None:
        if self.keep_data and self.label_examples:
            raise ConfigError("keep_data is for updates, which label_examples rules out: choose one")


class FeatureMethod(Method):
    """Takes texts, or feature matrices with unit rows.

    A method calls `_fit_features` first in its ``_fit`` and `_features` in its ``_rank``, and joins
    `_feature_state` to its state and hands it to `_restore_features`.
    """

    config: FeatureConfig
    tfidf: Tfidf | None = None
    n_features: int = 0
    kept: tuple[sparse.csr_matrix, sparse.csr_matrix] | None = None
    """Features and labels of the training examples, where the setting ``keep_data`` is on."""

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
        self._keep(X, dataset.Y)
        return X

    def _keep(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        self.kept = (X, Y) if self.config.keep_data else None

    def _all_examples(
        self, new: Dataset, old: Dataset | None
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix, int]:
        """``X, Y, known``: features and labels of all examples, of which the first ``known`` are old."""
        if old is not None:
            before = self._matrix(old), old.Y
        elif self.kept is not None:
            before = _intact(*self.kept, self.statistics["examples"])
        else:
            raise DataError(
                f"an update of {self.name} needs the examples that the model was trained on: give them too,"
                " or train with keep_data=true"
            )
        X = sparse.vstack([before[0], self._matrix(new)], format="csr")
        known = before[0].shape[0]
        wider = sparse.csr_matrix(before[1], shape=(known, len(new.labels)))
        return X, sparse.vstack([wider, new.Y], format="csr"), known

    def _matrix(self, dataset: Dataset) -> sparse.csr_matrix:
        """The features of examples as a matrix."""
        rows = self._features(dataset)
        if not isinstance(rows, tuple):
            return rows
        return sparse.csr_matrix((rows[2], rows[1], rows[0]), shape=(len(dataset), self.n_features))

    def _grown_trees(
        self,
        dataset: Dataset,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        config: TreeConfig,
        trees: list[LabelTree],
    ) -> list[LabelTree]:
        """The trees with the labels of ``Y`` that they lack, each in the lowest cluster most like it."""
        used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        new = np.setdiff1d(used, trees[0].labels)
        if not len(new):
            return trees
        flat = np.zeros(len(new), np.int64)
        if all(tree.depth == 1 for tree in trees):
            return [with_labels(tree, new, flat) for tree in trees]
        texts = self._label_text_vectors(dataset, config)
        used, vectors = used_vectors(X, Y, config, text_vectors=texts, threads=self.threads)
        return [with_labels(tree, new, nearest_clusters(tree, new, used, vectors)) for tree in trees]

    def _label_text_vectors(self, dataset: Dataset, config: TreeConfig) -> sparse.csr_matrix | None:
        """Features of the labels' own texts, where the tree is to be made of them."""
        if dataset.label_texts is None or self.tfidf is None or config.vectors in FROM_EXAMPLES:
            return None
        return self.tfidf.transform(dataset.label_texts, threads=self.threads)

    def _fit_tfidf(self, texts: Strings) -> sparse.csr_matrix:
        self.tfidf, X = fitted_tfidf(self.config.tfidf, texts, self.threads)
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
        texts = self._label_text_vectors(dataset, config)
        seeds = member_seeds(self.config.seed, count)
        return trees_of(X, dataset.Y, config, seeds=seeds, text_vectors=texts, threads=self.threads)

    def _feature_state(self) -> dict[str, npt.NDArray]:
        arrays: dict[str, npt.NDArray] = {"n_features": np.array([self.n_features])}
        if self.tfidf is not None:
            arrays |= with_prefix("tfidf", self.tfidf.state())
        for name, matrix in zip(("X", "Y"), self.kept or (), strict=False):
            indptr, indices, data = csr_arrays(matrix)
            arrays |= with_prefix(f"data.{name}", {"indptr": indptr, "indices": indices, "data": data})
        return arrays

    def _restore_features(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.n_features = int(arrays["n_features"][0])
        tfidf = under_prefix("tfidf", arrays)
        self.tfidf = Tfidf.from_state(self.config.tfidf, tfidf) if tfidf else None
        if self.config.keep_data:
            columns = {"X": self.n_features, "Y": len(self._fitted())}
            X, Y = (_stored_matrix(name, arrays, count) for name, count in columns.items())
            self.kept = X, Y


def fitted_tfidf(config: TfidfConfig, texts: Strings, threads: int) -> tuple[Tfidf, sparse.csr_matrix]:
    """The vocabulary of the texts and their features. Where few texts share no term, each keeps its own."""
    with step("TF-IDF") as progress:
        try:
            tfidf = Tfidf(config)
            X = tfidf.fit_transform(texts, threads, progress)
        except (ConfigError, DataError) as error:
            if config.min_df <= 1 or (isinstance(error, ConfigError) and len(texts) > 1):
                raise
            tfidf = Tfidf(config.replace_settings({"min_df": 1}))
            X = tfidf.fit_transform(texts, threads, progress)
    return tfidf, X


_MATRIX_ARRAYS: dict[str, type[np.generic]] = {"indptr": np.int64, "indices": np.int32, "data": np.float32}


def _stored_matrix(name: str, arrays: Mapping[str, npt.NDArray], columns: int) -> sparse.csr_matrix:
    """A matrix of the training examples, left on the disk until an update reads it."""
    plain = typed(under_prefix(f"data.{name}", arrays), _MATRIX_ARRAYS)
    return around(**plain, shape=(len(plain["indptr"]) - 1, columns), checked=False)


def _intact(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, examples: int
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    try:
        for matrix in (X, Y):
            matrix.check_format(full_check=True)
            if matrix.shape[0] != examples:
                raise ValueError(f"{matrix.shape[0]:,} rows for {examples:,} examples")
    except ValueError as error:
        raise ModelError(f"the training examples that the model keeps are damaged ({error})") from None
    return X, Y
