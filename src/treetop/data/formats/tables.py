"""Tables of rows and columns: the common part of csv and tsv.

A first row that contains the name of the text column (or of any other wanted column) is a header. Columns may
be given by number from 0 instead; a file without a header needs that for text and labels. A cell that is
equal to such a number does not make a header; the cells 0, 1, 2, …, as pandas writes them, do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...errors import DataError
from ...units import counted
from ..dataset import Dataset
from .examples import Examples
from .fields import join_texts, missing_field, text_fields, weight_of
from .label_cells import LabelCells
from .options import Column, ReadOptions, WriteOptions
from .written_cells import write_cells

Row = tuple[int, list[str]]
"""Line number and cells."""


def read_table(name: str, rows: Iterator[Row], options: ReadOptions) -> Dataset:
    examples = Examples(name, options.need_labels)
    line, first = next(rows, (1, []))
    if not first:
        return examples.build()
    columns = _Columns(examples.place(line), first, options)
    cells = None if columns.labels is None else LabelCells(name)
    if not columns.header:
        rows = _chained((line, first), rows)
    for line, row in rows:
        if len(row) != len(first):
            columns_here = counted(len(row), "column")
            raise DataError(f"{examples.place(line)}: {columns_here}, but the first row has {len(first)}")
        text = row[columns.text[0]] if len(columns.text) == 1 else join_texts([row[c] for c in columns.text])
        examples.append(
            line,
            text,
            None if columns.id is None else row[columns.id],
            None if columns.group is None else row[columns.group],
            None
            if columns.weight is None
            else weight_of(row[columns.weight], examples.place(line), str(options.weight)),
        )
        if cells is not None:
            assert columns.labels is not None
            cells.append(row[columns.labels])
    if cells is not None:
        for names in cells.label_sets(options.label_separator):
            examples.labels.append(names)
    return examples.build()


def wanted_columns(options: ReadOptions, there: Collection[str]) -> set[str]:
    """The names of the columns to read, without those that are numbers of columns."""
    texts = text_fields(options.text, there)
    named = [*texts, options.labels, options.id, options.group, options.weight]
    return {str(name) for name in named if name is not None and not _is_number(name, there)}


def _is_number(column: Column, there: Collection[str]) -> bool:
    """Whether it is the number of a column, and cells are not just these numbers."""
    cells = list(there)
    numbered = cells == [str(number) for number in range(len(cells))]
    return str(column).isdecimal() and int(column) < len(cells) and not numbered


def table_rows(dataset: Dataset, options: WriteOptions) -> Iterator[list[str]]:
    """A header and the rows: id, text, labels, group and weight, where the data have them."""
    assert dataset.texts is not None
    columns: list[tuple[str, Iterator[str]]] = []
    if dataset.ids is not None:
        columns.append((options.id, iter(dataset.ids)))
    columns.append((options.text, iter(dataset.texts)))
    if dataset.Y is not None:
        columns.append((options.labels, write_cells(dataset, options.label_separator)))
    if dataset.groups is not None:
        columns.append((options.group, iter(dataset.groups)))
    if dataset.weights is not None:
        columns.append((options.weight, map(str, dataset.weights)))
    yield [name for name, _ in columns]
    yield from map(list, zip(*(values for _, values in columns), strict=True))


class _Columns:
    """Which column numbers hold the text, the labels, the id, the group and the weight."""

    def __init__(self, place: str, first: list[str], options: ReadOptions) -> None:
        self._place = place
        self._first = [cell.strip() for cell in first]
        texts = text_fields(options.text, self._first)
        self.header = not wanted_columns(options, self._first).isdisjoint(self._first)
        self.text = [self._needed(name, "--text") for name in texts]
        self.labels = self._find(options.labels)
        if self.labels is None and options.need_labels:
            raise self._missing(options.labels, "--labels")
        self.id = None if options.id is None else self._find(options.id)
        if self.id is None and options.id not in (None, "id"):
            raise self._missing(str(options.id), "--id")
        self.group = None if options.group is None else self._needed(options.group, "--group")
        self.weight = None if options.weight is None else self._needed(options.weight, "--weight")

    def _find(self, column: Column) -> int | None:
        """By name, else by number; a number past the last column is a separate error."""
        if isinstance(column, str) and column in self._first and not _is_number(column, self._first):
            return self._first.index(column)
        if not str(column).isdecimal():
            return None
        if int(column) >= len(self._first):
            raise DataError(
                f"{self._place}: no column {column}; the table has {len(self._first)}, numbered from 0"
            )
        return int(column)

    def _needed(self, column: Column, option: str) -> int:
        found = self._find(column)
        if found is None:
            raise self._missing(column, option)
        return found

    def _missing(self, column: Column, option: str) -> DataError:
        error = missing_field(self._place, column, self._first, option, kind="column")
        return error if self.header else DataError(f"{error}, or by its number from 0 if there is no header")


def _chained(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows
