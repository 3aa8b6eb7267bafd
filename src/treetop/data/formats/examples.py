"""Collects examples one by one, and has the checks that all formats share."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import DataError
from ...limits import LABELS, check_declared
from ...strings import Strings, StringsBuilder
from ..dataset import Dataset
from ..labels import LabelIndexer
from .relevance import as_written, split_relevances, with_relevance


class Examples:
    """Streams texts, ids and groups into their final buffers, so that there is no second copy of the data.

    A reader appends to `labels` once per example, in the same order, or never for unlabelled data.
    """

    def __init__(self, name: str, need_labels: bool, unit: str = "line") -> None:
        self.labels = LabelIndexer()
        self._name = name
        self._need_labels = need_labels
        self._unit = unit
        self._texts = StringsBuilder()
        self._ids = _AllOrNone("id")
        self._groups = _AllOrNone("group")
        self._weights = array("f")

    def place(self, number: int) -> str:
        """The name of line ``number`` in messages."""
        return f"{self._name} {self._unit} {number}"

    def append(
        self,
        number: int,
        text: str,
        id: str | None = None,
        group: str | None = None,
        weight: float | None = None,
    ) -> None:
        """Either all examples have a ``weight``, or none."""
        row = len(self._texts)
        self._texts.append(text)
        if weight is not None:
            self._weights.append(weight)
        for column, value in ((self._ids, id), (self._groups, group)):
            if not column.append(row, value):
                raise DataError(f"{self.place(number)}: {column.complaint(value)}")

    def build(self) -> Dataset:
        texts = self._texts.build()
        if not len(texts):
            raise DataError(f"{self._name}: has no examples; choose another file")
        names, Y, relevance = split_relevances(*self.labels.build(), self._name)
        if Y.nnz == 0:
            check_labelled(self._name, 0, self._need_labels)
            names, Y = Strings.of([]), None
        return Dataset(
            labels=names,
            texts=texts,
            Y=Y,
            relevance=relevance,
            weights=np.frombuffer(self._weights, np.float32) if len(self._weights) else None,
            ids=self._ids.build(),
            groups=self._groups.build(),
            source=self._name,
        )


class _AllOrNone:
    """A column that either all examples have, or none."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: StringsBuilder | None = None

    def append(self, row: int, value: str | None) -> bool:
        """False if this example breaks the rule."""
        if value is None:
            return self._values is None
        if row == 0:
            self._values = StringsBuilder()
        if self._values is None:
            return False
        self._values.append(value)
        return True

    def complaint(self, value: str | None) -> str:
        if value is None:
            found = f"no {self._name}, but earlier examples have one"
        else:
            found = f"{self._name} {value!r}, but earlier examples have none"
        return f"{found}; give one to all examples or to none"

    def build(self) -> Strings | None:
        return None if self._values is None else self._values.build()


def check_labelled(name: str, pairs: int, need_labels: bool) -> None:
    if need_labels and not pairs:
        raise DataError(f"{name}: no example has a label; labelled examples are needed")


def numbered_labels(Y: sparse.csr_matrix, name: str) -> Strings:
    """ "0", "1", … as names of the columns that a header declares."""
    check_declared(LABELS, Y.shape[1], Y.nnz, name)
    return Strings.numbers(Y.shape[1])


def label_sets(dataset: Dataset) -> Iterator[list[str]]:
    """The labels of every example as formats with texts write them."""
    if dataset.Y is None:
        yield from ([] for _ in range(len(dataset)))
        return
    R = dataset.relevance
    names = np.array(list(dataset.labels) if R is not None else list(map(as_written, dataset.labels)), object)
    for start, stop in pairwise(dataset.Y.indptr.tolist()):
        labels = names[dataset.Y.indices[start:stop]].tolist()
        yield labels if R is None else list(map(with_relevance, labels, R.data[start:stop]))


def one_line(text: str) -> str:
    """``text`` for a format with one example per line: line breaks and tabs become spaces."""
    return text.translate(_SPACES)


_SPACES: dict[int, Any] = str.maketrans("\n\r\t", "   ")


def check_one_word_labels(dataset: Dataset, format: str, forbidden: str = "") -> None:
    """Checks labels for formats that separate them by white space."""
    for name in dataset.labels:
        if name.split() != [name] or any(character in name for character in forbidden):
            what = f"white space or {' '.join(forbidden)}" if forbidden else "white space"
            raise DataError(
                f"the label {name!r} cannot be written as {format}: it contains {what}; write jsonl"
            )
