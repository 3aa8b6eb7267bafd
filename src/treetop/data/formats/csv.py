"""Comma-separated values: quoted fields may hold commas, line breaks and doubled quotes (RFC 4180).

Lines end with CR LF when written, as that standard says; either is read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .options import ReadOptions, WriteOptions
from .tables import Row, read_table, table_rows

_LONGEST_FIELD = 2**31 - 1


def read(source: Input, options: ReadOptions) -> Dataset:
    return read_table(source.name, split_rows(source), options)


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    csv.writer(output.text(path)).writerows(table_rows(dataset, options))


def split_rows(source: Input) -> Iterator[Row]:
    """The cells of every record that is not empty, with the line it begins on."""
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)  # the default of 128 KB is shorter than many a text
    reader = csv.reader((text for _, text in source.lines(keep_ends=True)), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{source.name} line {line}: not valid CSV ({error})") from None
        if row is None:
            return
        if row:
            yield line, row
