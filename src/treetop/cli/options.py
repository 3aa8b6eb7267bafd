"""Options and arguments shared by several commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..progress import step
from .command import OptionGroup

if TYPE_CHECKING:
    from ..data import Dataset
    from ..methods import Method


def format_names() -> list[str]:
    """Completions of --format."""
    from ..data import FORMATS

    return list(FORMATS)


def recipe_choices() -> list[str]:
    """Completions of --recipe."""
    from ..recipes import recipe_names

    return recipe_names()


def format_help() -> dict[str, str]:
    """Help of --format, from the table of formats."""
    names = ", ".join(format_names())
    return {"format": f"Format of the input, if its name and first line do not show it: {names}."}


def method_settings_help() -> dict[str, str]:
    """Help of --threads and --seed, from the settings of all methods."""
    from ..methods import MethodConfig

    return {setting.name: as_sentence(setting.help) for setting in MethodConfig().settings()}


def both_helps() -> dict[str, str]:
    return format_help() | method_settings_help()


def as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
Threads = Annotated[int | None, typer.Option(metavar="N", show_default=False)]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Device for networks: cuda, cuda:1, mps or cpu.",
        show_default="the first available",
    ),
]
Int8 = Annotated[
    bool | None,
    typer.Option("--int8", help="Use 8-bit weights for transformers on the CPU: faster.", show_default=False),
]
Ks = Annotated[str, typer.Option("--k", "-k", metavar="K,K,…", help="Values of k to report.")]
Propensity = Annotated[
    str,
    typer.Option(
        metavar="A,B|NAME", help="Propensity constants of PSP@k, or a data set with published ones."
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD", help="Field or column of the group; a group is never split.", show_default=False
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD", help="Field or column of each example's weight in training.", show_default=False
    ),
]
RecipeName = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD/DATA",
        autocompletion=recipe_choices,
        help="Published settings and scores of a method on a benchmark; treetop recipes lists them.",
        show_default=False,
    ),
]
LabelTexts = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="TSV or CSV file of labels and their readable names.", show_default=False
    ),
]


@dataclass(frozen=True)
class Reading(OptionGroup):
    """Options for reading texts."""

    format: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=format_names, show_default=False)
    ] = None
    text: Annotated[
        str,
        typer.Option(metavar="FIELD", help="Field or column of the text; several, as in a,b, are joined."),
    ] = "text"
    id: Annotated[str, typer.Option(metavar="FIELD", help="Field or column of the id, if there is one.")] = (
        "id"
    )
    split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Split of a folder to read, such as train or test.", show_default=False
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Sub-folder of features to read in a PECOS folder; none: texts only.",
            show_default="tfidf-attnxml, or the only one",
        ),
    ] = None

    def read(self, path: Path) -> Dataset:
        """Texts or features, with or without labels."""
        from ..data import read

        with step(_title(path)):
            return read(
                path,
                format=self.format,
                text=self.text,
                id=self.id,
                split=self.split,
                features=self.features,
                need_labels=False,
            )


@dataclass(frozen=True)
class LabelledReading(Reading):
    """Options for reading texts and their labels."""

    labels: Annotated[str, typer.Option(metavar="FIELD", help="Field or column of the labels.")] = "labels"
    label_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Separator between the labels of one cell.", show_default="detected"
        ),
    ] = None

    def read(
        self,
        path: Path,
        *,
        usual_split: str | None = None,
        group: str | None = None,
        weight: str | None = None,
        label_texts: Path | None = None,
        need_labels: bool = True,
    ) -> Dataset:
        """A labelled data set; from a folder of splits, the one that --split names, else the usual one."""
        from ..data import read

        with step(_title(path)):
            return read(
                path,
                format=self.format,
                text=self.text,
                labels=self.labels,
                id=self.id,
                group=group,
                weight=weight,
                label_texts=label_texts,
                label_separator=self.label_separator,
                need_labels=need_labels,
                split=usual_split if self.split is None and holds_splits(path, self.format) else self.split,
                features=self.features,
            )

    def read_beside(self, path: Path, split: str) -> Dataset:
        """A second data set, read with the same options; from a folder, its split of that name."""
        return dataclasses.replace(self, split=None).read(path, usual_split=split)


def holds_splits(path: Path, format: str | None = None) -> bool:
    """Whether it is a folder with several splits, in the given format or any."""
    from ..data.files import Input
    from ..data.folders import split_files
    from ..data.formats import named_format
    from ..data.formats.recognise import recognise_input

    with Input(path) as source:
        if not source.is_folder:
            return False
        named = None if format is None else named_format(format)
        return (
            bool(split_files(path, named)) or (recognise_input(source) if named is None else named).has_splits
        )


def numbers_labels(path: Path, format: str | None) -> bool:
    """Whether the labels of a data set are numbered columns, in an order that is not that of their names."""
    from ..data.files import Input
    from ..data.folders import split_files
    from ..data.formats import named_format
    from ..data.formats.recognise import recognise_input

    if format is not None:
        return named_format(format).numbers_labels
    if str(path) == "-" or (path.is_dir() and split_files(path)):
        return False
    with Input(path) as source:
        return recognise_input(source).numbers_labels


def _title(path: Path) -> str:
    return f"Reading {'standard input' if str(path) == '-' else path.name}"


def parse_settings(pairs: Iterable[str] | None) -> dict[str, str]:
    """``["tree.leaf_size=50"]`` → ``{"tree.leaf_size": "50"}``."""
    settings = {}
    for pair in pairs or ():
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise ConfigError(f"--set needs NAME=VALUE, not {pair!r}")
        settings[name.strip()] = value
    return settings


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in values.items() if value is not None}


def training_settings(
    method: str, settings: Mapping[str, Any], *, threads: int | None, seed: int | None, device: str | None
) -> dict[str, Any]:
    """``settings`` and those with their own options; an ensemble passes the device on to its members."""
    from ..methods import method_class

    found = dict(settings) | given({"threads": threads, "seed": seed})
    has_setting = method_class(method).config_class().has_setting
    if device is None:
        return found
    if has_setting("device"):
        return found | {"device": device}
    if has_setting("member_settings"):
        own = [found["member_settings"]] if "member_settings" in found else []
        return found | {"member_settings": ",".join([*own, f"device={device}"])}
    if device != "cpu":
        raise ConfigError(
            f"--device {device}: {method} is not a network and runs on the CPU; leave out --device"
        )
    return found


def load_model(
    folder: Path, threads: int | None = None, device: str | None = None, int8: bool | None = None
) -> Method:
    """The model of a folder, with these settings where it has them."""
    from ..methods import load

    with step(f"Loading {folder}"):
        return load(folder, **given({"threads": threads, "device": device, "int8": int8}))
