"""Published scores as a table, alone or with measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .output import show_table
from .reporter import note

if TYPE_CHECKING:
    from ..recipes import PublishedScores, Recipe

MEASURED = "measured now"


def comparable(recipe: Recipe, manifest: Mapping[str, Any] | None) -> list[PublishedScores]:
    """The published rows to compare a model with, by its manifest: an ensemble's or those of single models.

    A file of predictions has no manifest, and may be compared with all rows.
    """
    from ..recipes import ENSEMBLE
    from ..registry import METHODS

    if manifest is None or not recipe.members:
        rows: Sequence[PublishedScores] = recipe.published
    elif METHODS[manifest["method"]].combines_models:
        rows = recipe.published_of(ENSEMBLE)
    elif manifest["data"].get("recipe") == recipe.name and "recipe_member" in manifest["data"]:
        rows = recipe.published_of(manifest["data"]["recipe_member"])
    else:
        rows = [row for row in recipe.published if row.of not in (None, ENSEMBLE)]
    return [row for row in rows if row.scores]


def scores_table(
    rows: Sequence[PublishedScores], measured: Mapping[str, float] | None = None, *, costs: bool = False
) -> None:
    """A line for each published row, after the measured one; columns are the published metrics.

    ``costs``: whether training times and the like are columns too.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    others = list(dict.fromkeys(name for row in rows for name in row.costs)) if costs else []
    lines = []
    if measured is not None:
        numbers = [score_text(measured.get(name)) for name in names]
        lines.append([MEASURED, "", *numbers, *("" for _ in others), ""])
    for row in rows:
        numbers = [score_text(row.scores.get(name)) for name in names]
        numbers += [f"{row.costs[name]:g}" if name in row.costs else "" for name in others]
        lines.append([row.model, row.of or "", *numbers, f"{row.source}, {row.where}"])
    header = ["", "of", *names, *others, "source"]
    show_table(lines, header, right=range(2, len(header) - 1))


def note_published(recipe: Recipe, rows: Sequence[PublishedScores], tested: int) -> None:
    """Notes if no such scores are published, or if they are for another test set."""
    data = recipe.data_set
    if not any(row.scores for row in recipe.published):
        note(f"{recipe.name} has no published scores to compare with")
    elif not rows:
        kinds = ", ".join(dict.fromkeys(row.model for row in recipe.published if row.scores))
        note(
            f"{recipe.name} has no published scores of such a model, but others ({kinds}): treetop recipes"
            f" {recipe.name}"
        )
    elif tested != data.test:
        note(
            f"the published scores are for {data.test:,} test texts of {data.title}; this test set has"
            f" {tested:,}"
        )


def score_text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
