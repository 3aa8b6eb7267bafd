"""The published rows of a recipe, gathered from the tables of all papers.

A row of two tables of a paper, such as P@k in one and PSP@k in another, is one row of the recipe. So are the
quotations of a row in other papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .papers import Paper, read_papers
from .recipe import ENSEMBLE, Member, PublishedScores
from .tables import PublishedTable, TableRow, is_metric, published_tables, table_numbers


@dataclass
class _Gathered:
    """What the tables say of one row so far."""

    tables: list[int | str] = field(default_factory=list)
    quoted_in: list[str] = field(default_factory=list)
    hardware: list[str] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)

    def add(self, table: PublishedTable, row: TableRow, data_set: str, own: Sequence[int | str]) -> None:
        for name, value in row.cells[data_set].items():
            known = self.scores if is_metric(name) else self.costs
            if known.setdefault(name, value) != value:
                raise ValueError(
                    f"{table.name}, {row.system}: {name} is {value} here, {known[name]} elsewhere"
                )
        self.tables += own
        if row.quoted is not None:
            self.quoted_in.append(f"{table.paper.venue}, {table.where}")
        if row.hardware is not None:
            self.hardware.append(f"{table.where}: {row.hardware}")

    @property
    def where(self) -> str:
        parts = [table_numbers(self.tables)] if self.tables else []
        if self.quoted_in:
            parts.append(f"quoted in {' and '.join(self.quoted_in)}")
        if self.hardware:
            parts.append(f"times of {'; '.join(self.hardware)}")
        return "; ".join(parts)


def published_rows(family: str, data_set: str, members: Sequence[Member]) -> tuple[PublishedScores, ...]:
    """The rows of the recipe ``family/data_set``: those of its members and their ensemble first."""
    gathered: dict[tuple[Paper, str, str | None], _Gathered] = {}
    for table in published_tables().values():
        for row in table.rows:
            if row.recipe == family and data_set in row.cells:
                paper, own = _source(table, row)
                key = paper, row.model, _of(row, members)
                gathered.setdefault(key, _Gathered()).add(table, row, data_set, own)
    rows = [
        PublishedScores(model, paper, found.where, found.scores, of, found.costs)
        for (paper, model, of), found in gathered.items()
    ]
    return tuple(sorted(rows, key=lambda row: row.of is None))


def _source(table: PublishedTable, row: TableRow) -> tuple[Paper, Sequence[int | str]]:
    """The paper that a row's numbers come from, and its tables."""
    if row.quoted is None:
        return table.paper, table.tables
    key, _, number = row.quoted.partition(", Table ")
    return read_papers()[key], [int(number)] if number else []


def _of(row: TableRow, members: Sequence[Member]) -> str | None:
    if row.of is None or not members:
        return None
    if row.of == "first" or (row.of == ENSEMBLE and len(members) == 1):
        return members[0].name
    return row.of
