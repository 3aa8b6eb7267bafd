"""The kinds of ``y`` that `TreetopClassifier` takes, and predictions of the same kind.

| kind   | y                                                          | predicted               |
|--------|------------------------------------------------------------|-------------------------|
| single | one label for each row, or a matrix with one column        | array of labels         |
| sets   | a list, tuple, set or array of labels for each row         | label lists, best first |
| dense  | array of 0 and 1, a column for each label                  | the same, same dtype    |
| sparse | scipy matrix or array of 0 and 1                           | the same, CSR           |
| frame  | pandas or polars frame of 0 and 1, a column for each label | the same                |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..data.columns import (
    column_at,
    column_names,
    holds_numbers,
    is_frame,
    is_missing,
    is_series,
    numbers_of,
    values_of,
)
from ..data.matrices import label_matrix
from ..errors import DataError
from ..strings import Strings
from ..units import counted

Labels = npt.NDArray[Any]
_Y = "y"
_MIXED = "y: some labels are strings and others numbers; use one kind"


@dataclass(frozen=True)
class Targets:
    """The kind of ``y`` in training."""

    kind: str
    classes: Labels
    dtype: np.dtype[Any]
    like: Any
    """For sparse matrices their class; for frames one without rows."""

    @property
    def names(self) -> Strings:
        """The classes as label names."""
        return Strings.of(str(label) for label in self.classes.tolist())

    def back(self, chosen: sparse.csr_matrix, index: Any) -> Any:
        """Chosen labels, a matrix of ones, as the kind of ``y``; ``index``: that of pandas rows, or None."""
        if self.kind == "single":
            return self.classes[chosen.indices]
        if self.kind == "sets":
            names = self.classes[chosen.indices].tolist()
            return [names[start:stop] for start, stop in pairwise(chosen.indptr.tolist())]
        typed = chosen.astype(self.dtype)
        typed.sort_indices()
        if self.kind == "sparse":
            return self.like(typed)
        if self.kind == "dense":
            return typed.toarray()
        if hasattr(self.like, "iloc"):
            rows = range(chosen.shape[0]) if index is None else index
            return type(self.like)(typed.toarray(), columns=self.like.columns, index=rows)
        return type(self.like)(typed.toarray(), schema=self.like.schema)


def read_targets(y: Any) -> tuple[Targets, sparse.csr_matrix]:
    """The kind of ``y``, and its rows × classes matrix of ones."""
    y = _plain(y)
    if sparse.issparse(y):
        return _indicators("sparse", y, y.dtype, type(y.tocsr()))
    if is_frame(y):
        return _of_frame(y)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] != 1:
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name=_Y)
        check_classification_targets(y)
        return _indicators("dense", y, y.dtype, None)
    if _has_sets(y):
        return _of_sets(y)
    return _of_single(y)


def read_truth(y: Any, targets: Targets) -> sparse.csr_matrix:
    """Rows × classes, with the classes of ``targets`` first, followed by any other labels."""
    given, Y = read_targets(y)
    by_name = {"single", "sets"}
    if (given.kind in by_name) != (targets.kind in by_name):
        raise DataError(
            f"y: labels were given as {targets.kind} in training, and as {given.kind} now; use the same kind"
        )
    if given.kind not in by_name and Y.shape[1] != len(targets.classes):
        raise DataError(
            f"y: has {counted(Y.shape[1], 'label column')}, but training had {len(targets.classes):,};"
            " use the same columns"
        )
    if given.kind not in by_name and not (given.kind == targets.kind == "frame"):
        return Y
    known = {label: column for column, label in enumerate(targets.classes.tolist())}
    columns = np.array([known.setdefault(label, len(known)) for label in given.classes.tolist()], np.int32)
    return sparse.csr_matrix((Y.data, columns[Y.indices], Y.indptr), shape=(Y.shape[0], len(known)))


def _plain(y: Any) -> Any:
    """Single columns as lists, and rows of 0 and 1 as a matrix."""
    if is_frame(y) and len(y.columns) == 1:
        return column_at(y, 0)
    if sparse.issparse(y) and y.ndim == 2 and y.shape[1] == 1:
        return y.toarray().ravel()
    if is_series(y):
        return values_of(y)
    if (
        not isinstance(y, np.ndarray)
        and hasattr(y, "__array__")
        and not is_frame(y)
        and not sparse.issparse(y)
    ):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 2:
        return np.array(y.tolist())
    return np.array([list(row) for row in y], np.int64) if _are_indicators(y) else y


def _are_indicators(y: Any) -> bool:
    """Whether it is rows of equal width with only 0 and 1, which as sets of labels would all be {0, 1}."""
    if not isinstance(y, (list, tuple)) or not len(y):
        return False
    if not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) == len(y[0]) for row in y):
        return False
    return len(y[0]) > 1 and all(cell in (0, 1) and not isinstance(cell, str) for row in y for cell in row)


def _has_sets(y: Any) -> bool:
    if isinstance(y, np.ndarray) and y.dtype != object:
        return False
    if isinstance(y, str) or not isinstance(y, Iterable):
        raise DataError(f"y: {type(y).__name__} is not a list of labels; pass one")
    return any(isinstance(row, Iterable) and not isinstance(row, (str, bytes)) for row in y)


def _of_frame(y: Any) -> tuple[Targets, sparse.csr_matrix]:
    if not holds_numbers(y):
        raise DataError("y: a frame of labels needs columns of 0 and 1, or one column of label lists")
    names = column_names(y)
    if len(set(names)) < len(names):
        raise DataError(f"y: the column {max(names, key=names.count)!r} is given twice; rename one")
    dtype = np.asarray(y[:1]).dtype
    if dtype.kind not in "biuf":  # columns with missing values are objects
        dtype = np.dtype(np.int64)
    targets, Y = _indicators("frame", numbers_of(y), dtype, y[:0])
    return Targets(targets.kind, _array(list(y.columns)), targets.dtype, targets.like), Y


def _indicators(kind: str, y: Any, dtype: Any, like: Any) -> tuple[Targets, sparse.csr_matrix]:
    Y = label_matrix(y, _Y)
    odd = np.flatnonzero(Y.data != 1)
    if len(odd):
        row = int(np.searchsorted(Y.indptr, odd[0], side="right")) - 1
        raise DataError(f"y: a label matrix must have only 0 and 1, but row {row} has {Y.data[odd[0]]:g}")
    return Targets(kind, np.arange(Y.shape[1]), np.dtype(dtype), like), Y


def _of_sets(y: Iterable[Any]) -> tuple[Targets, sparse.csr_matrix]:
    codes: dict[Any, int] = {}
    indices: list[int] = []
    indptr = [0]
    for row, labels in enumerate(y):
        if is_missing(labels):
            raise DataError(
                f"y: the labels of row {row} are missing; an example without labels needs an empty list"
            )
        listed = [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else list(labels)
        for label in listed:
            if not isinstance(label, (str, int, np.integer)) or isinstance(label, bool):
                raise DataError(f"y: row {row} has the label {label!r}; use strings or whole numbers")
        indices += sorted({codes.setdefault(_python(label), len(codes)) for label in listed})
        indptr.append(len(indices))
    if len({type(label) for label in codes}) > 1:
        raise DataError(_MIXED)
    names = sorted(codes)
    column = np.empty(len(names), np.int32)
    column[[codes[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    Y = sparse.csr_matrix(
        (np.ones(len(indices), np.float32), column[np.array(indices, np.int32)], indptr),
        shape=(len(indptr) - 1, len(names)),
    )
    Y.sort_indices()
    return Targets("sets", _array(names), np.dtype(np.float32), None), Y


def _of_single(y: Any) -> tuple[Targets, sparse.csr_matrix]:
    if not isinstance(y, np.ndarray) or y.dtype == object:  # numpy would turn all labels into strings
        for row, label in enumerate(y):
            if is_missing(label):
                raise DataError(f"y: the label of row {row} is missing; fill it in or drop the row")
        if len({isinstance(label, str) for label in y}) > 1:
            raise DataError(_MIXED)
    listed = column_or_1d(y, warn=True)
    if listed.dtype.kind == "f":
        assert_all_finite(listed, input_name=_Y)
    check_classification_targets(listed)
    classes, columns = np.unique(listed, return_inverse=True)
    rows = len(listed)
    Y = sparse.csr_matrix(
        (np.ones(rows, np.float32), columns.astype(np.int32), np.arange(rows + 1)), shape=(rows, len(classes))
    )
    return Targets("single", classes, classes.dtype, None), Y


def _python(label: Any) -> str | int:
    return str(label) if isinstance(label, str) else int(label)


def _array(labels: list[Any]) -> Labels:
    """Strings as objects: in an array of fixed width, one long name would widen all."""
    if labels and all(isinstance(label, int) for label in labels):
        return np.array(labels, np.int64)
    made = np.empty(len(labels), object)
    made[:] = labels
    return made
