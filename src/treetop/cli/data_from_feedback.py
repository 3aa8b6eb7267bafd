"""``treetop data from-feedback``: what people said of suggestions, as training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..progress import step
from .output import check_output
from .reporter import note


def from_feedback(
    feedback: Annotated[Path, typer.Argument(metavar="FEEDBACK", help="The file that serve keeps.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the examples go.")],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only feedback on this model.", show_default="all models"),
    ] = None,
    after: Annotated[int, typer.Option(metavar="ID", min=0, help="Only feedback newer than this one.")] = 0,
) -> None:
    """Make training data of the feedback that the server keeps, ready for treetop update.

    Each text once, with the labels that were accepted or added and not rejected later. The note at the end
    says which --after leaves out what was read now.
    """
    from ..data import write
    from ..serve.feedback_data import read_feedback

    check_output(output)
    with step(f"Reading {feedback.name}"):
        learned = read_feedback(feedback, model=model, after=after)
    write(learned.examples, output)
    left_out = f", {learned.unlabelled:,} texts without a right label left out" if learned.unlabelled else ""
    note(
        f"{output}: {len(learned.examples):,} examples from {learned.feedbacks:,} feedbacks{left_out};"
        f" next time --after {learned.last}"
    )
