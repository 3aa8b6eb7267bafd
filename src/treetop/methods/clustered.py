"""What networks with a label tree inside share: how it is made, and saved."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..config import Config, part
from ..data import Dataset
from ..errors import ModelError
from ..features import TfidfConfig
from ..sparse import binarize, merge_columns
from ..tree import FROM_EXAMPLES, ClusteringConfig, LabelTree, TreeConfig, trees_of
from .features import USUAL_TFIDF, fitted_tfidf
from .neural import NeuralMethod

Parents = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClusteredConfig(Config):
    """Settings of every such method, beside those of its tokens."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "what labels are clustered by")
    tree: ClusteringConfig = part(ClusteringConfig(), "how they are clustered")


class ClusteredMethod(NeuralMethod):
    """A network over the labels, and clusters of them, and clusters of these.

    The class that says what tokens are comes behind it among the bases.
    """

    parents: list[Parents]
    """Of the nodes of every level, from the top; the last are the labels that the network scores."""

    @property
    def tree(self) -> LabelTree:
        """The clusters and the labels that the network scores."""
        self._fitted()
        above = [1, *map(len, self.parents[:-1])]
        sizes = [np.bincount(up, minlength=nodes) for up, nodes in zip(self.parents, above, strict=True)]
        offsets = tuple(np.append(0, np.cumsum(size)) for size in sizes)
        order = np.argsort(self.parents[-1], kind="stable")
        return LabelTree(offsets, self.used[order].astype(np.int32))

    @abstractmethod
    def _sizes(self, labels: int) -> tuple[int, ...]:
        """Clusters of each level above the labels, from the top; none: there are only labels."""

    def _prepare(self, dataset: Dataset, Y: sparse.csr_matrix) -> None:
        super()._prepare(dataset, Y)
        config, sizes = self.config, self._sizes(Y.shape[1])
        assert isinstance(config, ClusteredConfig)
        if not sizes:
            self.parents = [np.zeros(Y.shape[1], np.int64)]
            return
        assert dataset.texts is not None
        terms, X = self._known_terms(config.tfidf) or fitted_tfidf(config.tfidf, dataset.texts, self.threads)
        of_labels: sparse.csr_matrix | None = None
        if dataset.label_texts is not None and config.tree.vectors not in FROM_EXAMPLES:
            of_labels = terms.transform(dataset.label_texts.take(self.used), threads=self.threads)
        wanted = TreeConfig(**dataclasses.asdict(config.tree), levels=sizes)
        seeds, threads = [config.seed], self.threads
        tree = trees_of(X, Y, wanted, seeds=seeds, text_vectors=of_labels, threads=threads)[0]
        self.parents = [tree.parents(level) for level in range(tree.depth)]
        of_label = np.empty(Y.shape[1], np.int64)
        of_label[tree.labels] = self.parents[-1]
        self.parents[-1] = of_label

    def _relevance(self, Y: sparse.csr_matrix) -> list[sparse.csr_matrix]:
        """Texts × nodes of every level: 1 where a label of the text is below the node."""
        chain = [binarize(Y)]
        for number in range(len(self.parents) - 1, 0, -1):
            above = len(self.parents[number - 1])
            chain.insert(0, binarize(merge_columns(chain[0], self.parents[number], above)))
        return chain

    def _counts(self, Y: sparse.csr_matrix) -> list[npt.NDArray[np.int64]]:
        """How many texts have each node, level by level."""
        return [np.bincount(level.indices, minlength=level.shape[1]) for level in self._relevance(Y)]

    def _prepared_state(self) -> dict[str, npt.NDArray]:
        return {f"parents.{number}": parents for number, parents in enumerate(self.parents)}

    def _restore_prepared(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.parents = []
        while (name := f"parents.{len(self.parents)}") in arrays:
            self.parents.append(np.array(arrays[name], np.int64).reshape(-1))
        nodes = 1
        for parents in self.parents:
            if not len(parents) or not 0 <= parents.min() <= parents.max() < nodes:
                raise ModelError("the levels of the label tree do not fit together")
            nodes = len(parents)
        if nodes != len(self.used):
            raise ModelError("the label tree is not one of the labels that the network scores")
