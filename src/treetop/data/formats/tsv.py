"""Tab-separated values: one example per line.

A quote is an ordinary character, unless a field begins and ends with one and every quote between is doubled.
Fields cannot contain tabs or line breaks; in a text they are written as spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .examples import one_line
from .options import ReadOptions, WriteOptions
from .tables import Row, read_table, table_rows

_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def read(source: Input, options: ReadOptions) -> Dataset:
    return read_table(source.name, split_rows(source), options)


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    for name, column in (("id", dataset.ids), ("group", dataset.groups)):
        for value in column or ():
            if one_line(value) != value:
                raise DataError(
                    f"the {name} {value!r} cannot be written as tsv: it contains a tab or line break;"
                    " write csv instead"
                )
    file = output.text(path)
    for row in table_rows(dataset, options):
        file.write("\t".join(_quote(one_line(cell)) for cell in row) + "\n")


def split_rows(source: Input) -> Iterator[Row]:
    """The cells of every line that is not empty."""
    for line, content in source.lines():
        if content:
            yield line, [_unquote(cell) for cell in content.split("\t")]


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell[:1] == '"' and _QUOTED.fullmatch(cell) else cell


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if cell[:1] == '"' else cell
