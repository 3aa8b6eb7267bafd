"""``treetop predict``: the best labels of texts, as JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from .options import Device, Int8, Model, Reading, Threads, load_model
from .output import check_output


def predict(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="Texts or features; - reads standard input.")],
    *,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", "-k", help="Maximum number of labels per text.", show_default="5, or 100 with --threshold"
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Keep only labels with a score strictly above this.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="JSON Lines file to write.", show_default="standard output"
        ),
    ] = None,
    threads: Threads = None,
    device: Device = None,
    int8: Int8 = None,
    reading: Reading,
) -> None:
    """Predict the best labels of each text.

    Writes a line {"id": …, "labels": [{"label": …, "score": …}, …]} for each text, with the best label first.
    """
    check_output(output)
    classifier = load_model(model, threads, device, int8)
    examples = reading.read(data)
    with step("Predicting"):
        predictions = classifier.predict(examples, k, threshold=threshold)
    predictions.write("-" if output is None else output)
