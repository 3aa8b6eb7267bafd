"""``treetop studies``: lists of variants that `treetop compare` knows by name."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from .options import Json
from .output import heading, show, show_json, show_table


def study_names() -> list[str]:
    """For completion."""
    from ..studies import study_names as names

    return names()


def studies(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", autocompletion=study_names, help="Show the rows of this one."),
    ] = None,
    json: Json = False,
) -> None:
    """List the studies that compare can repeat, or the rows and claims of one."""
    from ..comparison.variants import settings_text
    from ..studies import load_study

    if name is None:
        titles = {study: load_study(study).title for study in study_names()}
        if json:
            show_json(titles)
        else:
            show_table(list(titles.items()))
            show("\nRows and claims of one: treetop studies NAME")
            show("Repeat it on your data: treetop compare DATA --study NAME --report FOLDER")
        return
    study = load_study(name)
    if json:
        show_json(dataclasses.asdict(study))
        return
    heading(study.title)
    show(f"{study.source}\n{study.note}\n")
    rows = [("all rows", "", settings_text(study.settings))]
    rows += [(row.name, row.method, settings_text(row.settings)) for row in study.rows]
    show_table(rows, ("row", "method", "settings"))
    show()
    claims = [(claim.says, claim.first, claim.expects, claim.second) for claim in study.claims]
    show_table(claims, ("claim", "first", "is", "second"))
