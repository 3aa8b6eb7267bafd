"""Reads several labels from one cell of a table.

An explicit separator takes precedence. Otherwise, if all non-empty cells look like ``[…]``, they are
JSON arrays; if all look like ``<a> <b>``, as Annif writes URIs, the labels are what is inside the brackets;
else labels are separated by ``;`` if one occurs anywhere in the column, else by ``|`` if one occurs anywhere,
else by ``,``. Spaces around a label are dropped, and so are empty labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ...errors import DataError
from ...strings import StringsBuilder
from .fields import is_name

URI = re.compile(r"<([^<>\s]+)>")
"""A label as Annif writes it, the URI of a subject."""
_URIS = re.compile(rf"{URI.pattern}(\s+{URI.pattern})*")


class LabelCells:
    """The label column of a table, kept until the last row has shown which separator it uses."""

    def __init__(self, place: str, first_row: int = 1) -> None:
        self._place = place
        self._first_row = first_row
        self._cells = StringsBuilder()
        self._found: set[str] = set()
        self._arrays = self._uris = True

    def append(self, cell: str) -> None:
        cell = cell.strip()
        self._cells.append(cell)
        self._found.update(separator for separator in ";|" if separator in cell)
        if cell and not (cell.startswith("[") and cell.endswith("]")):
            self._arrays = False
        if cell and self._uris and not _URIS.fullmatch(cell):
            self._uris = False

    def label_sets(self, separator: str | None) -> Iterator[list[str]]:
        cells = self._cells.build()
        if separator is None and self._arrays:
            for row, cell in enumerate(cells, self._first_row):
                yield self._array(row, cell) if cell else []
            return
        if separator is None and self._uris:
            yield from map(URI.findall, cells)
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


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:39] + "…")
