"""``treetop recipes``: published settings and scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ..config import value_text
from ..errors import ConfigError
from .options import Json, recipe_choices
from .output import heading, show, show_json, show_table
from .published import score_text, scores_table

if TYPE_CHECKING:
    from ..recipes import Recipe

SHOWN = ("P@1", "P@3", "P@5")
"""Metrics shown in the list."""


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=recipe_choices,
            help="Show a recipe, METHOD/DATA; or list those of a method or of a data set.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List published settings and scores of methods on the benchmark data sets, or show one recipe.

    For a data set, the published tables that compare methods on it follow.
    """
    from ..recipes import all_recipes, find_recipe

    chosen = [
        recipe
        for recipe in all_recipes().values()
        if name in (None, recipe.name, recipe.family, recipe.method, recipe.data_set.name)
    ]
    if name is not None and not chosen:
        if "/" in name:
            find_recipe(name)
        raise ConfigError(f"there is no recipe, method or data set {name!r}; treetop recipes lists all")
    if json:
        show_json([recipe.to_dict() for recipe in chosen])
    elif name is not None and "/" in name:
        _show(chosen[0])
    else:
        _list(chosen)
        if name in {recipe.data_set.name for recipe in chosen}:
            _show_tables(str(name))


def _list(chosen: Iterable[Recipe]) -> None:
    def known(recipe: Recipe) -> str:
        if not any(row.scores for row in recipe.published):
            return "settings only" if recipe.members else "relative scores only"
        return "settings and scores" if recipe.members else "scores only"

    rows = []
    for recipe in chosen:
        first = next((row for row in recipe.published if row.scores), None)
        scores = first.scores if first else {}
        model = first.model if first else ""
        rows.append(
            [recipe.name, *(score_text(scores.get(metric)) for metric in SHOWN), model, known(recipe)]
        )
    show_table(rows, ["recipe", *SHOWN, "scores of", "published"], right=(1, 2, 3))
    show("\nShow one: treetop recipes NAME; train with it: treetop train … --recipe NAME")


def _show_tables(data_set: str) -> None:
    """The published tables that compare methods on a data set, with all their rows."""
    from ..recipes.tables import SYSTEMS, published_tables

    for table in published_tables().values():
        rows = table.on(data_set)
        if table.kind != SYSTEMS or not rows:
            continue
        show()
        heading(f"{table.paper}, {table.where}: {table.title}")
        columns = [name for name in table.columns if any(name in cells for _, cells in rows)]
        lines = [
            [
                row.system,
                *(_cell(name, cells.get(name)) for name in columns),
                "" if row.recipe is None else f"{row.recipe}/{data_set}",
                row.hardware or "",
            ]
            for row, cells in rows
        ]
        hardware = any(row.hardware for row, _ in rows)
        header = ["", *columns, "recipe", *["on"][: int(hardware)]]
        show_table([line[: len(header)] for line in lines], header, right=range(1, len(columns) + 1))
        if table.note:
            show(table.note)
    show("\nAblations of the papers: treetop ablations")


def _cell(column: str, value: float | None) -> str:
    from ..recipes.tables import is_metric

    if value is None:
        return ""
    return score_text(value) if is_metric(column) or "%" in column else f"{value:g}"


def _show(recipe: Recipe) -> None:
    data = recipe.data_set
    heading(
        f"{recipe.name}: {data.title}, {data.train:,} training texts, {data.test:,} test texts,"
        f" {data.labels:,} labels"
    )
    show()
    if recipe.settings is None:
        show("Only scores are published, no settings.")
    else:
        _show_settings(recipe)
        _show_inputs(recipe)
    if recipe.notes:
        show()
    for note in recipe.notes:
        show(note)
    if not recipe.published:
        return
    show()
    show("Published scores")
    scores_table(recipe.published, costs=True)


def _show_inputs(recipe: Recipe) -> None:
    """What a faithful run needs."""
    inputs, needed = recipe.inputs, []
    if inputs.features:
        needed.append(
            f"the TF-IDF features distributed with the texts ({recipe.data_set.features:,} columns)"
        )
    if inputs.label_texts:
        needed.append("the labels' texts")
    if inputs.vectors:
        needed.append(f"word vectors {inputs.vectors}")
    if inputs.vocabulary:
        needed.append(f"the vocabulary {inputs.vocabulary}")
    if needed:
        show(f"\nNeeds: {'; '.join(needed)}")


def _show_settings(recipe: Recipe) -> None:
    """The settings that all members share, then those of each member."""
    members = recipe.members
    shared = [
        name
        for name, value in members[0].settings.items()
        if all(name in member.settings and member.settings[name] == value for member in members)
    ]
    show(f"Settings ({recipe.settings_from})")
    show_table((name, value_text(members[0].settings[name])) for name in shared)
    if len(members) > 1:
        show()
        show(f"Members, combined by the rule {recipe.rule}")
        own = [
            (
                member.name,
                ", ".join(
                    f"{name}={value_text(value)}"
                    for name, value in member.settings.items()
                    if name not in shared
                ),
            )
            for member in members
        ]
        show_table(own)
