"""``treetop calibrate``: probabilities for a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from .options import LabelledReading, Model, Threads, both_helps, given, load_model
from .reporter import note


def calibration_kinds() -> list[str]:
    """For completion of --kind."""
    from ..calibration import KINDS

    return list(KINDS)


def calibrate_help() -> dict[str, str]:
    return both_helps() | {"kind": f"One of: {', '.join(calibration_kinds())}."}


def calibrate(
    model: Model,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Labelled data that the model was not trained on.")
    ],
    *,
    kind: Annotated[str, typer.Option(metavar="NAME", autocompletion=calibration_kinds)] = "isotonic",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where the model goes.", show_default="MODEL itself"
        ),
    ] = None,
    threads: Threads = None,
    reading: LabelledReading,
) -> None:
    """Make the scores of a trained model probabilities.

    The order of the labels stays. While training, the same is --set calibration=isotonic.
    """
    from ..calibration import kind_named
    from ..store import check_target

    kind_named(kind)
    target = model if output is None else output
    check_target(target)
    classifier = load_model(model)
    trained_with = classifier.config
    classifier.config = trained_with.replace_settings(given({"threads": threads}))
    examples = reading.read(data)
    classifier.calibrate(examples, kind)
    classifier.config = trained_with
    with step(f"Saving {target}"):
        classifier.save(target)
    note(f"{target}: scores are probabilities now ({kind}, learned from {len(examples):,} examples)")
