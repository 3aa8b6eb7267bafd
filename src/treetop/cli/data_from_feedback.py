"""``treetop data from-feedback``: feedback on suggestions, as training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from .output import check_output
from .reporter import note


def from_feedback(
    feedback: Annotated[
        Path, typer.Argument(metavar="FEEDBACK", help="Feedback file written by treetop serve.")
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the training examples.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Use only feedback on this model.", show_default="all models"),
    ] = None,
    after: Annotated[int, typer.Option(metavar="ID", min=0, help="Use only feedback with a larger id.")] = 0,
) -> None:
    """Turn the server's feedback into training data for treetop update.

    Writes each text once, with the labels that were accepted or added and not rejected later. The note at the
    end gives the --after ID with which the next run will read only newer feedback.
    """
    from ..data import write
    from ..serve.feedback_data import read_feedback

    check_output(output)
    with step(f"Reading {feedback.name}"):
        data = read_feedback(feedback, model=model, after=after)
    write(data.examples, output)
    read = _counted(data.entries, "feedback entry", "feedback entries")
    skipped = _counted(data.unlabelled, "text")
    left_out = f", {skipped} without a correct label left out" if data.unlabelled else ""
    note(
        f"{output}: {_counted(len(data.examples), 'training example')} from {read}{left_out};"
        f" next time use --after {data.last_id}"
    )


def _counted(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
