"""Published scores as a table, alone or with measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .output import show_table
from .reporter import note

if TYPE_CHECKING:
    from ..recipes import PublishedScores, Recipe

MEASURED = "measured now"


def scores_table(rows: Sequence[PublishedScores], measured: Mapping[str, float] | None = None) -> None:
    """A line for each published row, after the measured one; columns are the published metrics."""
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    lines = [] if measured is None else [[MEASURED, *(score_text(measured.get(name)) for name in names), ""]]
    lines += [
        [row.model, *(score_text(row.scores.get(name)) for name in names), f"{row.source}, {row.where}"]
        for row in rows
    ]
    show_table(lines, ["", *names, "source"], right=range(1, len(names) + 1))


def note_published(recipe: Recipe, tested: int) -> None:
    """Notes if no scores are published, or if they are for another test set."""
    data = recipe.data_set
    if not recipe.published:
        note(f"{recipe.name} has no published scores to compare with")
    elif tested != data.test:
        note(
            f"the published scores are for {data.test:,} test texts of {data.title}; this test set has"
            f" {tested:,}"
        )


def score_text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
