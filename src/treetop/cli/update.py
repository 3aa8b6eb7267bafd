"""``treetop update``: adds examples and labels to a trained model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from ..units import counted
from .command import reserve
from .options import LabelledReading, LabelTexts, Model, Threads, given, load_model
from .reporter import duration, note


def update(
    model: Model,
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Labelled texts or features to add.")],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="OLD",
            help="Training data of the model, unless it was trained with --set keep_data=true.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder for the updated model.", show_default="MODEL"
        ),
    ] = None,
    new_positives: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Retrain the classifier of a label or cluster if its texts have grown by more than SHARE.",
            show_default="the model's setting",
        ),
    ] = None,
    new_examples: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Also retrain it if its texts and its siblings' together have grown by more than SHARE.",
            show_default="the model's setting",
        ),
    ] = None,
    label_texts: LabelTexts = None,
    threads: Threads = None,
    reading: LabelledReading,
) -> None:
    """Add examples, with known or new labels, to a trained model without retraining it from scratch.

    The vocabulary stays as it is; new labels are added to the label tree.
    """

    target = model if output is None else output
    reserve(target)
    began = time.monotonic()
    classifier = load_model(model)
    trained_with = classifier.config
    classifier.config = trained_with.replace_settings(given({"threads": threads}))
    labels = len(classifier.known_labels)
    added = reading.read(new, label_texts=label_texts)
    old = None if data is None else reading.read_beside(data, "train")
    classifier.update(added, old, **given({"new_positives": new_positives, "new_examples": new_examples}))
    classifier.config = trained_with
    with step(f"Saving {target}"):
        classifier.save(target)
    new_labels = classifier.statistics["labels"] - labels
    note(
        f"{target}: added {counted(len(added), 'example')} and {counted(new_labels, 'label')};"
        f" {classifier.statistics['examples']:,} examples in total, {duration(time.monotonic() - began)}"
    )
