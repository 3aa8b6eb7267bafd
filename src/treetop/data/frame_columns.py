"""The columns of pandas and polars frames that hold texts, labels, ids and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError
from ..strings import Strings
from .columns import column_at, column_names, is_frame, is_missing, place_of
from .formats.fields import join_texts, missing_field, text_fields, weight_of
from .formats.label_cells import LabelCells
from .formats.relevance import split_relevances
from .labels import LabelIndexer, index_labels, indicator_labels

TextColumns = str | Sequence[str]
"""A column, or several to join, each on its own line: a list, or ``"title,abstract"``."""


def read_columns(
    frame: Any,
    *,
    text: TextColumns = "text",
    labels: str | Sequence[str] | None = "labels",
    id: str | None = "id",
    group: str | None = None,
    weight: str | None = None,
    label_separator: str | None = None,
    need_labels: bool = True,
    source: str = "the frame",
) -> dict[str, Any]:
    """The fields of a `Dataset` by name; the options are those of `Dataset.from_frame`."""
    if not is_frame(frame):
        raise DataError(f"{source}: {type(frame).__name__} is not a pandas or polars frame; pass one")
    columns = _Columns(frame, source)
    texts = columns.texts(text)
    if labels is None or (labels == "labels" and not need_labels and labels not in columns.names):
        names, Y, relevance = Strings.of([]), None, None
    elif isinstance(labels, str):
        names, Y, relevance = columns.label_sets(labels, label_separator)
    else:
        relevance = None
        names, Y = columns.indicators(labels)
    has_ids = id is not None and (id != "id" or "id" in columns.names)
    return {
        "labels": names,
        "texts": Strings.of(texts),
        "Y": Y,
        "relevance": relevance,
        "weights": None if weight is None else columns.weights(weight),
        "ids": Strings.of(columns.named(id, "id=")) if has_ids and id is not None else None,
        "groups": None if group is None else Strings.of(columns.named(group, "group=")),
        "source": source,
    }


class _Columns:
    def __init__(self, frame: Any, source: str) -> None:
        self.frame = frame
        self.source = source
        self.names = column_names(frame)

    def texts(self, text: TextColumns) -> list[str]:
        fields = text_fields(text, self.names) if isinstance(text, str) else list(text)
        if not fields:
            raise DataError(f"{self.source}: no text column is named; name one with text=")
        parts = [self.values(name, "text=") for name in fields]
        joined = []
        for row, cells in enumerate(zip(*parts, strict=True)):
            there = [cell for cell in cells if not is_missing(cell)]
            if not there:
                raise self.error(
                    row, f"the text in {','.join(fields)!r} is missing; fill it in or drop the row"
                )
            for cell in there:
                if not isinstance(cell, str):
                    kind = type(cell).__name__
                    raise self.error(row, f"{','.join(fields)!r} has type {kind}; make it a string")
            joined.append(there[0] if len(fields) == 1 else join_texts(there))
        return joined

    def label_sets(
        self, column: str, separator: str | None
    ) -> tuple[Strings, sparse.csr_matrix, sparse.csr_matrix | None]:
        """Lists of names, single names, or several names in a string, perhaps with relevances."""
        values = self.values(column, "labels=")
        for row, value in enumerate(values):
            if is_missing(value):
                raise self.error(row, f"{column!r} is missing; an example without labels needs an empty list")
        if values and all(isinstance(value, str) for value in values):
            cells, indexer = LabelCells(self.source, first_row=0), LabelIndexer()
            for value in values:
                cells.append(value)
            for names in cells.label_sets(separator):
                indexer.append(names)
            return split_relevances(*indexer.build(), self.source)
        numbers = (int, float, np.number)
        sets = ([value] if isinstance(value, numbers) else value for value in values)
        return *index_labels(sets, f"{self.source}: "), None

    def indicators(self, columns: Sequence[str]) -> tuple[Strings, sparse.csr_matrix]:
        """A label for each column; rows where it is not 0 have the label."""
        positions = [self.position(name, "labels=") for name in columns]
        chosen = (
            self.frame[:, positions] if not hasattr(self.frame, "iloc") else self.frame.iloc[:, positions]
        )
        return indicator_labels(chosen, self.source)

    def named(self, column: str, option: str) -> list[str]:
        """A column of names: ids or groups."""
        values = self.values(column, option)
        for row, value in enumerate(values):
            if is_missing(value):
                raise self.error(row, f"{column!r} is missing; fill it in or drop the row")
        return [str(value) for value in values]

    def weights(self, column: str) -> npt.NDArray[np.float32]:
        """A column of weights."""
        values = enumerate(self.values(column, "weight="))
        numbers = [
            weight_of(value, f"{self.source}, {place_of(self.frame, row)}", column) for row, value in values
        ]
        return np.array(numbers, np.float32)

    def values(self, column: str, option: str) -> list[Any]:
        return column_at(self.frame, self.position(column, option))

    def position(self, column: str, option: str) -> int:
        name = str(column)
        if name not in self.names:
            raise missing_field(self.source, name, self.names, option, kind="column")
        if self.names.count(name) > 1:
            raise DataError(
                f"{self.source}: {self.names.count(name)} columns are named {name!r}; rename them"
            )
        return self.names.index(name)

    def error(self, row: int, what: str) -> DataError:
        return DataError(f"{self.source}, {place_of(self.frame, row)}: {what}")
