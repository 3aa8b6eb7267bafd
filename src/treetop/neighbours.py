"""`Neighbours`: nearest neighbours among the training examples, and the vote of their labels.

    score(l) = Σ c_d^p over the nearest d with label l / Σ c_d^p over all nearest d

c_d is the inner product of the features: the cosine for rows of unit length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _native
from .config import Config, setting
from .explanation import Explanation, Vote
from .model_arrays import of_types, restoring
from .progress import step
from .ranked import Ranked
from .search_space import SearchSpace
from .sparse import CsrArrays, Rows, csr_arrays
from .strings import Strings

_ARRAYS: dict[str, type[np.generic]] = {
    "scales": np.float32,
    "starts": np.int64,
    "members": np.uint16,
    "codes": np.int8,
    "frequent": np.int32,
    "rows": np.int64,
    "slots": np.uint8,
    "row_codes": np.int8,
    "norms": np.float32,
    "label_indptr": np.int64,
    "label_ids": np.int32,
}
"""The index (layout: cpp/neighbours.hpp) and the labels of its examples."""


@dataclass(frozen=True)
class NeighboursConfig(Config):
    """Number of neighbours, and the weight of their votes."""

    neighbours: int = setting(30, "number of nearest training texts that vote", at_least=1)
    power: float = setting(2.0, "exponent of the cosine that weights a vote", at_least=0)


VOTE_SPACE: SearchSpace = {"vote.neighbours": (10, 20, 30, 50, 100), "vote.power": (1, 2, 3, 4)}
"""Settings for tuning."""


class Neighbours:
    """An index of the training examples' features, and their labels. The search is exact.

    Features are rounded to 8 bits: to 1/127 of the largest in their row.
    """

    def __init__(
        self, config: NeighboursConfig, n_features: int, n_labels: int, arrays: dict[str, npt.NDArray]
    ) -> None:
        self.config = config
        self._arrays = arrays
        with restoring(arrays, "the arrays of the neighbours do not match"):
            self._native = _native.Neighbours(n_features, labels=n_labels, **arrays)

    @classmethod
    def fit(
        cls, X: sparse.csr_matrix, Y: sparse.csr_matrix, config: NeighboursConfig, *, threads: int = 1
    ) -> Neighbours:
        """Indexes the training examples. All entries of ``Y`` count the same, whatever their weight."""
        with step("Indexing the neighbours") as progress:
            arrays = _native.index_neighbours(*csr_arrays(X), X.shape[1], threads, progress)
        label_indptr, label_ids, _ = csr_arrays(Y)
        arrays |= {"label_indptr": label_indptr, "label_ids": label_ids}
        return cls(config, X.shape[1], Y.shape[1], arrays)

    def rank(self, X: Rows, k: int, *, skip_own: bool = False, threads: int = 1) -> Ranked:
        """The ``k`` best labels of every row, equal ones by id.

        With ``skip_own``, training example i does not vote on row i: the rows of the training set are then
        ranked as if each were new.
        """
        config = self.config
        ranked = self._native.vote(*csr_arrays(X), config.neighbours, config.power, k, skip_own, threads)
        return Ranked(*ranked)

    def nearest(self, X: Rows, *, skip_own: bool = False, threads: int = 1) -> CsrArrays:
        """``indptr, row numbers, inner products`` of the training examples that vote, nearest first."""
        return self._native.nearest(*csr_arrays(X), self.config.neighbours, skip_own, threads)

    def explain(self, X: Rows, label: int, names: Strings, *, threads: int = 1) -> Explanation:
        """The neighbours of the only row of ``X``, and the share of their votes for ``label``."""
        _, examples, products = self.nearest(X, threads=threads)
        power = self.config.power
        counts = (products.astype(np.float64) / products[:1]) ** power
        indptr, ids = self._arrays["label_indptr"], self._arrays["label_ids"]
        votes = []
        for example, product, share in zip(examples, products, counts / counts.sum(), strict=True):
            own = ids[indptr[example] : indptr[example + 1]]
            labels = tuple(names[int(each)] for each in own)
            votes.append(Vote(int(example), float(product), float(share), bool((own == label).any()), labels))
        score = math.fsum(vote.share for vote in votes if vote.agrees)
        rule = (
            "the sum of the shares of the texts with the label; a share is"
            f" similarity^{power:g} / the sum over all"
        )
        return Explanation(names[label], score, rule, score > 0, votes=tuple(votes))

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return self._arrays

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, npt.NDArray], config: NeighboursConfig, n_features: int, n_labels: int
    ) -> Neighbours:
        """The inverse of `state`. Arrays, memory-mapped ones too, are used in place."""
        return cls(config, n_features, n_labels, of_types(arrays, _ARRAYS))
