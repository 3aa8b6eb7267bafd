"""Labels as they are given, by name or as a matrix → a vocabulary and an examples × labels matrix."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import DataError
from ..strings import Strings
from .columns import column_names, is_frame, is_matrix, is_missing, is_series, numbers_of, place_of, values_of
from .matrices import label_matrix


def labels_of(labels: Any, source: str) -> tuple[Strings, Any]:
    """The vocabulary and the examples × labels matrix of label sets, or of a matrix with a column a label."""
    if not is_matrix(labels):
        return index_labels(labels)
    if is_frame(labels):
        return indicator_labels(labels, source)
    matrix = label_matrix(labels, source)
    return Strings.numbers(matrix.shape[1]), matrix


def indicator_labels(frame: Any, source: str) -> tuple[Strings, Any]:
    """The names and the matrix of a frame with a column of 0 and 1 for each label."""
    return distinct_names(Strings.of(column_names(frame)), source), numbers_of(frame)


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


def are_names(labels: Any) -> bool:
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
