"""Several labels in one cell of a table.

Reading: an explicit separator takes precedence. Otherwise, if all non-empty cells look like ``[…]``, they are
JSON arrays; else labels are separated by ``;`` if one occurs anywhere in the column, else by ``|`` if one
occurs anywhere, else by ``,``. Spaces around a label are dropped, and so are empty labels.

Writing: ``;``, or JSON arrays where ``;`` would not be read back as the same labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ...errors import DataError
from ...strings import StringsBuilder
from ..dataset import Dataset
from .examples import label_sets
from .fields import is_name
from .relevance import NUMERALS


class LabelCells:
    """The label column of a table, kept until the last row has shown which separator it uses."""

    def __init__(self, place: str, first_row: int = 1) -> None:
        self._place = place
        self._first_row = first_row
        self._cells = StringsBuilder()
        self._found: set[str] = set()
        self._arrays = True

    def append(self, cell: str) -> None:
        cell = cell.strip()
        self._cells.append(cell)
        self._found.update(separator for separator in ";|" if separator in cell)
        if cell and not (cell.startswith("[") and cell.endswith("]")):
            self._arrays = False

    def label_sets(self, separator: str | None) -> Iterator[list[str]]:
        cells = self._cells.build()
        if separator is None and self._arrays:
            for row, cell in enumerate(cells, self._first_row):
                yield self._array(row, cell) if cell else []
            return
        separator = separator or next((mark for mark in ";|" if mark in self._found), ",")
        for cell in cells:
            yield [label for part in cell.split(separator) if (label := part.strip())]

    def _array(self, row: int, cell: str) -> list[str]:
        try:
            names = json.loads(cell)
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not all(map(is_name, names)):
            raise DataError(
                f"{self._place} row {row}: the labels {_short(cell)} are not a JSON list of strings;"
                " name the separator with --label-separator if they are something else"
            )
        return [str(name) for name in names if name != ""]


def write_cells(dataset: Dataset, separator: str | None) -> Iterator[str]:
    """One cell of labels for every example."""
    names = list(dataset.labels)
    if separator is None:
        if not _survives(dataset, names):
            yield from (json.dumps(labels, ensure_ascii=False) for labels in label_sets(dataset))
            return
        separator = ";"
    if dataset.relevance is not None and set(separator) <= NUMERALS:
        raise DataError(
            f"labels and relevances cannot be written between separators {separator!r}; choose another"
        )
    for name in names:
        if separator in name or name.strip() != name or "\n" in name or "\r" in name or "\t" in name:
            raise DataError(
                f"the label {name!r} cannot be written between separators {separator!r}; choose another"
            )
    yield from map(separator.join, label_sets(dataset))


def _survives(dataset: Dataset, names: list[str]) -> bool:
    """Whether labels joined by ``;`` are read back as they were."""
    if any(name.strip() != name or name.startswith("[") or set(name) & set(";\n\r\t") for name in names):
        return False
    shows_separator = dataset.Y is not None and bool((np.diff(dataset.Y.indptr) > 1).any())
    return shows_separator or not any("|" in name or "," in name for name in names)


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:39] + "…")
