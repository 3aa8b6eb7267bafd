"""``treetop data split``: a held-out part of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from ..progress import step
from .data_convert import note_written
from .options import Group, LabelledReading, Weight
from .output import check_output


def split(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file, or a folder with --split.")],
    *,
    output_train: Annotated[Path, typer.Option(metavar="FILE", help="File for the larger part.")],
    output_test: Annotated[Path, typer.Option(metavar="FILE", help="File for the held-out part.")],
    fraction: Annotated[float, typer.Option(help="Share of the examples to hold out.")] = 0.2,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed; the same seed gives the same split.")
    ] = 0,
    group: Group = None,
    weight: Weight = None,
    reading: LabelledReading,
) -> None:
    """Hold out a share of a data set, at random but repeatable.

    With --group, the examples of a group (versions of a document, texts of an author) stay together.
    """
    from ..data import write

    for path in (output_train, output_test):
        check_output(path)
    if output_train.resolve() == output_test.resolve():
        raise ConfigError("--output-train and --output-test name the same file: choose two")
    examples = reading.read(data, group=group, weight=weight, need_labels=False)
    parts = examples.split(fraction, seed=seed, by_group=group is not None)
    for part, path in zip(parts, (output_train, output_test), strict=True):
        with step(f"Writing {path.name}"):
            write(part, path)
        note_written(part, path)
