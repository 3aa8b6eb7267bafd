"""`Solved`: numbers of examples that the classifiers of a level were trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import ModelError

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solved:
    """Numbers of examples in the last training of each classifier, one entry per node."""

    positives: Counts
    examples: Counts
    """All training examples: those on the shortlist of its parent."""

    def __post_init__(self) -> None:
        if len(self.positives) != len(self.examples):
            raise ModelError("the example counts of a level are inconsistent: retrain the model")

    @classmethod
    def count(
        cls, positives: sparse.csr_matrix, shortlist: sparse.csr_matrix, parents: npt.NDArray[np.int64]
    ) -> Solved:
        """From examples × nodes and examples × parents; ``parents`` of every node."""
        examples = np.bincount(shortlist.indices, minlength=shortlist.shape[1])
        return cls(np.bincount(positives.indices, minlength=positives.shape[1]), examples[parents])

    def moved(self, places: npt.NDArray[np.int64], nodes: int) -> Solved:
        """The same counts at other places among ``nodes`` nodes; counts of new nodes are 0."""
        moved = [np.zeros(nodes, np.int64) for _ in range(2)]
        for counts, own in zip(moved, (self.positives, self.examples), strict=True):
            counts[places] = own
        return Solved(*moved)

    def grown(self, now: Solved, positives: float, examples: float) -> npt.NDArray[np.bool_]:
        """Whether the positives or examples of each classifier have grown by more than these shares."""
        more_positives = now.positives - self.positives > positives * self.positives
        return more_positives | (now.examples - self.examples > examples * self.examples)

    def replaced(self, now: Solved, nodes: npt.NDArray[np.int64]) -> Solved:
        """The counts after ``nodes`` were trained again."""
        positives, examples = self.positives.copy(), self.examples.copy()
        positives[nodes], examples[nodes] = now.positives[nodes], now.examples[nodes]
        return Solved(positives, examples)
