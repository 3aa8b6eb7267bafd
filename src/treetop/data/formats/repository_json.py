"""``trn.json.gz`` and ``lbl.json.gz`` of the Extreme Classification Repository: a JSON object on each line.

An example has a uid, a title, perhaps a content, and its labels by number (``target_ind``) with their
relevance (``target_rel``); a label has a uid and a title.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import DataError
from ...strings import Strings, StringsBuilder
from ..files import Input
from ..matrices import label_matrix
from .jsonl import parse_record, record_text

TITLE, CONTENT = "title", "content"
LABEL_NUMBERS = "target_ind"
_RELEVANCE, _ID = "target_rel", "uid"
_LARGEST = float(np.finfo(np.float32).max)


class JsonExamples:
    """The texts, ids and labels of a file; labels are left out, may be missing, or are needed."""

    def __init__(self, path: Path, fields: list[str], *, with_labels: bool, need_labels: bool) -> None:
        self._path = path
        self._indptr: Any = array("q", [0])
        self._numbers: Any = array("i")
        self._relevance: Any = array("f")
        self.labelled = False
        texts, ids = StringsBuilder(), StringsBuilder()
        for place, record in _records(path):
            texts.append(record_text(record, fields, place))
            ids.append(str(record.get(_ID, len(ids))))
            if with_labels and LABEL_NUMBERS in record:
                self.labelled = True
                numbers, relevance = _labels(record, place)
                self._numbers.extend(numbers)
                self._relevance.extend(relevance)
            elif with_labels and need_labels:
                raise DataError(f"{place}: no field {LABEL_NUMBERS!r} with its labels; add it")
            self._indptr.append(len(self._numbers))
        self.texts: Strings = texts.build()
        self.ids: Strings = ids.build()

    def label_matrix(self, labels: int) -> sparse.csr_matrix:
        """Examples × labels, for a number of labels."""
        columns, indptr = np.array(self._numbers, np.int32), np.array(self._indptr, np.int64)
        if columns.max(initial=-1) >= labels:
            row = int(np.searchsorted(indptr, np.argmax(columns >= labels), side="right")) - 1
            raise DataError(
                f"{self._path}: example {row} has label {columns[indptr[row] : indptr[row + 1]].max():,},"
                f" but there are {labels:,}, counted from 0"
            )
        entries = np.array(self._relevance, np.float32), columns, indptr
        return label_matrix(sparse.csr_matrix(entries, shape=(len(indptr) - 1, labels)), str(self._path))


def read_titles(path: Path) -> Strings:
    """The titles of the labels."""
    return Strings.of(record_text(record, [TITLE], place) for place, record in _records(path))


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place and the object of every line."""
    with Input(path) as source:
        for line, content in source.lines():
            if content.strip():
                place = f"{source.name} line {line}"
                yield place, parse_record(content, place)


def _labels(record: dict[str, Any], place: str) -> tuple[list[int], list[float]]:
    """The labels of an example and their relevance."""
    numbers = record[LABEL_NUMBERS]
    if not isinstance(numbers, list) or not all(type(item) is int and 0 <= item < 2**31 for item in numbers):
        raise DataError(f"{place}: field {LABEL_NUMBERS!r} must be a list of label numbers, counted from 0")
    relevance = record.get(_RELEVANCE, [1.0] * len(numbers))
    if not isinstance(relevance, list) or not all(map(_is_relevance, relevance)):
        raise DataError(f"{place}: field {_RELEVANCE!r} must be a list of finite numbers of at least 0")
    if len(relevance) != len(numbers):
        raise DataError(
            f"{place}: {_RELEVANCE!r} has {len(relevance)} numbers for {len(numbers)} labels; each needs one"
        )
    return numbers, relevance


def _is_relevance(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST
