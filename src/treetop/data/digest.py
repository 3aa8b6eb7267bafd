"""A hash of data sets, which differs where the data differ."""

from __future__ import annotations

from typing import Any

from ..digests import digest_of
from ..strings import Strings
from .dataset import Dataset


def data_digest(*several: Dataset) -> str:
    """Hashes everything that training and prediction may use: texts, labels, features, groups, …"""
    parts: list[Any] = []
    for data in several:
        for strings in (data.labels, data.texts, data.label_texts, data.groups):
            parts += string_arrays(strings)
        for matrix in (data.X, data.Y):
            parts += _arrays(matrix)
        # Rare parts: without them, the digest is that of earlier versions.
        for name in ("label_features", "excluded"):
            if (matrix := getattr(data, name)) is not None:
                parts += [name, *_arrays(matrix)]
        if data.relevance is not None:
            parts += ["relevance", data.relevance.data]
        if data.weights is not None:
            parts += ["weights", data.weights]
    return digest_of(*parts)


def _arrays(matrix: Any) -> list[Any]:
    return [None] if matrix is None else [matrix.shape, matrix.indptr, matrix.indices, matrix.data]


def string_arrays(strings: Strings | None) -> list[Any]:
    """The arrays of a list of strings, for `digest_of`."""
    if strings is None:
        return [None]
    compact = strings.compact()
    return [compact.buffer, compact.offsets]
