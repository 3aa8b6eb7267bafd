"""Writes several labels into one cell of a table: ``;`` between them.

JSON arrays where ``;`` would not be read back as the same labels; see `label_cells`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ...errors import DataError
from ..dataset import Dataset
from .examples import label_sets
from .label_cells import URI
from .relevance import NUMERALS


def write_cells(dataset: Dataset, separator: str | None) -> Iterator[str]:
    """One cell of labels for every example."""
    names = list(dataset.labels)
    if separator is None:
        if not _survives(dataset, names):
            yield from (json.dumps(labels, ensure_ascii=False) for labels in label_sets(dataset))
            return
        separator = ";"
    if dataset.relevance is not None and set(separator) <= NUMERALS:
        raise DataError(
            f"labels and relevances cannot be written between separators {separator!r}; choose another"
        )
    for name in names:
        if separator in name or name.strip() != name or "\n" in name or "\r" in name or "\t" in name:
            raise DataError(
                f"the label {name!r} cannot be written between separators {separator!r}; choose another"
            )
    yield from map(separator.join, label_sets(dataset))


def _survives(dataset: Dataset, names: list[str]) -> bool:
    """Whether labels joined by ``;`` are read back as they were."""
    if any(name.strip() != name or name.startswith("[") or set(name) & set(";\n\r\t") for name in names):
        return False
    if any(URI.fullmatch(name) for name in names):
        return False
    shows_separator = dataset.Y is not None and bool((np.diff(dataset.Y.indptr) > 1).any())
    return shows_separator or not any("|" in name or "," in name for name in names)
