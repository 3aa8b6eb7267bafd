"""Published scores as a table, alone or beside measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .output import show_table
from .reporter import note

if TYPE_CHECKING:
    from ..recipes import Published, Recipe

MEASURED = "measured now"


def scores_table(rows: Sequence[Published], measured: Mapping[str, float] | None = None) -> None:
    """A line for every published row, below one of what was measured; columns are what the rows report."""
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    lines = [] if measured is None else [[MEASURED, *(figure(measured.get(name)) for name in names), ""]]
    lines += [
        [row.model, *(figure(row.scores.get(name)) for name in names), f"{row.source}, {row.where}"]
        for row in rows
    ]
    show_table(lines, ["", *names, "source"], right=range(1, len(names) + 1))


def note_published(recipe: Recipe, tested: int) -> None:
    """Says so where there are no published figures, or of another test set."""
    data = recipe.data_set
    if not recipe.published:
        note(f"no published scores of {recipe.name} are at hand")
    elif tested != data.test:
        note(f"the published scores are of {data.test:,} test texts of {data.title}; here are {tested:,}")


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
