"""Replaces some classifiers of a trained level; all others keep their weights bit for bit."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _native
from .level_weights import LevelWeights

Ints = npt.NDArray[np.int64]
Trained = tuple[Ints, npt.NDArray[np.int32], Ints, npt.NDArray[np.int32], npt.NDArray[np.float32], Any]
"""The arrays of ``train_levels``: ``chunks, features, rows, children, weights, biases``."""
T = TypeVar("T", bound=np.generic)


def places_of(old: Ints, new: Ints) -> Ints:
    """New places of a level's nodes after its parents got more children, which follow the old ones."""
    return np.arange(old[-1], dtype=np.int64) + np.repeat(new[:-1] - old[:-1], np.diff(old))


def spliced(
    level: LevelWeights, offsets: Ints, nodes: Ints, trained: Trained, *, threads: int = 1
) -> LevelWeights:
    """``level`` with new classifiers of ``nodes`` (ascending) from ``trained``, which holds no others.

    ``offsets``: the current children of every parent; new ones follow the old ones, and are among ``nodes``.
    Codes and dense features stay those of the level, unless all of its classifiers are replaced.
    """
    if not len(nodes):
        return level
    widths = np.diff(offsets)
    parents = np.repeat(np.arange(len(widths), dtype=np.int64), widths)
    touched, counts = np.unique(parents[nodes], return_counts=True)
    places = places_of(level.offsets, offsets)
    replaced = np.zeros(int(offsets[-1]), bool)
    replaced[nodes] = True

    chunks, features, rows, children, weights, biases = trained
    merged = _native.merge_weights(
        level.native,
        touched,
        replaced[places].astype(np.uint8),
        np.append(0, np.cumsum(counts)),
        chunks,
        features,
        rows,
        children,
        weights,
        (nodes - offsets[parents[nodes]]).astype(np.int32),
        level.n_features,
        threads,
    )
    packed = LevelWeights.pack(
        np.append(0, np.cumsum(widths[touched])),
        *merged,
        np.zeros(int(widths[touched].sum()), np.float32),
        n_features=level.n_features,
        last=level.last,
        bits=8 if len(level.codes) else 32,
        codes=level.codes if level.codes.any() and not replaced.all() else None,
        dense=None if replaced.all() else level.dense,
        threads=threads,
    )
    all_biases = np.zeros(len(replaced), np.float32)
    all_biases[places] = level.biases
    all_biases[nodes] = biases
    new_chunks, buckets = _merged(level.chunks, level.buckets, packed.chunks, packed.buckets, touched)
    starts, content = _merged(level.starts, level.bytes, packed.starts, packed.bytes, touched)
    node_bytes = len(packed.tables) // int(widths[touched].sum())
    _, tables = _merged(
        node_bytes * level.offsets, level.tables, node_bytes * packed.offsets, packed.tables, touched
    )
    slack = packed.bytes[packed.starts[-1] :]  # bytes after the last chunk that the search may read
    return LevelWeights(
        offsets,
        new_chunks,
        starts,
        buckets,
        np.append(content, slack),
        tables,
        packed.codes,
        all_biases,
        level.n_features,
        level.last,
    )


def _merged(
    pointers: Ints, data: npt.NDArray[T], new_pointers: Ints, new_data: npt.NDArray[T], touched: Ints
) -> tuple[Ints, npt.NDArray[T]]:
    """The pieces ``data[pointers[p]:pointers[p + 1]]``; those of touched parents come from the new data."""
    lengths = np.diff(pointers)
    lengths[touched] = np.diff(new_pointers)
    pieces = []
    at = 0
    for number, parent in enumerate(touched.tolist()):
        pieces.append(data[pointers[at] : pointers[parent]])
        pieces.append(new_data[new_pointers[number] : new_pointers[number + 1]])
        at = parent + 1
    pieces.append(data[pointers[at] : pointers[-1]])
    return np.append(0, np.cumsum(lengths)), np.concatenate(pieces)
