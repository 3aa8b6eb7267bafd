"""The Extreme Classification Repository's sparse text format.

The first line is ``examples features labels``; then every example is a line ``label,label feature:value …``
with ids from 0. It gives a feature matrix and labels called "0", "1", …; there are no texts.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import DataError
from ...strings import Strings
from ..dataset import Dataset, feature_matrix, label_matrix
from ..files import Input, Output
from .examples import check_labelled
from .options import ReadOptions, WriteOptions

HEADER = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)\s*")
_LABELS = re.compile(r"[0-9]+(?:,[0-9]+)*")
_FEATURE = r"[0-9]+:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FEATURES = re.compile(rf"\s*(?:{_FEATURE}(?:\s+|$))*")


def read(source: Input, options: ReadOptions) -> Dataset:
    lines = source.lines()
    header = HEADER.fullmatch(next(lines, (1, ""))[1])
    if header is None:
        raise DataError(f"{source.name} line 1: the header must be three numbers: examples features labels")
    rows, features, labels = (int(number) for number in header.groups())
    if not rows:
        raise DataError(f"{source.name}: there are no examples in it")
    X, Y = _Rows(features, "feature"), _Rows(labels, "label")
    count = 0
    for line, content in lines:
        if count == rows and not content.strip():
            continue
        count += 1
        place = f"{source.name} line {line}"
        names, values = _halves(content)
        Y.append(_label_ids(names, place), None, place)
        ids, numbers = _feature_values(values, place)
        X.append(ids, numbers, place)
    if count != rows:
        raise DataError(f"{source.name}: the header promises {rows:,} examples but there are {count:,}")
    matrix = label_matrix(Y.build(), source.name)
    matrix.data[:] = 1  # a label that a line names twice is still one label
    check_labelled(source.name, matrix.nnz, options.need_labels)
    return Dataset(
        labels=Strings.numbers(labels), X=feature_matrix(X.build(), source.name), Y=matrix, source=source.name
    )


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    X = dataset.X
    if X is None:
        raise DataError("xmc holds features, and this data set has only texts; write jsonl instead")
    if dataset.labels != Strings.numbers(len(dataset.labels)):
        raise DataError(
            f"xmc numbers its labels and cannot hold names such as {dataset.labels[0]!r}; write pecos instead"
        )
    Y = dataset.Y if dataset.Y is not None else sparse.csr_matrix((len(dataset), len(dataset.labels)))
    file = output.text(path)
    file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
    bounds = zip(pairwise(X.indptr.tolist()), pairwise(Y.indptr.tolist()), strict=True)
    for (start, stop), (first, last) in bounds:
        labels = ",".join(map(str, Y.indices[first:last].tolist()))
        # numpy prints a float32 with the fewest digits that give the same number back.
        values = zip(X.indices[start:stop].tolist(), X.data[start:stop].astype(str).tolist(), strict=True)
        file.write(labels + "".join(f" {feature}:{value}" for feature, value in values) + "\n")


class _Rows:
    """A CSR matrix that grows row by row."""

    def __init__(self, columns: int, what: str) -> None:
        self._columns = columns
        self._what = what
        self._indptr: Any = array("q", [0])
        self._indices: Any = array("i")
        self._data: Any = array("f")

    def append(self, ids: Any, values: Any, place: str) -> None:
        if len(ids):
            largest = int(ids.max())
            if largest >= self._columns:
                raise DataError(
                    f"{place}: {self._what} {largest} is out of range,"
                    f" the header promises {self._columns:,} ({self._what}s 0…{self._columns - 1})"
                )
            self._indices.frombytes(ids.astype(np.int32).tobytes())
            values = np.ones(len(ids), np.float32) if values is None else values
            with np.errstate(over="ignore"):  # what overflows is refused with the other infinities
                self._data.frombytes(values.astype(np.float32).tobytes())
        self._indptr.append(len(self._indices))

    def build(self) -> sparse.csr_matrix:
        arrays = [
            np.frombuffer(buffer, dtype) if len(buffer) else np.zeros(0, dtype)
            for buffer, dtype in (
                (self._data, np.float32),
                (self._indices, np.int32),
                (self._indptr, np.int64),
            )
        ]
        return sparse.csr_matrix(tuple(arrays), shape=(len(self._indptr) - 1, self._columns))


def _halves(content: str) -> tuple[str, str]:
    """The labels and the features of a line; a line that starts with a feature has no labels."""
    words = content.split(None, 1)
    if not words or ":" in words[0]:
        return "", content
    return words[0], words[1] if len(words) > 1 else ""


def _label_ids(names: str, place: str) -> Any:
    if not names:
        return np.zeros(0, np.int64)
    if not _LABELS.fullmatch(names):
        raise DataError(f"{place}: {names[:40]!r} is not a list of label numbers such as 3,17")
    return np.array([int(name) for name in names.split(",")])


def _feature_values(text: str, place: str) -> tuple[Any, Any]:
    if not _FEATURES.fullmatch(text):
        word = next(word for word in text.split() if not re.fullmatch(_FEATURE, word))
        raise DataError(f"{place}: {word[:40]!r} is not a feature with a finite value such as 12:0.5")
    flat = np.fromstring(text.replace(":", " "), np.float64, sep=" ") if text.strip() else np.zeros(0)
    return flat[::2], flat[1::2]
