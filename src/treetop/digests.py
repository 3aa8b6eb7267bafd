"""Hashes of what a piece of work depends on: arrays, settings, and the files that settings name."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from .config import Config


def digest_of(*parts: Any) -> str:
    """A hash of ``parts``: arrays, or what has a telling repr."""
    digest = xxhash.xxh3_128()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}\n".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"{part!r}\n".encode())  # the end shows: 0.1 and 12 are not 0.11 and 2
    return digest.hexdigest()


def files_digest(config: Config) -> str:
    """Of the files and folders that settings name and that exist here; empty where there are none."""
    found: list[tuple[str, str, str]] = []
    for item in config.settings():
        if not item.names_file or not item.value:
            continue
        place = Path(str(item.value)).expanduser()
        if not place.exists():
            continue
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            if file.is_file():
                status = file.stat()
                found.append((item.name, file.name, _file_digest(file, status.st_size, status.st_mtime_ns)))
    return digest_of(*found) if found else ""


@functools.lru_cache
def _file_digest(file: Path, size: int, changed: int) -> str:
    digest = xxhash.xxh3_128()
    with file.open("rb") as content:
        while block := content.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()
