"""``treetop data convert``: a data set in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..progress import step
from ..units import counted
from .options import Group, LabelledReading, LabelTexts, Weight, format_names
from .output import check_output
from .reporter import note

if TYPE_CHECKING:
    from ..data import Dataset


def convert(
    data: Annotated[Path, typer.Argument(metavar="IN", help="A file or folder; - reads standard input.")],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File or folder to write; compressed if it ends in .gz, .xz, .zst or .bz2."
        ),
    ],
    *,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Format of OUT.",
            autocompletion=format_names,
            show_default="from its name",
        ),
    ] = None,
    to_split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Split to write in a folder of splits.", show_default="train"),
    ] = None,
    group: Group = None,
    weight: Weight = None,
    label_texts: LabelTexts = None,
    reading: LabelledReading,
) -> None:
    """Convert a data set to another format."""
    from ..data import write
    from ..data.formats import named_format
    from ..data.formats.recognise import named_by

    wanted = named_by(output) if to is None else named_format(to)
    if wanted is None or not (wanted.has_splits or wanted.is_folder):
        check_output(output)
    examples = reading.read(data, group=group, weight=weight, label_texts=label_texts, need_labels=False)
    with step(f"Writing {output.name}"):
        write(examples, output, format=to, split=to_split)
    note_written(examples, output, to)


def note_written(examples: Dataset, path: Path, format: str | None = None) -> None:
    """Notes how many examples were written, and what the format left out."""
    from ..data.writing import left_out

    missing = left_out(examples, path, format)
    without = f" without {', '.join(missing)} (arrays would keep them)" if missing else ""
    note(f"{path}: {counted(len(examples), 'example')}{without}")
