"""`LabelClusters`: a label tree in the form that networks use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..model_arrays import Numbers, check_equal, checked
from ..sparse import binarize, merge_columns
from .building import trees_of
from .config import ClusteringConfig, TreeConfig
from .label_tree import LabelTree

Parents = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelClusters:
    """The parent of every node, level by level from the top; the last level is the labels."""

    parents: tuple[Parents, ...]

    @classmethod
    def flat(cls, labels: int) -> LabelClusters:
        """A single level: the labels."""
        return cls((np.zeros(labels, np.int64),))

    @classmethod
    def fit(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        sizes: Sequence[int],
        config: ClusteringConfig,
        *,
        text_vectors: sparse.csr_matrix | None = None,
        weights: npt.NDArray[np.float32] | None = None,
        seed: int,
        threads: int,
    ) -> LabelClusters:
        """``sizes``: clusters per level above the labels. Every label must have an example."""
        settings = TreeConfig(**dataclasses.asdict(config), levels=tuple(sizes))
        (tree,) = trees_of(
            X, Y, settings, seeds=[seed], text_vectors=text_vectors, weights=weights, threads=threads
        )
        return cls.of_tree(tree)

    @classmethod
    def of_tree(cls, tree: LabelTree) -> LabelClusters:
        """A given tree; its labels are numbered by increasing id."""
        parents = [tree.parents(level) for level in range(tree.depth)]
        return cls((*parents[:-1], parents[-1][np.argsort(tree.labels)]))

    def __len__(self) -> int:
        """Number of levels, that of the labels included."""
        return len(self.parents)

    @property
    def sizes(self) -> list[int]:
        """Nodes of each level, the labels last."""
        return [len(level) for level in self.parents]

    def tree(self, labels: npt.NDArray[np.int64]) -> LabelTree:
        """The clusters as a `LabelTree`; ``labels``: the id of each label."""
        above = [1, *self.sizes[:-1]]
        counts = [np.bincount(up, minlength=nodes) for up, nodes in zip(self.parents, above, strict=True)]
        offsets = tuple(np.append(0, np.cumsum(count)) for count in counts)
        order = np.argsort(self.parents[-1], kind="stable")
        return LabelTree(offsets, labels[order].astype(np.int32))

    def relevance(self, Y: sparse.csr_matrix) -> list[sparse.csr_matrix]:
        """Texts × nodes of every level: 1 where a label of the text is below the node."""
        chain = [binarize(Y)]
        for level in range(len(self) - 1, 0, -1):
            chain.insert(0, binarize(merge_columns(chain[0], self.parents[level], self.sizes[level - 1])))
        return chain

    def counts(self, Y: sparse.csr_matrix) -> list[npt.NDArray[np.int64]]:
        """Number of texts with each node, level by level."""
        return [np.bincount(level.indices, minlength=level.shape[1]) for level in self.relevance(Y)]

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return {f"parents.{level}": parents for level, parents in enumerate(self.parents)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray], labels: int) -> LabelClusters:
        """The inverse of `state`, for a model with that number of labels."""
        parents: list[Parents] = []
        while (name := f"parents.{len(parents)}") in arrays or not parents:
            above = len(parents[-1]) if parents else 1
            level = checked(arrays, {name: Numbers(np.int64, filled=True, least=0, most=above - 1)})[name]
            parents.append(np.array(level))
        check_equal("labels in its clusters", len(parents[-1]), "its network scores", labels)
        return cls(tuple(parents))
