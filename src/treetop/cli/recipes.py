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
    """List published settings and scores of methods on the benchmark data sets, or show one recipe."""
    from ..recipes import all_recipes, find_recipe

    chosen = [
        recipe
        for recipe in all_recipes().values()
        if name in (None, recipe.name, recipe.method, recipe.data_set.name)
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


def _list(chosen: Iterable[Recipe]) -> None:
    def known(recipe: Recipe) -> str:
        if not recipe.published:
            return "settings only"
        return "scores only" if recipe.settings is None else "settings and scores"

    rows = []
    for recipe in chosen:
        scores = recipe.published[0].scores if recipe.published else {}
        rows.append([recipe.name, *(score_text(scores.get(metric)) for metric in SHOWN), known(recipe)])
    show_table(rows, ["recipe", *SHOWN, "published"], right=(1, 2, 3))
    show("\nShow one: treetop recipes NAME; train with it: treetop train … --recipe NAME")


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
    for note in recipe.notes:
        show(note)
    if not recipe.published:
        return
    show()
    show("Published scores")
    scores_table(recipe.published, costs=True)


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
