"""Tables of papers: published numbers, stated once, for recipes and ablations.

tables/PAPER-NUMBER.json has the columns of a table, and its rows in the order of the paper:

    system     the row's name in the table
    recipe     the first part of the recipe's name whose rows this is one of; without it, of none
    of         a member's name, ``ensemble``, or ``first`` for the first member; without it, of neither
    model      what the row is, in the recipe's list
    quoted     the paper that the numbers come from, if another
    hardware   what times were measured on, if not what the table says
    scores     the cells by data set
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from .papers import Paper, read_papers

Cells = Mapping[str, float]
"""Numbers of a row by column."""
SYSTEMS, VARIANTS = "systems", "variants"


@dataclass(frozen=True)
class TableRow:
    """A row of a published table."""

    system: str
    cells: Mapping[str, Cells]
    """Its numbers by data set."""
    recipe: str | None = None
    of: str | None = None
    model: str = ""
    quoted: str | None = None
    hardware: str | None = None


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper; its numbers on all data sets."""

    name: str
    paper: Paper
    tables: tuple[int | str, ...]
    """Its numbers in the paper, if several tables show the same systems."""
    title: str
    kind: str
    """It compares systems, or variants of one."""
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    note: str = ""

    @property
    def where(self) -> str:
        """``Tables 3 and 8``"""
        return table_numbers(self.tables)

    def on(self, data_set: str) -> list[tuple[TableRow, Cells]]:
        """The rows that have numbers on a data set, with these."""
        return [(row, row.cells[data_set]) for row in self.rows if data_set in row.cells]

    @property
    def data_sets(self) -> list[str]:
        """All data sets of the table."""
        return list(dict.fromkeys(name for row in self.rows for name in row.cells))


def is_metric(column: str) -> bool:
    """Whether a column is a metric, such as ``P@1``, and not a time or a size."""
    name, at, k = column.partition("@")
    return bool(at) and k.isdigit() and name.isalpha()


def table_numbers(tables: Sequence[int | str]) -> str:
    """``Table 3``, ``Tables 3, 5 and 8``, or the name of a file."""
    numbers = sorted(item for item in set(tables) if isinstance(item, int))
    others = [item for item in dict.fromkeys(tables) if isinstance(item, str)]
    texts = []
    if numbers:
        *most, last = map(str, numbers)
        texts.append(f"Tables {', '.join(most)} and {last}" if most else f"Table {last}")
    return ", ".join(texts + others)


@functools.cache
def published_tables() -> dict[str, PublishedTable]:
    """All tables by name, in the order of the papers and of their tables."""
    papers = list(read_papers())
    folder = files(__package__) / "tables"
    names = [item.name.removesuffix(".json") for item in folder.iterdir() if item.name.endswith(".json")]

    def place(name: str) -> tuple[int, int, str]:
        paper, _, number = name.partition("-")
        return papers.index(paper), int(number) if number.isdigit() else 10**6, number

    return {
        name: _table(name, json.loads((folder / f"{name}.json").read_text("utf-8")))
        for name in sorted(names, key=place)
    }


def _table(name: str, content: Mapping[str, Any]) -> PublishedTable:
    columns = tuple(content["columns"])
    rows = tuple(_rows(content["rows"], columns, content.get("hardware")))
    return PublishedTable(
        name,
        read_papers()[content["paper"]],
        tuple(content["tables"]),
        content["title"],
        content["kind"],
        columns,
        rows,
        content.get("note", ""),
    )


def _rows(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], hardware: str | None
) -> Iterator[TableRow]:
    for row in rows:
        cells = {
            data_set: {name: cell for name, cell in zip(columns, values, strict=True) if cell is not None}
            for data_set, values in row["scores"].items()
        }
        given = {key: value for key, value in row.items() if key != "scores"}
        yield TableRow(cells=cells, **{"hardware": hardware} | given)
