"""Folders with several splits."""

from __future__ import annotations

from ...errors import DataError


def choose_split(folder: str, found: list[str], wanted: str | None) -> str:
    """The split to read: the wanted one, or the only one."""
    if not found:
        raise DataError(f"{folder}: has no split in this format; choose another folder or format")
    listed = ", ".join(found)
    if wanted is None:
        if len(found) == 1:
            return found[0]
        raise DataError(f"{folder}: has the splits {listed}; choose one with --split")
    if wanted not in found:
        raise DataError(f"{folder}: has no split {wanted!r}; choose one of {listed}")
    return wanted
