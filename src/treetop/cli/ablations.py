"""``treetop ablations``: published ablations that `treetop compare` can repeat."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json
from .output import heading, show, show_json, show_table
from .published import score_text
from .reporter import note

if TYPE_CHECKING:
    from ..ablations import Ablation


def ablation_names() -> list[str]:
    """For completion."""
    from ..ablations import ablation_names as names

    return names()


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[ABLATION[/DATA]]",
        autocompletion=ablation_names,
        help="Ablation whose rows and claims to show; with DATA, its scores on another data set.",
    ),
]


def ablations(name: Name = None, json: Json = False) -> None:
    """List the published ablations that compare can repeat, or the rows and claims of one."""
    from ..ablations import load_ablation
    from ..comparison.variants import settings_text

    if name is None:
        titles = {known: load_ablation(known).title for known in ablation_names()}
        if json:
            show_json(titles)
        else:
            show_table(list(titles.items()))
            show("\nRows and claims of one: treetop ablations NAME")
            show("Repeat it on your data: treetop compare DATA --ablation NAME --report FOLDER")
        return
    ablation = load_ablation(name)
    if json:
        show_json(dataclasses.asdict(ablation))
        return
    heading(ablation.title)
    show(f"{ablation.source}\n{ablation.note}\n")
    rows = [("all rows", "", settings_text(ablation.settings))]
    rows += [(row.name, row.method or "published only", settings_text(row.settings)) for row in ablation.rows]
    show_table(rows, ("row", "method", "settings"))
    for setting, what in ablation.needs.items():
        show(f"\nNeeds {what}: --set {setting}=…")
    if ablation.recipe is not None:
        show(f"\nNAME/DATA has the settings of the recipe {ablation.recipe}/DATA, too.")
    _show_published(ablation)
    show()
    claims = [(claim.says, claim.first, claim.expects, claim.second) for claim in ablation.claims]
    show_table(claims, ("claim", "first", "is", "second"))


def _show_published(ablation: Ablation) -> None:
    metrics = list(dict.fromkeys(name for scores in ablation.published.values() for name in scores))
    if not metrics:
        return
    show()
    heading(f"published on {ablation.published_on}")
    rows = [
        [name, *(score_text(scores.get(metric)) for metric in metrics)]
        for name, scores in ablation.published.items()
    ]
    show_table(rows, ["row", *metrics], right=range(1, len(metrics) + 1))
    if len(ablation.data_sets) > 1:
        known = ", ".join(ablation.data_sets)
        show(f"Data sets: {known}. Show another: treetop ablations {ablation.name}/DATA")


def studies(name: Name = None, json: Json = False) -> None:
    """The former name of ablations."""
    note("treetop studies is now treetop ablations")
    ablations(name, json)
