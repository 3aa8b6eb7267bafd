"""Published rows and the measured ones next to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..recipes import ENSEMBLE

if TYPE_CHECKING:
    from ..recipes import Recipe
    from .run import Measured


@dataclass(frozen=True)
class TableRow:
    """A row of a paper's table, or its measured counterpart."""

    model: str
    kind: str
    """published or measured"""
    numbers: Mapping[str, float]
    """Metrics in percent, and times and sizes, by name."""
    source: str = ""


def table_rows(recipe: Recipe, measured: Sequence[Measured]) -> list[TableRow]:
    """For every measured model its published rows, then what was measured; the ensemble first."""
    rows = []
    for model in sorted(measured, key=lambda one: one.name != ENSEMBLE):
        for row in recipe.published_of(model.name):
            title = model.name if row.model.startswith(model.name) else f"{model.name} ({row.model})"
            rows.append(
                TableRow(title, "published", {**row.scores, **row.costs}, f"{row.source}, {row.where}")
            )
        rows.append(TableRow(model.name, "measured", model.numbers))
    return rows


def columns(rows: Sequence[TableRow]) -> list[str]:
    """The numbers that any published row has, with P@k if none has metrics; all if there is no such row."""
    published = [row for row in rows if row.kind == "published"] or rows
    names = list(dict.fromkeys(name for row in published for name in row.numbers))
    return names if any("@" in name for name in names) else ["P@1", "P@3", "P@5", *names]


def cells(rows: Sequence[TableRow]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows as text."""
    names = columns(rows)
    lines = [
        [row.model, row.kind, *(number_text(row.numbers.get(name)) for name in names), row.source]
        for row in rows
    ]
    return ["model", "", *names, "source"], lines


def number_text(value: float | None) -> str:
    """Two digits; more for small numbers, such as hours and gigabytes."""
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"
