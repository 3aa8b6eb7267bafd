"""``treetop data build``: data sets made from what is on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from ..progress import step
from ..units import counted
from .methods import show_settings
from .options import Seed, Settings, as_sentence, format_names, given, parse_settings
from .output import heading, show, show_json, show_table
from .reporter import note

COMPRESSIONS = ("gz", "xz", "zst", "bz2")


def data_set_names() -> list[tuple[str, str]]:
    """Names and one-line descriptions, for completion."""
    from ..data.builtin import NAMES

    return list(NAMES.items())


def build_help() -> dict[str, str]:
    """Help of options that are settings of the data sets."""
    from ..data.builtin import NAMES, default_recipe

    return {
        setting.name: as_sentence(setting.help)
        for name in NAMES
        for setting in default_recipe(name).settings()
    }


def build(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", autocompletion=data_set_names, help="Data set to build."),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write to.", show_default="NAME"),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Format of both splits.",
            autocompletion=format_names,
            show_default="jsonl for texts, xmc for features",
        ),
    ] = None,
    compress: Annotated[
        str | None,
        typer.Option(metavar="SUFFIX", help=f"Compression: {', '.join(COMPRESSIONS)}.", show_default=False),
    ] = None,
    like: Annotated[str | None, typer.Option(metavar="NAME", show_default=False)] = None,
    scale: Annotated[float | None, typer.Option(metavar="FRACTION", show_default=False)] = None,
    seed: Seed = None,
    settings: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Build a data set from what is on this machine; nothing is downloaded.

    Without a name, list the data sets and their settings.
    """
    from ..data import builtin, write
    from ..data.formats import named_format

    if name is None:
        _list_all(json)
        return
    if compress is not None and compress not in COMPRESSIONS:
        raise ConfigError(f"--compress must be one of {', '.join(COMPRESSIONS)}, not {compress!r}")
    chosen = None if format is None else named_format(format)
    options = parse_settings(settings) | given({"like": like, "scale": scale, "seed": seed})
    with step(f"Building {name}"):
        splits = builtin.build(name, **options)
    if chosen is None:
        chosen = named_format("jsonl" if splits["train"].texts is not None else "xmc")
    folder = Path(name) if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in splits.items():
        path = folder
        if not chosen.has_splits:
            path = folder / (
                f"{split}{chosen.suffixes[0]}" + (f".{compress}" if compress and not chosen.is_folder else "")
            )
        with step(f"Writing {split}"):
            write(examples, path, format=chosen.name, split=split if chosen.has_splits else None)
        note(f"{path}: {counted(len(examples), 'example')}, {counted(len(examples.labels), 'label')}")


def _list_all(json: bool) -> None:
    from ..data.builtin import NAMES, default_recipe

    if json:
        show_json(NAMES)
        return
    show_table(NAMES.items())
    for name in NAMES:
        show()
        heading(name)
        show_settings(default_recipe(name))
