"""``treetop ablations``: published ablations that `treetop compare` can repeat."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from .options import Json
from .output import heading, show, show_json, show_table
from .reporter import note


def ablation_names() -> list[str]:
    """For completion."""
    from ..ablations import ablation_names as names

    return names()


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[ABLATION]", autocompletion=ablation_names, help="Ablation whose rows and claims to show."
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
    rows += [(row.name, row.method, settings_text(row.settings)) for row in ablation.rows]
    show_table(rows, ("row", "method", "settings"))
    show()
    claims = [(claim.says, claim.first, claim.expects, claim.second) for claim in ablation.claims]
    show_table(claims, ("claim", "first", "is", "second"))


def studies(name: Name = None, json: Json = False) -> None:
    """The former name of ablations."""
    note("treetop studies is now treetop ablations")
    ablations(name, json)
