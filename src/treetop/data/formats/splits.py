"""Folders that hold several splits under one naming scheme."""

from __future__ import annotations

from ...errors import DataError


def choose_split(folder: str, found: list[str], wanted: str | None) -> str:
    """The split to read: the wanted one, or the only one there is."""
    if not found:
        raise DataError(f"{folder}: holds no split of this format")
    listed = ", ".join(found)
    if wanted is None:
        if len(found) == 1:
            return found[0]
        raise DataError(f"{folder}: holds the splits {listed}; choose one with --split")
    if wanted not in found:
        raise DataError(f"{folder}: no split {wanted!r} (there are: {listed})")
    return wanted
