"""Recognises the format of a path: by its name, and where that is not enough, by its first line."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ..compression import without_suffix
from ..files import Input
from . import FORMATS, Format
from .annif import LINE as ANNIF_LINE
from .arrays import MANIFEST as ARRAYS_MANIFEST
from .fasttext import PREFIX as FASTTEXT_PREFIX
from .pecos import FEATURES_FILE, SPLIT_FILE
from .rawtext import TEXTS_FILE
from .xmc import HEADER as XMC_HEADER


def recognise_input(source: Input) -> Format:
    """The format of an existing file or folder, or of standard input."""
    if source.path is None:
        return FORMATS["jsonl" if source.first_line().lstrip().startswith("{") else "txt"]
    if source.path.is_dir():
        return _of_folder(source.path, source.name)
    by_name = named_by(source.path)
    if by_name is not None and by_name.name not in ("txt", "tsv"):
        return by_name
    first = source.first_line()
    if ANNIF_LINE.fullmatch(first):
        return FORMATS["annif"]
    if by_name is not None and by_name.name == "tsv":
        return by_name
    if first.lstrip().startswith("{"):
        return FORMATS["jsonl"]
    if XMC_HEADER.fullmatch(first):
        return FORMATS["xmc"]
    if FASTTEXT_PREFIX in first:
        return FORMATS["fasttext"]
    if by_name is not None:
        return by_name
    if not first:
        raise DataError(f"{source.name}: has no examples; choose another file")
    raise _unknown(source.name)


def recognise_output(path: Path, labelled: bool) -> Format:
    """The format of a new file, from its name; ``.txt`` only for unlabelled data, since it has no labels."""
    format = named_by(path)
    if format is None or (format.name == "txt" and labelled):
        suffixes = ", ".join(
            row.suffixes[0] for row in FORMATS.values() if row.suffixes and row is not format
        )
        raise DataError(f"{path}: its name does not show the format; end it in one of {suffixes}")
    return format


def named_by(path: Path) -> Format | None:
    """The format that a file's name shows, if any."""
    if FEATURES_FILE.fullmatch(path.name):
        return FORMATS["pecos"]
    if TEXTS_FILE.fullmatch(path.name):
        return FORMATS["rawtext"]
    suffix = Path(without_suffix(path.name)).suffix.lower()
    return next((format for format in FORMATS.values() if suffix in format.suffixes), None)


def _of_folder(folder: Path, name: str) -> Format:
    names = [entry.name for entry in folder.iterdir()]
    if ARRAYS_MANIFEST in names:
        return FORMATS["arrays"]
    if any(SPLIT_FILE.fullmatch(entry) for entry in names):
        return FORMATS["pecos"]
    if any(TEXTS_FILE.fullmatch(entry) for entry in names):
        return FORMATS["rawtext"]
    raise DataError(
        f"{name}: is a folder, not a file, and has no train.jsonl (or .csv, …), X.*.npz, *_raw_texts.txt or"
        f" {ARRAYS_MANIFEST}; name a file, or another folder"
    )


def _unknown(name: str) -> DataError:
    return DataError(
        f"{name}: its name does not show the format; choose one with --format ({', '.join(FORMATS)})"
    )
