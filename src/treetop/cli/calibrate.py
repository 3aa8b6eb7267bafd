"""``treetop calibrate``: turns the scores of a trained model into probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from ..units import counted
from .command import reserve
from .options import LabelledReading, Model, Threads, both_helps, given, load_model
from .reporter import note


def calibration_kinds() -> list[str]:
    """For completion of --kind."""
    from ..calibration import KINDS

    return list(KINDS)


def calibrate_help() -> dict[str, str]:
    return both_helps() | {"kind": f"Kind of calibration: {', '.join(calibration_kinds())}."}


def calibrate(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled data held out from training.")],
    *,
    kind: Annotated[str, typer.Option(metavar="NAME", autocompletion=calibration_kinds)] = "isotonic",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder for the calibrated model.",
            show_default="MODEL itself",
        ),
    ] = None,
    threads: Threads = None,
    reading: LabelledReading,
) -> None:
    """Turn the scores of a trained model into probabilities.

    The order of labels does not change. To calibrate while training, use --set calibration=isotonic.
    """
    from ..calibration import kind_named

    kind_named(kind)
    target = model if output is None else output
    reserve(target)
    classifier = load_model(model)
    trained_with = classifier.config
    classifier.config = trained_with.replace_settings(given({"threads": threads}))
    examples = reading.read(data)
    classifier.calibrate(examples, kind)
    classifier.config = trained_with
    with step(f"Saving {target}"):
        classifier.save(target)
    note(f"{target}: scores are now probabilities ({kind}, fitted on {counted(len(examples), 'example')})")
