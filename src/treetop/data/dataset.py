"""`Dataset`: texts or features with their labels, as readers return them and methods take them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError
from ..sparse import binarize, is_checked
from ..strings import Strings
from ..units import counted
from .columns import checked_texts, is_frame
from .frame_columns import read_columns
from .held_out import split_rows
from .labels import are_names, distinct_names, labels_of
from .matrices import example_weights, feature_matrix, label_matrix, relevance_matrix

if TYPE_CHECKING:
    from typing_extensions import Unpack

Rows = npt.NDArray[np.int64] | slice | Sequence[int]


class FrameColumns(TypedDict, total=False):
    """The options of `Dataset.from_frame`."""

    text: str | Sequence[str]
    labels: str | Sequence[str] | None
    id: str | None
    group: str | None
    weight: str | None
    label_separator: str | None
    need_labels: bool
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Texts or features, the labels of each, and the names of all labels. Rows are examples."""

    labels: Strings
    """The label vocabulary: column ``j`` of `Y` is the label ``labels[j]``."""
    texts: Strings | None = None
    X: sparse.csr_matrix | None = None
    """Feature matrix (float32), for data that come with features."""
    Y: sparse.csr_matrix | None = None
    """Examples × labels (float32): 1 where the example has the label. None for unlabelled data.

    Other values that are given here become `relevance`.
    """
    relevance: sparse.csr_matrix | None = None
    """How much each label of each example counts in training, with the entries of `Y`; None: all 1."""
    weights: npt.NDArray[np.float32] | None = None
    """How much each example counts in training; None: all 1."""
    ids: Strings | None = None
    label_texts: Strings | None = None
    """A readable name or description of every label, aligned with `labels`."""
    groups: Strings | None = None
    """The group of each example: a split by group keeps a group on one side."""
    label_rows: npt.NDArray[np.bool_] | None = None
    """Which rows are texts of labels: for training, never for evaluation."""
    label_features: sparse.csr_matrix | None = None
    """Labels × features: vectors of the labels, in the same feature space as `X`."""
    excluded: sparse.csr_matrix | None = None
    """Examples × labels: pairs that are neither predicted nor evaluated, such as a product and itself."""
    open_width: bool = False
    """Whether the number of features is not known: `X` ends with the last one used."""
    source: str = "the data"
    """Where it comes from, for messages."""

    def __post_init__(self) -> None:
        if self.texts is None and self.X is None:
            raise DataError(f"{self.source}: a data set needs texts or a feature matrix")
        for name, check in (
            ("X", feature_matrix),
            ("Y", label_matrix),
            ("label_features", feature_matrix),
            ("excluded", label_matrix),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name), self.source))
        self._separate_relevance()
        if self.weights is not None:
            object.__setattr__(self, "weights", example_weights(self.weights, len(self), self.source))
        for name in ("X", "Y", "excluded", "ids", "groups", "label_rows"):
            column = getattr(self, name)
            rows = None if column is None else column.shape[0] if sparse.issparse(column) else len(column)
            if rows is not None and rows != len(self):
                raise DataError(
                    f"{self.source}: {counted(rows, 'row')} of {name} but {counted(len(self), 'example')};"
                    " each example needs one row"
                )
        for matrix, what in ((self.Y, "label column"), (self.excluded, "column of excluded pairs")):
            if matrix is not None and matrix.shape[1] != len(self.labels):
                raise DataError(
                    f"{self.source}: {counted(matrix.shape[1], what)} but"
                    f" {counted(len(self.labels), 'label name')}; each column needs one name"
                )
        if self.label_features is not None and self.label_features.shape != (
            expected := (
                len(self.labels),
                self.label_features.shape[1] if self.X is None else self.X.shape[1],
            )
        ):
            raise DataError(
                f"{self.source}: the label features are a matrix of {self.label_features.shape}; they need"
                f" {expected}, a row per label and the columns of X"
            )
        if self.label_texts is not None and len(self.label_texts) != len(self.labels):
            raise DataError(
                f"{self.source}: {counted(len(self.label_texts), 'label text')} but"
                f" {counted(len(self.labels), 'label')}; each label needs one text"
            )

    def _separate_relevance(self) -> None:
        """Makes all values of `Y` 1, and others the `relevance`."""
        Y, relevance = self.Y, self.relevance
        if Y is None:
            if relevance is not None:
                raise DataError(f"{self.source}: relevances need labels; give both, or none")
            return
        if relevance is not None:
            relevance = relevance_matrix(relevance, Y, self.source)
        if not is_checked(Y) and (Y.data != 1).any():
            relevance = Y if relevance is None else relevance
            object.__setattr__(self, "Y", binarize(Y))
        if relevance is not None and (relevance.data == 1).all():
            relevance = None
        object.__setattr__(self, "relevance", relevance)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        labels: Iterable[Iterable[str]] | Any = None,
        *,
        ids: Iterable[str] | None = None,
        groups: Iterable[str] | None = None,
        source: str = "the data",
    ) -> Dataset:
        """Texts and the label names of each; a single string is one label.

        Both may be pandas or polars columns. Labels may also be a matrix with a column for each label: dense,
        sparse, or a frame, whose column names are the labels.
        """
        vocabulary, Y = (Strings.of([]), None) if labels is None else labels_of(labels, source)
        return cls(
            labels=vocabulary,
            texts=Strings.of(checked_texts(texts, source)),
            Y=Y,
            ids=_names_of(ids),
            groups=_names_of(groups),
            source=source,
        )

    @classmethod
    def from_matrices(
        cls,
        X: Any,
        Y: Any = None,
        *,
        labels: Iterable[str] | None = None,
        texts: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        label_texts: Iterable[str] | None = None,
        source: str = "the data",
    ) -> Dataset:
        """A feature matrix, and a label matrix or the label names of each row; matrices may be frames.

        Without names, the labels are "0", "1", …, or the column names of a frame.
        """
        names = Strings.of([])
        if Y is not None:
            names, Y = labels_of(Y if is_frame(Y) or are_names(Y) else label_matrix(Y, source), source)
        if labels is not None:
            names = distinct_names(Strings.of(labels), source)
        return cls(
            labels=names,
            X=X,
            Y=Y,
            texts=None if texts is None else Strings.of(texts),
            ids=_names_of(ids),
            label_texts=None if label_texts is None else Strings.of(label_texts),
            source=source,
        )

    @classmethod
    def from_frame(cls, frame: Any, **columns: Unpack[FrameColumns]) -> Dataset:
        """A pandas or polars frame with a row for each example. All options have defaults:

        - ``text``: the column of the text, by default ``"text"``; ``"title,abstract"`` or a list joins
          several, each on its own line.
        - ``labels``: the column of the labels, by default ``"labels"``: lists of names, single names, or
          several names in a string, split at ``label_separator`` or as in a CSV file. For a list of columns,
          each is a label of the rows where it is not 0. None: unlabelled.
        - ``id``: the column of the example's name, by default ``"id"`` if it exists; ``group``: the column of
          its group; ``weight``: that of its weight in training.
        - ``source``: the name of the frame in messages.
        """
        return cls(**read_columns(frame, **columns))

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        assert self.X is not None
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        pairs = "unlabelled" if self.Y is None else f"{self.Y.nnz:,} labels given"
        return f"Dataset({self.source}: {len(self):,} examples, {len(self.labels):,} labels, {pairs})"

    @overload
    def __getitem__(self, rows: int) -> tuple[str | None, list[str]]: ...
    @overload
    def __getitem__(self, rows: Rows) -> Dataset: ...
    def __getitem__(self, rows: int | Rows) -> tuple[str | None, list[str]] | Dataset:
        """``dataset[7]`` is one text and its label names; a slice or index array, a smaller `Dataset`."""
        if isinstance(rows, (int, np.integer)):
            row = range(len(self))[int(rows)]
            return (None if self.texts is None else self.texts[row]), self.labels_of(row)
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)

        def take(strings: Strings | None) -> Strings | None:
            return None if strings is None else strings.take(chosen)

        return dataclasses.replace(
            self,
            texts=take(self.texts),
            ids=take(self.ids),
            groups=take(self.groups),
            X=None if self.X is None else self.X[chosen],
            Y=None if self.Y is None else self.Y[chosen],
            relevance=None if self.relevance is None else self.relevance[chosen],
            weights=None if self.weights is None else self.weights[chosen],
            excluded=None if self.excluded is None else self.excluded[chosen],
            label_rows=None if self.label_rows is None else self.label_rows[chosen],
        )

    def __iter__(self) -> Iterator[tuple[str | None, list[str]]]:
        return (self[row] for row in range(len(self)))

    def labels_of(self, row: int) -> list[str]:
        """The label names of one example."""
        if self.Y is None:
            return []
        start, stop = self.Y.indptr[row], self.Y.indptr[row + 1]
        return [self.labels[int(label)] for label in self.Y.indices[start:stop]]

    @property
    def label_counts(self) -> npt.NDArray[np.int64]:
        """The number of examples of each label."""
        if self.Y is None:
            return np.zeros(len(self.labels), np.int64)
        return np.bincount(self.Y.indices, minlength=len(self.labels)).astype(np.int64)

    @property
    def weighted_labels(self) -> sparse.csr_matrix | None:
        """The relevance of each label of each example, 1 where none is given."""
        return self.Y if self.relevance is None else self.relevance

    @property
    def excluded_pairs(self) -> int:
        """The number of pairs that are neither predicted nor evaluated."""
        return 0 if self.excluded is None else int(self.excluded.nnz)

    def split(
        self, fraction: float = 0.2, *, seed: int = 0, by_group: bool = False
    ) -> tuple[Dataset, Dataset]:
        """The larger and the smaller part (``fraction`` of the examples), at random but repeatable.

        With ``by_group`` whole groups are drawn, so that no group is on both sides.
        """
        first, second = split_rows(len(self), fraction, seed, self.group_codes() if by_group else None)
        return self[first], self[second]

    def aligned_to(self, labels: Strings) -> Dataset:
        """The same examples with ``labels`` as the first columns, followed by the data set's other labels."""
        if self.labels is labels or self.labels == labels:
            return dataclasses.replace(self, labels=labels)
        known = labels.positions
        unseen = [name for name in self.labels if name not in known]
        merged = Strings.of([*labels, *unseen]) if unseen else labels
        columns = np.array([merged.position(name) for name in self.labels], np.int32)
        features = None
        if self.label_features is not None and len(merged) == len(self.labels):
            features = self.label_features[np.argsort(columns)]
        return dataclasses.replace(
            self,
            labels=merged,
            Y=_with_columns(self.Y, columns, len(merged)),
            relevance=_with_columns(self.relevance, columns, len(merged)),
            excluded=_with_columns(self.excluded, columns, len(merged)),
            label_texts=None,
            label_features=features,
        )

    def depth_for(self, k: int, labels: Strings) -> int:
        """How many of ``labels`` to rank, so that ``k`` are left without the excluded ones."""
        pairs = self.excluded_among(labels)
        most = 0 if pairs is None else int(np.diff(pairs.indptr).max())
        return min(k + most, len(labels))

    def excluded_among(self, labels: Strings) -> sparse.csr_matrix | None:
        """Pairs of an example and one of ``labels`` that are excluded, if there are any."""
        if self.excluded is None or not self.excluded_pairs:
            return None
        if labels == self.labels:
            return self.excluded
        used, codes = np.unique(self.excluded.indices, return_inverse=True)
        column = np.array([labels.position(name) for name in self.labels.take(used)], np.int32)[codes]
        rows = np.repeat(np.arange(len(self)), np.diff(self.excluded.indptr))
        there = column >= 0
        return sparse.csr_matrix(
            (self.excluded.data[there], (rows[there], column[there])), shape=(len(self), len(labels))
        )

    def with_width(self, features: int) -> Dataset:
        """The same examples with so many features: those that are not there are 0, others are dropped."""
        X = self.X
        if X is None or X.shape[1] == features:
            return self
        if X.shape[1] > features:
            X = X[:, :features]
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(len(self), features))
        return dataclasses.replace(self, X=X, label_features=None)

    def with_weights(self, *, relevance: Any = None, weights: Any = None) -> Dataset:
        """The same examples, with `relevance` and `weights` where they are given."""
        for name, new in (("relevance", relevance), ("weights", weights)):
            if new is not None and getattr(self, name) is not None:
                raise DataError(f"{self.source}: already has {name}; give them once")
        return dataclasses.replace(
            self,
            relevance=self.relevance if relevance is None else relevance,
            weights=self.weights if weights is None else weights,
        )

    def with_label_texts(self, texts: dict[str, str]) -> Dataset:
        """Label texts by label name; a label that is not listed has its name as its text."""
        return dataclasses.replace(
            self, label_texts=Strings.of(texts.get(name, name) for name in self.labels)
        )

    def with_label_examples(self) -> Dataset:
        """Adds every label that occurs as one more example of itself, after all others.

        Its text is the label's, or else its name; its features are those of `label_features`. Labels whose
        text has no letter, or without features, are left out.
        """
        if self.Y is None or (self.X is not None and self.label_features is None):
            raise DataError(
                f"{self.source}: label_examples needs labelled texts, or features of the labels where the"
                " examples have features; turn it off for other data"
            )
        if self.label_rows is not None:
            return self
        names, X = self.label_texts or self.labels, self.X
        added = np.flatnonzero(self.label_counts)
        if self.texts is not None:
            added = added[[_has_letter(names[int(label)]) for label in added]]
        if X is not None and self.label_features is not None:
            added = added[np.diff(self.label_features.indptr)[added] > 0]
            X = sparse.vstack([X, self.label_features[added]], format="csr")
        Y = sparse.csr_matrix(
            (np.ones(len(added), np.float32), added, np.arange(len(added) + 1)),
            shape=(len(added), len(self.labels)),
        )
        return dataclasses.replace(
            self,
            texts=None if self.texts is None else Strings.of([*self.texts, *names.take(added)]),
            X=X,
            Y=sparse.vstack([self.Y, Y], format="csr"),
            relevance=None if self.relevance is None else sparse.vstack([self.relevance, Y], format="csr"),
            weights=None if self.weights is None else np.append(self.weights, np.ones(len(added))),
            ids=None,
            groups=None if self.groups is None else Strings.of([*self.groups, *[""] * len(added)]),
            label_rows=np.arange(len(self) + len(added)) >= len(self),
            excluded=None,  # training does not use them
        )

    def example_rows(self) -> npt.NDArray[np.int64]:
        """The rows that are not texts of labels."""
        return np.arange(len(self)) if self.label_rows is None else np.flatnonzero(~self.label_rows)

    def group_codes(self) -> npt.NDArray[np.int64]:
        """The group of each example as a number."""
        if self.groups is None:
            raise DataError(f"{self.source}: a split by group needs a group column (--group NAME)")
        codes: dict[str, int] = {}
        return np.array([codes.setdefault(group, len(codes)) for group in self.groups], np.int64)


def _with_columns(
    matrix: sparse.csr_matrix | None, columns: npt.NDArray[np.int32], count: int
) -> sparse.csr_matrix | None:
    """The same entries in other columns."""
    if matrix is None:
        return None
    moved = sparse.csr_matrix(
        (matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], count), copy=True
    )
    moved.sort_indices()
    return moved


def _names_of(names: Iterable[Any] | None) -> Strings | None:
    """Ids or groups as text; numbers are allowed."""
    return names if names is None or isinstance(names, Strings) else Strings.of(map(str, names))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
