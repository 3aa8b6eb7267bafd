"""Adds new labels to a label tree whose clusters do not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..sparse import normalize_rows
from .config import TreeConfig
from .label_tree import LabelTree
from .label_vectors import used_vectors

BLOCK = 1024
"""New labels compared with all clusters at a time: all at once could be billions of pairs."""


def nearest_clusters(
    tree: LabelTree,
    new: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    vectors: sparse.csr_matrix,
) -> npt.NDArray[np.int64]:
    """For each new label the lowest cluster with the most similar centre, or the smallest if none is similar.

    ``vectors`` has a row of unit length for each of ``labels`` (ascending ids), old and new. A centre is the
    sum of its labels' vectors, scaled to unit length.
    """
    parents = tree.parents(tree.depth - 1)
    ones, rows = np.ones(len(parents), np.float32), np.searchsorted(labels, tree.labels)
    members = sparse.csr_matrix((ones, (parents, rows)), shape=(len(tree.offsets[-1]) - 1, len(labels)))
    centres = normalize_rows(sparse.csr_matrix(members @ vectors))
    smallest = int(np.argmin(np.diff(tree.offsets[-1])))
    nearest = np.full(len(new), smallest, np.int64)
    own = np.searchsorted(labels, new)
    for first in range(0, len(new), BLOCK):
        block = slice(first, first + BLOCK)
        similarity = sparse.csr_matrix(vectors[own[block]] @ centres.T)
        similar = np.asarray(similarity.max(axis=1).todense()).ravel() > 0
        nearest[block][similar] = np.asarray(similarity.argmax(axis=1)).ravel()[similar]
    return nearest


def with_labels(tree: LabelTree, new: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]) -> LabelTree:
    """The tree with new labels as the last children of the given lowest clusters, in the given order.

    Old labels keep their places inside their clusters, and all nodes above keep theirs.
    """
    parents = np.append(tree.parents(tree.depth - 1), clusters)
    order = np.argsort(parents, kind="stable")
    labels = np.append(tree.labels, new)[order].astype(np.int32)
    last = np.searchsorted(parents[order], np.arange(len(tree.offsets[-1])))
    return LabelTree((*tree.offsets[:-1], last), labels)


def grown_trees(
    trees: Sequence[LabelTree],
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    config: TreeConfig,
    *,
    text_vectors: sparse.csr_matrix | None = None,
    seed: int = 0,
    threads: int,
) -> list[LabelTree]:
    """The trees with the labels of ``Y`` that they lack, each in its most similar lowest cluster.

    ``seed``: that of the trees.
    """
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    new = np.setdiff1d(used, trees[0].labels)
    if not len(new):
        return list(trees)
    flat = np.zeros(len(new), np.int64)
    if all(tree.depth == 1 for tree in trees):
        return [with_labels(tree, new, flat) for tree in trees]
    used, vectors = used_vectors(X, Y, config, text_vectors=text_vectors, seed=seed, threads=threads)
    return [with_labels(tree, new, nearest_clusters(tree, new, used, vectors)) for tree in trees]
