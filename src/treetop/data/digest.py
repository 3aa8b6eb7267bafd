"""A hash of data sets, which differs where the data differ."""

from __future__ import annotations

from typing import Any

from ..digests import digest_of
from ..strings import Strings
from .dataset import Dataset


def data_digest(*several: Dataset) -> str:
    """Hashes everything that training may use: texts, labels, features, groups, weights."""
    parts: list[Any] = []
    for data in several:
        for strings in (data.labels, data.texts, data.label_texts, data.groups):
            parts += string_arrays(strings)
        parts.append(data.weights)
        for matrix in (data.X, data.Y, data.relevance):
            parts += [None] if matrix is None else [matrix.shape, matrix.indptr, matrix.indices, matrix.data]
    return digest_of(*parts)


def string_arrays(strings: Strings | None) -> list[Any]:
    """The arrays of a list of strings, for `digest_of`."""
    if strings is None:
        return [None]
    compact = strings.compact()
    return [compact.buffer, compact.offsets]
