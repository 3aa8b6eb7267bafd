"""`Dataset`: texts or features with their labels, as readers return them and methods take them."""

from __future__ import annotations

import dataclasses
from array import array
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
from .columns import (
    checked_texts,
    is_frame,
    is_matrix,
    is_missing,
    is_series,
    numbers_of,
    place_of,
    values_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Rows = npt.NDArray[np.int64] | slice | Sequence[int]
_BLOCK = 1 << 20
"""Entries checked at a time."""


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
    source: str = "the data"
    """Where it comes from, for messages."""

    def __post_init__(self) -> None:
        if self.texts is None and self.X is None:
            raise DataError(f"{self.source}: a data set needs texts or a feature matrix")
        if self.X is not None:
            object.__setattr__(self, "X", feature_matrix(self.X, self.source))
        if self.Y is not None:
            self._set_labels(self.Y)
        elif self.relevance is not None:
            raise DataError(f"{self.source}: relevances need labels; give both, or none")
        if self.weights is not None:
            object.__setattr__(self, "weights", example_weights(self.weights, len(self), self.source))
        for name in ("X", "Y", "ids", "groups", "label_rows"):
            column = getattr(self, name)
            rows = None if column is None else column.shape[0] if name in ("X", "Y") else len(column)
            if rows is not None and rows != len(self):
                raise DataError(
                    f"{self.source}: {counted(rows, 'row')} of {name} but {counted(len(self), 'example')};"
                    " each example needs one row"
                )
        if self.Y is not None and self.Y.shape[1] != len(self.labels):
            raise DataError(
                f"{self.source}: {counted(self.Y.shape[1], 'label column')} but"
                f" {counted(len(self.labels), 'label name')}; each column needs one name"
            )
        if self.label_texts is not None and len(self.label_texts) != len(self.labels):
            raise DataError(
                f"{self.source}: {counted(len(self.label_texts), 'label text')} but"
                f" {counted(len(self.labels), 'label')}; each label needs one text"
            )

    def _set_labels(self, given: Any) -> None:
        """Sets `Y` and `relevance`, which other values in Y are."""
        Y, relevance = label_matrix(given, self.source), self.relevance
        if relevance is not None:
            relevance = relevance_matrix(relevance, Y, self.source)
        if not is_checked(Y) and (Y.data != 1).any():
            relevance = Y if relevance is None else relevance
            Y = binarize(Y)
        if relevance is not None and (relevance.data == 1).all():
            relevance = None
        object.__setattr__(self, "Y", Y)
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
            names, Y = labels_of(Y if is_frame(Y) or _are_names(Y) else label_matrix(Y, source), source)
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
        from .frames import from_frame

        return from_frame(frame, **columns)

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

        def moved(matrix: sparse.csr_matrix | None) -> sparse.csr_matrix | None:
            if matrix is None:
                return None
            places = columns[matrix.indices]
            matrix = sparse.csr_matrix(
                (matrix.data, places, matrix.indptr), shape=(len(self), len(merged)), copy=True
            )
            matrix.sort_indices()
            return matrix

        return dataclasses.replace(
            self, labels=merged, Y=moved(self.Y), relevance=moved(self.relevance), label_texts=None
        )

    def with_label_texts(self, texts: dict[str, str]) -> Dataset:
        """Label texts by label name; a label that is not listed has its name as its text."""
        return dataclasses.replace(
            self, label_texts=Strings.of(texts.get(name, name) for name in self.labels)
        )

    def with_label_examples(self) -> Dataset:
        """Adds the text of every label that occurs as one more example of that label, after all others.

        A label without a text uses its name; texts without a letter are left out.
        """
        if self.texts is None or self.Y is None or self.X is not None:
            raise DataError(f"{self.source}: label_examples needs labelled texts; turn it off for other data")
        if self.label_rows is not None:
            return self
        names = self.label_texts or self.labels
        added = [label for label in np.flatnonzero(self.label_counts) if _has_letter(names[int(label)])]
        Y = sparse.csr_matrix(
            (np.ones(len(added), np.float32), added, np.arange(len(added) + 1)),
            shape=(len(added), len(self.labels)),
        )
        return dataclasses.replace(
            self,
            texts=Strings.of([*self.texts, *names.take(np.array(added, np.int64))]),
            Y=sparse.vstack([self.Y, Y], format="csr"),
            relevance=None if self.relevance is None else sparse.vstack([self.relevance, Y], format="csr"),
            weights=None if self.weights is None else np.append(self.weights, np.ones(len(added))),
            ids=None,
            groups=None if self.groups is None else Strings.of([*self.groups, *[""] * len(added)]),
            label_rows=np.arange(len(self) + len(added)) >= len(self),
        )

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

    def example_rows(self) -> npt.NDArray[np.int64]:
        """The rows that are not texts of labels."""
        return np.arange(len(self)) if self.label_rows is None else np.flatnonzero(~self.label_rows)

    def hold_out(
        self, fraction: float, seed: int, groups: npt.NDArray[np.int64] | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows to train on, with all texts of labels, and held-out rows: whole ``groups``, if given."""
        examples = self.example_rows()
        _, drawn = split_rows(len(examples), fraction, seed, None if groups is None else groups[examples])
        return np.setdiff1d(np.arange(len(self)), examples[drawn]), examples[drawn]

    def group_codes(self) -> npt.NDArray[np.int64]:
        """The group of each example as a number."""
        if self.groups is None:
            raise DataError(f"{self.source}: a split by group needs a group column (--group NAME)")
        codes: dict[str, int] = {}
        return np.array([codes.setdefault(group, len(codes)) for group in self.groups], np.int64)


def _names_of(names: Iterable[Any] | None) -> Strings | None:
    """Ids or groups as text; numbers are allowed."""
    return names if names is None or isinstance(names, Strings) else Strings.of(map(str, names))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def split_rows(
    rows: int, fraction: float, seed: int, groups: npt.NDArray[np.int64] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Row numbers of the larger and the smaller part, each in ascending order."""
    if not 0 < fraction < 1:
        raise DataError(f"a split fraction must be between 0 and 1, not {fraction}")
    if rows < 2:
        raise DataError(f"cannot split {counted(rows, 'example')} into two parts; at least two are needed")
    rng = np.random.default_rng(seed)
    wanted = min(max(round(rows * fraction), 1), rows - 1)
    held_out = np.zeros(rows, bool)
    if groups is None:
        held_out[rng.permutation(rows)[:wanted]] = True
    else:
        sizes = np.bincount(groups)
        if len(sizes) < 2:
            raise DataError("cannot split by group: all examples are in one group; split without groups")
        order = rng.permutation(len(sizes))
        before = np.cumsum(sizes[order]) - sizes[order]
        chosen = order[before < wanted]
        chosen = chosen[: len(sizes) - 1]
        held_out = np.isin(groups, chosen)
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def labels_of(labels: Any, source: str) -> tuple[Strings, Any]:
    """The vocabulary and the examples × labels matrix of label sets, or of a matrix with a column a label."""
    if not is_matrix(labels):
        return index_labels(labels)
    if is_frame(labels):
        from .frames import indicator_labels

        return indicator_labels(labels, source)
    matrix = label_matrix(labels, source)
    return Strings.numbers(matrix.shape[1]), matrix


def index_labels(labels: Iterable[Any], before: str = "") -> tuple[Strings, sparse.csr_matrix]:
    """The sorted vocabulary and the examples × labels matrix of the label names of each example.

    Messages begin with ``before``.
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable) or is_frame(labels):
        raise DataError(f"{before}the labels are a {type(labels).__name__}; pass a list of label lists")
    indexer = LabelIndexer()
    column: Iterable[Any] = values_of(labels) if is_series(labels) else labels
    for row, names in enumerate(column):
        listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else None
        if listed is None or any(type(name) is not str and is_missing(name) for name in listed):
            raise DataError(f"{before}the labels of {place_of(labels, row)} {_flaw_of(names)}")
        indexer.append(listed)
    return indexer.build()


def _flaw_of(names: Any) -> str:
    if is_missing(names):
        return f"are missing ({names}); an example without labels needs an empty list"
    if not isinstance(names, Iterable):
        return f"are of type {type(names).__name__}; give a list of names"
    return f"contain a missing value; leave it out: {list(names)!r}"


def _are_names(labels: Any) -> bool:
    """Whether a label name is among them: they are then the labels of each row, not a matrix."""
    if is_matrix(labels) or is_frame(labels) or not isinstance(labels, Iterable):
        return False
    rows = ((row,) if isinstance(row, str) or not isinstance(row, Iterable) else row for row in labels)
    return any(isinstance(name, str) for row in rows for name in row)


class LabelIndexer:
    """Collects label sets row by row; the vocabulary comes out sorted, whatever the order of the rows."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._indices: Any = array("i")
        self._indptr: Any = array("q", [0])

    def append(self, names: Iterable[str]) -> None:
        codes = self._codes
        row = {codes.setdefault(str(name), len(codes)) for name in names}
        self._indices.extend(row)
        self._indptr.append(len(self._indices))

    def build(self) -> tuple[Strings, sparse.csr_matrix]:
        names = sorted(self._codes)
        new_code = np.empty(len(names), np.int32)
        new_code[[self._codes[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        indices = np.frombuffer(self._indices, np.int32) if len(self._indices) else np.zeros(0, np.int32)
        indptr = np.frombuffer(self._indptr, np.int64)
        data = np.ones(len(indices), np.float32)
        Y = sparse.csr_matrix((data, new_code[indices], indptr), shape=(len(indptr) - 1, len(names)))
        Y.sort_indices()
        return Strings.of(names), Y


def distinct_names(labels: Strings, source: str) -> Strings:
    """The same label names, which must differ from each other."""
    seen: set[str] = set()
    for name in labels:
        if name in seen:
            raise DataError(f"{source}: the label name {name!r} is given twice; rename one of the labels")
        seen.add(name)
    return labels


def feature_matrix(X: Any, source: str) -> sparse.csr_matrix:
    """Any matrix as float32 CSR with sorted indices; NaN and infinity are rejected."""
    if is_checked(X):
        return X
    matrix = _as_csr(X, source, "features")
    for start in range(0, matrix.nnz, _BLOCK):
        bad = np.flatnonzero(~np.isfinite(matrix.data[start : start + _BLOCK]))
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, start + bad[0], side="right")) - 1
            raise DataError(f"{source}: the features of row {row} contain NaN or infinity; replace them")
    return matrix


def label_matrix(Y: Any, source: str) -> sparse.csr_matrix:
    """Any label matrix, also with relevances as values, as float32 CSR; stored zeros are dropped."""
    if is_checked(Y):
        return Y
    matrix = _as_csr(Y, source, "labels")
    _check_weights(matrix, source, "label weights")
    if (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def relevance_matrix(R: Any, Y: sparse.csr_matrix, source: str) -> sparse.csr_matrix:
    """Relevances as float32 CSR with the entries of ``Y``; a stored 0 is the relevance 0."""
    if is_checked(R) and R.indices is Y.indices:
        return R
    matrix = _as_csr(R, source, "relevances")
    if matrix.shape != Y.shape:
        sizes = [f"{rows:,} × {columns:,}" for rows, columns in (matrix.shape, Y.shape)]
        raise DataError(f"{source}: the relevances are {sizes[0]}, but the labels {sizes[1]}; give one shape")
    _check_weights(matrix, source, "relevances")
    if not (np.array_equal(matrix.indptr, Y.indptr) and np.array_equal(matrix.indices, Y.indices)):
        odd = sparse.csr_matrix(binarize(matrix) - binarize(Y))
        odd.eliminate_zeros()
        row = int(np.flatnonzero(np.diff(odd.indptr))[0])
        raise DataError(
            f"{source}: the relevances of row {row} are not those of its labels; give one for each label of"
            " the row, and no others"
        )
    return matrix


def example_weights(weights: Any, count: int, source: str) -> npt.NDArray[np.float32] | None:
    """One finite number of at least 0 for each of ``count`` examples; None if all are 1."""
    try:
        array = np.asarray(weights, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the weights are not numbers ({error})") from None
    if array.shape != (count,):
        raise DataError(
            f"{source}: the weights have the shape {array.shape}; give one number for each of the"
            f" {counted(count, 'example')}"
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise DataError(
            f"{source}: weights must be finite and not negative; row {bad[0]} has {array[bad[0]]:g}"
        )
    return None if (array == 1).all() else array


def _check_weights(matrix: sparse.csr_matrix, source: str, what: str) -> None:
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{source}: {what} must be finite and not negative; row {row} has {matrix.data[bad[0]]:g}"
        )


def _as_csr(values: Any, source: str, what: str) -> sparse.csr_matrix:
    if is_frame(values):
        if not is_matrix(values):
            raise DataError(f"{source}: the {what} are a frame with non-numeric columns; drop them")
        values = numbers_of(values)
    try:
        matrix = sparse.csr_matrix(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the {what} are not a matrix of numbers ({error})") from None
    if matrix.nnz and (matrix.indices.min() < 0 or matrix.indices.max() >= matrix.shape[1]):
        raise DataError(f"{source}: a column id of the {what} is outside 0…{matrix.shape[1] - 1}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
