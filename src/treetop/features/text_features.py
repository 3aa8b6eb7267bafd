"""`TextFeatures`: TF-IDF of texts or given feature matrices, and perhaps the training examples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..data import Dataset
from ..errors import DataError, ModelError
from ..limits import FEATURES, check_declared
from ..model_arrays import RETRAIN, Numbers, check_equal, checked, of_types, whole_number
from ..sparse import Rows, around, csr_arrays, normalize_rows, structure_flaw
from .text_terms import TextTerms
from .tfidf import Tfidf, TfidfConfig, fitted_tfidf


class TextFeatures:
    """The features of a linear method."""

    def __init__(
        self, tfidf: Tfidf | None, n_features: int, *, keeps_data: bool = False, unit_rows: bool = False
    ) -> None:
        """``unit_rows``: scale the rows of given matrices to unit length."""
        self.tfidf = tfidf
        """None: the inputs have feature matrices."""
        self.n_features = n_features
        self.keeps_data = keeps_data
        self.unit_rows = unit_rows
        self.kept: tuple[sparse.csr_matrix, sparse.csr_matrix] | None = None
        """Features and labels of the training examples, if they are kept for updates."""

    @classmethod
    def fit(
        cls,
        dataset: Dataset,
        config: TfidfConfig,
        *,
        keeps_data: bool = False,
        unit_rows: bool = False,
        threads: int,
    ) -> tuple[TextFeatures, sparse.csr_matrix]:
        """Takes the given features, else learns a vocabulary; also returns the training features."""
        if dataset.X is not None:
            tfidf, X = None, normalize_rows(dataset.X) if unit_rows else dataset.X
        else:
            assert dataset.texts is not None
            tfidf, X = fitted_tfidf(config, dataset.texts, threads)
        features = cls(tfidf, X.shape[1], keeps_data=keeps_data, unit_rows=unit_rows)
        features.keep(X, dataset.Y)
        return features, X

    @property
    def of_texts(self) -> bool:
        """Whether they are computed from texts."""
        return self.tfidf is not None

    def keep(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        """Keeps features and labels of the training examples, if ``keeps_data``."""
        self.kept = (X, Y) if self.keeps_data else None

    def rows(self, dataset: Dataset, *, threads: int) -> Rows:
        """The features of new texts, or the given ones."""
        if self.tfidf is not None:
            assert dataset.texts is not None
            return self.tfidf.rows(dataset.texts, threads=threads)
        X = dataset.X
        if X is None:
            raise DataError(
                f"{dataset.source}: the model was trained on given features but the input has none: give them"
            )
        if X.shape[1] != self.n_features:
            raise DataError(
                f"the model takes {self.n_features:,} features but the input has {X.shape[1]:,}: compute"
                " them as for the training examples"
            )
        return normalize_rows(X) if self.unit_rows else X

    def matrix(self, dataset: Dataset, *, threads: int) -> sparse.csr_matrix:
        """`rows` as a matrix."""
        rows = self.rows(dataset, threads=threads)
        if not isinstance(rows, tuple):
            return rows
        return sparse.csr_matrix((rows[2], rows[1], rows[0]), shape=(len(dataset), self.n_features))

    def terms(self, dataset: Dataset, *, threads: int) -> TextTerms:
        """The features of the only row of ``dataset``, by name."""
        X = csr_arrays(self.rows(dataset, threads=threads))
        if self.tfidf is None or dataset.texts is None:
            return TextTerms(X)
        return TextTerms.of_text(dataset.texts[0], X, self.tfidf)

    def of_labels(
        self, dataset: Dataset, labels: npt.NDArray[np.int64] | None = None, *, threads: int
    ) -> sparse.csr_matrix | None:
        """Features of the labels' own texts, or those given with the data: a row per label of ``labels``.

        None where there are none.
        """
        if self.tfidf is None:
            given = dataset.label_features
            return given if given is None or labels is None else given[labels]
        texts = dataset.label_texts
        if texts is None:
            return None
        return self.tfidf.transform(texts if labels is None else texts.take(labels), threads=threads)

    def with_old_examples(
        self, new: Dataset, old: Dataset | None, *, name: str, count: int, threads: int
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix, int]:
        """``X, Y, known``: features and labels of all examples, the first ``known`` of them old.

        ``old``: the training examples, unless kept; ``count``: their number; ``name`` of the method.
        """
        if old is not None:
            before = self.matrix(old, threads=threads), old.Y
        elif self.kept is not None:
            before = _intact(*self.kept, count)
        else:
            raise DataError(
                f"an update of {name} needs the examples that the model was trained on: give them too,"
                " or train with keep_data=true"
            )
        X = sparse.vstack([before[0], self.matrix(new, threads=threads)], format="csr")
        known = before[0].shape[0]
        wider = sparse.csr_matrix(before[1], shape=(known, len(new.labels)))
        return X, sparse.vstack([wider, new.Y], format="csr"), known

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        arrays: dict[str, npt.NDArray] = {"n_features": np.array([self.n_features])}
        if self.tfidf is not None:
            arrays |= with_prefix("tfidf", self.tfidf.state())
        for name, matrix in zip(("X", "Y"), self.kept or (), strict=False):
            indptr, indices, data = csr_arrays(matrix)
            arrays |= with_prefix(f"data.{name}", {"indptr": indptr, "indices": indices, "data": data})
        return arrays

    def joined_state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store of features that are joined with vectors."""
        if self.tfidf is None:
            return {"given_features": np.array([self.n_features])}
        return with_prefix("tfidf", self.tfidf.state())

    @classmethod
    def from_joined_state(cls, arrays: Mapping[str, npt.NDArray], config: TfidfConfig) -> TextFeatures:
        """The inverse of `joined_state`."""
        if "given_features" in arrays:
            return cls(None, stored_width(arrays, "given_features"), unit_rows=True)
        tfidf = Tfidf.from_state(config, under_prefix("tfidf", arrays))
        return cls(tfidf, tfidf.n_features)

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, npt.NDArray], config: TfidfConfig, *, keeps_data: bool, labels: int
    ) -> TextFeatures:
        """The inverse of `state`, for a model with that number of labels."""
        tfidf = under_prefix("tfidf", arrays)
        features = cls(
            Tfidf.from_state(config, tfidf) if tfidf else None,
            stored_width(arrays, "n_features"),
            keeps_data=keeps_data,
        )
        if features.tfidf is not None:
            check_equal(
                "features", features.n_features, "the terms of its TF-IDF are", features.tfidf.n_features
            )
        if keeps_data:
            columns = {"X": features.n_features, "Y": labels}
            X, Y = (_stored_matrix(name, arrays, count) for name, count in columns.items())
            features.kept = X, Y
        return features


def _stored_matrix(name: str, arrays: Mapping[str, npt.NDArray], columns: int) -> sparse.csr_matrix:
    """A matrix of the training examples, memory-mapped until an update reads it."""
    part = under_prefix(f"data.{name}", arrays)
    indices = of_types(part, {"indices": np.int32})["indices"]
    expected = {
        "indptr": Numbers(np.int64, end=len(indices)),
        "data": Numbers(np.float32, len(indices), "entries"),
    }
    rest = checked(part, expected)
    return around(rest["indptr"], indices, rest["data"], (len(rest["indptr"]) - 1, columns), checked=False)


def _intact(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, examples: int
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    for matrix in (X, Y):
        flaw = structure_flaw(matrix.indptr, matrix.indices, matrix.shape, ascending=True)
        if matrix.shape[0] != examples:
            flaw = f"{matrix.shape[0]:,} rows for {examples:,} examples"
        if flaw is None and not (np.isfinite(matrix.data).all() and (matrix is X or (matrix.data > 0).all())):
            flaw = "numbers that no training example has"
        if flaw is not None:
            raise ModelError(f"the training examples stored in the model are damaged ({flaw}): {RETRAIN}")
    return X, Y


def stored_width(arrays: Mapping[str, npt.NDArray], name: str) -> int:
    """A stored number of features; as no other array may follow from it, it is limited."""
    width = whole_number(arrays, name)
    check_declared(
        FEATURES, width, sum(array.size for array in arrays.values()), "the model", error=ModelError
    )
    return width
