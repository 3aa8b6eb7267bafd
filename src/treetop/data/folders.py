"""Folders with a file for each split: ``train.jsonl.xz``, ``test.csv``, ``valid.arrays``."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError
from .compression import without_suffix
from .formats.recognise import named_by

SPLITS = ("train", "test", "valid", "validation", "dev")


def split_files(folder: Path) -> dict[str, Path]:
    """The file of each split."""
    files: dict[str, Path] = {}
    for entry in sorted(folder.iterdir()):
        split = Path(without_suffix(entry.name)).stem
        format = named_by(entry)
        if split not in SPLITS or format is None or format.name == "txt":
            continue
        if split in files:
            raise DataError(f"{folder}: contains {files[split].name} and {entry.name}; name the one to read")
        files[split] = entry
    return files
