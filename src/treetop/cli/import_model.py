"""``treetop import``: a model of PECOS as a model folder of treetop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from ..units import counted, file_size
from .command import reserve
from .options import LabelledReading
from .reporter import duration, note


def import_model(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="XR-Linear or text2text model folder of PECOS.")
    ],
    *,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FOLDER", help="Folder for the model.")],
    label_names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Names of the labels in PECOS's order, one on each line.",
            show_default="the items of a text2text model, else 0, 1, …",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Its training data, to store how often each label occurs, for PSP@k.",
            show_default=False,
        ),
    ] = None,
    reading: LabelledReading,
) -> None:
    """Convert a model of PECOS into a treetop model with the same predictions.

    Other commands also read PECOS's folder itself, but more slowly, and treetop serve does not.
    """
    from ..methods.pecos import load_pecos

    reserve(model)
    began = time.monotonic()
    examples = None if train is None else reading.read(train, usual_split="train")
    imported = load_pecos(folder, labels=label_names, train=examples)
    with step(f"Saving {model}"):
        imported.save(model)
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    note(
        f"{model}: {counted(len(imported.known_labels), 'label')}, {file_size(size)},"
        f" {duration(time.monotonic() - began)}"
    )
