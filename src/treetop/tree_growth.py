"""New labels in a label tree that stays as it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .sparse import normalize_rows
from .tree import LabelTree


def nearest_clusters(
    tree: LabelTree,
    new: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    vectors: sparse.csr_matrix,
) -> npt.NDArray[np.int64]:
    """For each new label the lowest cluster with the most similar centre; the smallest, if none is similar.

    ``vectors`` has a row of unit length for each of ``labels`` (ascending ids), old and new. A centre is the
    sum of its labels' vectors, scaled to unit length.
    """
    parents = tree.parents(tree.depth - 1)
    ones, rows = np.ones(len(parents), np.float32), np.searchsorted(labels, tree.labels)
    members = sparse.csr_matrix((ones, (parents, rows)), shape=(len(tree.offsets[-1]) - 1, len(labels)))
    centres = normalize_rows(sparse.csr_matrix(members @ vectors))
    similarity = sparse.csr_matrix(vectors[np.searchsorted(labels, new)] @ centres.T)
    best = np.asarray(similarity.argmax(axis=1)).ravel().astype(np.int64)
    smallest = int(np.argmin(np.diff(tree.offsets[-1])))
    return np.where(np.asarray(similarity.max(axis=1).todense()).ravel() > 0, best, smallest)


def with_labels(tree: LabelTree, new: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]) -> LabelTree:
    """The tree with new labels as the last children of the given lowest clusters, in the given order.

    Old labels keep their number inside their cluster, and all nodes above keep theirs.
    """
    parents = np.append(tree.parents(tree.depth - 1), clusters)
    order = np.argsort(parents, kind="stable")
    labels = np.append(tree.labels, new)[order].astype(np.int32)
    last = np.searchsorted(parents[order], np.arange(len(tree.offsets[-1])))
    return LabelTree((*tree.offsets[:-1], last), labels)
