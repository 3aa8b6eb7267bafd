"""``treetop update``: more examples and labels for a trained model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
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
            help="What the model was trained on, unless it was trained with --set keep_data=true.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where the model goes.", show_default="MODEL itself"
        ),
    ] = None,
    new_positives: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Solve a label or cluster again when its texts have grown by more.",
            show_default="the model's setting",
        ),
    ] = None,
    new_examples: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Or when the texts that it is told from its siblings with have grown by more.",
            show_default="the model's setting",
        ),
    ] = None,
    label_texts: LabelTexts = None,
    threads: Threads = None,
    reading: LabelledReading,
) -> None:
    """Add examples, also of new labels, to a trained model without training it from scratch.

    The vocabulary and the label tree stay; new labels join the tree.
    """
    from ..store import check_target

    target = model if output is None else output
    check_target(target)
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
    more = classifier.statistics["labels"] - labels
    note(
        f"{target}: {len(added):,} examples and {more:,} labels more,"
        f" {classifier.statistics['examples']:,} examples in all, {duration(time.monotonic() - began)}"
    )
