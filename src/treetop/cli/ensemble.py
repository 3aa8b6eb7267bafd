"""``treetop ensemble``: several trained models combined into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from ..progress import step
from ..units import counted
from .command import reserve
from .options import LabelledReading, Threads, both_helps, given, load_model
from .output import show_table
from .reporter import note

if TYPE_CHECKING:
    from ..methods.ensemble import Ensemble


def ensemble_rules() -> list[str]:
    """Completions of --rule."""
    from ..methods.ensemble import EnsembleConfig

    return next(list(item.choices or ()) for item in EnsembleConfig().settings() if item.name == "rule")


def ensemble_help() -> dict[str, str]:
    return both_helps() | {"rule": f"Rule that combines the models' rankings: {', '.join(ensemble_rules())}."}


def ensemble(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the ensemble.")],
    models: Annotated[list[Path], typer.Argument(metavar="MODEL…", help="Model folders of any methods.")],
    *,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=ensemble_rules,
            show_default="mean; weighted with --weights, learned with --validation",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="W,W,…", help="Weight of each MODEL, for --rule weighted.", show_default=False),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labelled data that no MODEL was trained on, for --rule learned or stacked.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    reading: LabelledReading,
) -> None:
    """Combine trained models of any methods into one model."""
    from ..methods.ensemble import LEARNED, Ensemble

    reserve(output)
    if any(output.resolve() == model.resolve() for model in models):
        raise ConfigError(f"{output} is one of the models: choose another folder for the ensemble")
    if rule is None:
        rule = "weighted" if weights is not None else "mean" if validation is None else "learned"
    if (rule in LEARNED) != (validation is not None):
        raise ConfigError(
            f"--validation and --rule {' or '.join(LEARNED)} must be used together: give both, or neither"
        )
    members = [load_model(model) for model in models]
    options = {"rule": rule} | given({"weights": weights, "threads": threads})
    if validation is None:
        combined = Ensemble(members, **options)
    else:
        combined = Ensemble.learn(members, reading.read(validation), **options)
    with step(f"Saving {output}"):
        combined.save(output)
    _report(output, models, combined)


def _report(output: Path, models: list[Path], combined: Ensemble) -> None:
    rows = [
        (str(path), member.name, f"{weight:.3f}")
        for path, member, weight in zip(models, combined.members, combined.weights, strict=True)
    ]
    show_table(rows, ("model", "method", "weight"), right=(2,))
    sizes = f"{counted(len(models), 'model')}, {counted(combined.statistics['labels'], 'label')}"
    note(f"{output}: {sizes}, {combined.config.rule}")
