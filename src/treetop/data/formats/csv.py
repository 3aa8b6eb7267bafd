"""Comma-separated values: quoted fields may contain commas, line breaks and doubled quotes (RFC 4180).

Lines are written with CR LF, as in that standard, and read with either. Where the comma is the decimal mark,
spreadsheets separate cells by ``;`` or tabs: so does this reader if the header shows it.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .options import ReadOptions, WriteOptions
from .tables import Row, read_table, table_rows, wanted_columns

_LONGEST_FIELD = 2**31 - 1


def read(source: Input, options: ReadOptions) -> Dataset:
    return read_table(source.name, split_rows(source, _separator(source.first_line(), options)), options)


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    csv.writer(output.text(path)).writerows(table_rows(dataset, options))


def _separator(header: str, options: ReadOptions) -> str:
    """The separator of cells: a comma, unless the first line names a wanted column only with another one."""
    for separator in ",;\t":
        with contextlib.suppress(csv.Error):  # not a header; `split_rows` raises the error
            cells = [cell.strip() for cell in next(csv.reader([header], delimiter=separator), [])]
            if not wanted_columns(options, cells).isdisjoint(cells):
                return separator
    return ","


def split_rows(source: Input, separator: str = ",") -> Iterator[Row]:
    """The cells of every record that is not empty, with the line it begins on."""
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)  # the default is 128 KB, and many texts are longer
    reader = csv.reader((text for _, text in source.lines(keep_ends=True)), delimiter=separator, strict=True)
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
