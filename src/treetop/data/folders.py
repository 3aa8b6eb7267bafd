"""Folders with a file for each split: ``train.jsonl.xz``, ``test.csv``, ``valid.arrays``, ``train.txt``."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError
from .compression import without_suffix
from .files import Input
from .formats import Format
from .formats.recognise import SPLITS, folder_format, named_by, recognise_input

_UNSURE = ("txt", "xmc")
"""Formats whose suffixes other formats have too."""


def split_files(folder: Path, format: Format | None = None) -> dict[str, Path]:
    """The file of each split, of a given format or any; empty if the files of the folder belong together."""
    named = [(entry, by_name) for entry in _of_splits(folder) if (by_name := named_by(entry)) is not None]
    if format is not None:
        sure = [entry for entry, by_name in named if by_name is format]
        return _by_split(folder, sure or [entry for entry, by_name in named if by_name.name in _UNSURE])
    files = _by_split(folder, [entry for entry, by_name in named if by_name.name != "txt"])
    layout = folder_format(folder)
    if layout is None:
        return files or _by_split(folder, [entry for entry, _ in named if _format_of(entry) != "txt"])
    if files:
        name = next(iter(files.values())).name
        raise DataError(
            f"{folder}: contains {name} and files of {layout.name}; name the one to read, or give --format"
            f" {layout.name}"
        )
    return {}


def _of_splits(folder: Path) -> list[Path]:
    """What is named like a split."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if Path(without_suffix(entry.name)).stem in SPLITS and (entry.is_file() or entry.is_dir())
    ]


def _by_split(folder: Path, entries: list[Path]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for entry in entries:
        split = Path(without_suffix(entry.name)).stem
        if split in files:
            raise DataError(f"{folder}: contains {files[split].name} and {entry.name}; name the one to read")
        files[split] = entry
    return files


def _format_of(path: Path) -> str:
    with Input(path) as source:
        return recognise_input(source).name
