"""A hash that tells other data apart."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import xxhash

from ..checkpoints import digest_of
from ..config import Config
from ..search_space import setting_value
from ..strings import Strings
from .dataset import Dataset


def data_digest(*several: Dataset) -> str:
    """Of everything in data sets that a training may look at: texts, labels, features, groups."""
    parts: list[Any] = []
    for data in several:
        for strings in (data.labels, data.texts, data.label_texts, data.groups):
            parts += string_arrays(strings)
        for matrix in (data.X, data.Y):
            parts += [None] if matrix is None else [matrix.shape, matrix.indptr, matrix.indices, matrix.data]
    return digest_of(*parts)


def string_arrays(strings: Strings | None) -> list[Any]:
    """For `digest_of`."""
    if strings is None:
        return [None]
    compact = strings.compact()
    return [compact.buffer, compact.offsets]


NAMES_OF_FILES = ("transformer.encoder", "words.vectors", "words.vocabulary")
"""Settings that name a file, or a folder, that a training reads."""


def files_digest(config: Config) -> str:
    """Of what is in the files that settings name; empty where there are none here."""
    found: list[tuple[str, str, str]] = []
    for name in NAMES_OF_FILES:
        value = setting_value(config, name) if config.has_setting(name) else None
        place = Path(str(value or "")).expanduser()
        if value is None or not place.exists():
            continue
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            if file.is_file():
                status = file.stat()
                found.append((name, file.name, _file_digest(file, status.st_size, status.st_mtime_ns)))
    return digest_of(*found) if found else ""


@functools.lru_cache
def _file_digest(file: Path, size: int, changed: int) -> str:
    digest = xxhash.xxh3_128()
    with file.open("rb") as content:
        while block := content.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()
