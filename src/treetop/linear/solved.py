"""`Solved`: what the classifiers of a level have seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import ModelError

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solved:
    """How many examples each classifier was solved with when it was solved last, one entry per node."""

    positives: Counts
    examples: Counts
    """All that took part: those on the shortlist of its parent."""

    def __post_init__(self) -> None:
        if len(self.positives) != len(self.examples):
            raise ModelError("the example counts of a level do not fit together: train it again")

    @classmethod
    def count(
        cls, positives: sparse.csr_matrix, shortlist: sparse.csr_matrix, parents: npt.NDArray[np.int64]
    ) -> Solved:
        """Of examples × nodes and examples × parents; ``parents``: of every node."""
        listed = np.bincount(shortlist.indices, minlength=shortlist.shape[1])
        return cls(np.bincount(positives.indices, minlength=positives.shape[1]), listed[parents])

    def moved(self, places: npt.NDArray[np.int64], nodes: int) -> Solved:
        """The same counts at other places among ``nodes`` nodes; new nodes have seen nothing."""
        fresh = [np.zeros(nodes, np.int64) for _ in range(2)]
        for counts, own in zip(fresh, (self.positives, self.examples), strict=True):
            counts[places] = own
        return Solved(*fresh)

    def grown(self, now: Solved, positives: float, examples: float) -> npt.NDArray[np.bool_]:
        """Which classifiers would now see more than this share of positives or examples that are new."""
        more_positives = now.positives - self.positives > positives * self.positives
        return more_positives | (now.examples - self.examples > examples * self.examples)

    def replaced(self, now: Solved, nodes: npt.NDArray[np.int64]) -> Solved:
        """After ``nodes`` were solved again."""
        positives, examples = self.positives.copy(), self.examples.copy()
        positives[nodes], examples[nodes] = now.positives[nodes], now.examples[nodes]
        return Solved(positives, examples)
