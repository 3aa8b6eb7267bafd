"""`LevelWeights`: the classifiers of one level, packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..errors import DataError
from ..model_arrays import of_types, restoring


@dataclass(frozen=True, eq=False)
class LevelWeights:
    """Chunked by parent and packed into bytes, which the search reads in place (cpp/packed_level.hpp)."""

    offsets: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.uint32]
    bytes: npt.NDArray[np.uint8]
    tables: npt.NDArray[np.uint8]
    codes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float32]
    n_features: int
    last: bool

    TYPES: ClassVar[dict[str, type[np.generic]]] = {
        "chunks": np.int64,
        "starts": np.int64,
        "buckets": np.uint32,
        "bytes": np.uint8,
        "tables": np.uint8,
        "codes": np.float32,
        "biases": np.float32,
    }

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, npt.NDArray],
        offsets: npt.NDArray[np.int64],
        *,
        n_features: int,
        last: bool,
    ) -> LevelWeights:
        """The inverse of `state`, for the same tree and features. Native code compares the arrays."""
        level = cls(offsets, **of_types(arrays, cls.TYPES), n_features=n_features, last=last)
        with restoring(arrays, "the weights of a level do not match"):
            level.__dict__["native"] = level._bound()
        return level

    @classmethod
    def pack(
        cls,
        offsets: npt.NDArray[np.int64],
        chunks: npt.NDArray[np.int64],
        features: npt.NDArray[np.int32],
        rows: npt.NDArray[np.int64],
        children: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float32],
        biases: npt.NDArray[np.float32],
        *,
        n_features: int,
        last: bool,
        bits: int,
        codes: npt.NDArray[np.float32] | None = None,
        dense: int | None = None,
        threads: int = 1,
    ) -> LevelWeights:
        """Packs the arrays of ``train_levels``. With 8 ``bits``, a weight is the nearest of 255 values.

        ``codes``: these values, and ``dense``: the number of last features in tables; given to match an older
        level, else chosen for the weights.
        """
        try:
            arrays = _native.pack_level(
                offsets,
                chunks,
                features,
                rows,
                children,
                weights,
                n_features,
                bits == 8,
                threads,
                codes,
                dense,
            )
        except ValueError as error:
            raise DataError(f"the weights of a level cannot be packed: {error}") from None
        return cls(offsets, *arrays, biases, n_features, last)

    @cached_property
    def native(self) -> _native.Level:
        return self._bound()

    def _bound(self) -> _native.Level:
        return _native.Level(self.offsets, n_features=self.n_features, last=self.last, **self.state())

    @property
    def dense(self) -> int:
        """Number of last features that have tables."""
        weights = len(self.biases) * (1 if len(self.codes) else self.codes.itemsize)
        return len(self.tables) // max(weights, 1)

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store; the offsets are the tree's."""
        return {name: getattr(self, name) for name in self.TYPES}

    def parent(self, node: int) -> int:
        """The parent of ``node`` in the level above."""
        return int(np.searchsorted(self.offsets, node, side="right")) - 1

    def inherits_score(self, node: int) -> bool:
        """Whether the node has its parent's score instead of a classifier: only children of inner levels."""
        parent = self.parent(node)
        return not self.last and int(self.offsets[parent + 1] - self.offsets[parent]) == 1

    def node_weights(self, node: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], float]:
        """``features, weights, bias`` of one classifier, in no particular order."""
        nodes, features, weights = self.native.unpack(np.array([self.parent(node)]))
        own = (nodes == node) & (features < self.n_features)
        return features[own], weights[own], float(self.biases[node])

    def to_csr(self, n_features: int) -> sparse.csr_matrix:
        """Nodes × features, with the bias in an extra last column."""
        nodes, features, weights = self.native.unpack()
        known = features < n_features  # all of them, unless bytes are damaged
        count = len(self.biases)
        rows = np.append(nodes[known], np.arange(count))
        columns = np.append(features[known], np.full(count, n_features))
        values = np.append(weights[known], self.biases)
        return sparse.csr_matrix((values, (rows, columns)), shape=(count, n_features + 1))
