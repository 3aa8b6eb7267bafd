"""Hashes of arrays, of settings, and of the files that settings name."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from .config import Config


def digest_of(*parts: Any) -> str:
    """A hash of ``parts``: arrays, or objects with a complete repr."""
    digest = xxhash.xxh3_128()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}\n".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(
                f"{part!r}\n".encode()
            )  # the newline separates parts: 0.1 and 12 are not 0.11 and 2
    return digest.hexdigest()


def files_digest(config: Config) -> str:
    """A hash of the existing files and folders that settings name; empty if there are none."""
    files: list[tuple[str, str, str]] = []
    for item in config.settings():
        if not item.names_file or not item.value:
            continue
        place = Path(str(item.value)).expanduser()
        if not place.exists():
            continue
        for file in sorted(place.iterdir()) if place.is_dir() else [place]:
            if file.is_file():
                status = file.stat()
                files.append((item.name, file.name, _file_digest(file, status.st_size, status.st_mtime_ns)))
    return digest_of(*files) if files else ""


@functools.lru_cache
def _file_digest(file: Path, size: int, changed: int) -> str:
    return file_digest(file)


def file_digest(path: Path) -> str:
    """A hash of the content of a file."""
    digest = xxhash.xxh3_128()
    block = memoryview(bytearray(1 << 18))  # small enough to stay in the cache between reading and hashing
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            digest.update(block[:count])
    return digest.hexdigest()
