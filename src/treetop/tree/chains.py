"""Cluster chains, as PECOS has them: for each level from the top, a 0/1 matrix of nodes × their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError
from ..limits import PER_ENTRY
from .label_tree import LabelTree

Nodes = npt.NDArray[np.int64]
NONE = -1
"""The parent of a node without one."""


def ordered(chain: Sequence[Any], names: Sequence[str]) -> tuple[LabelTree, list[Nodes]]:
    """The tree, and for each level the nodes of the chain in the order of the tree: siblings side by side.

    Nodes that no path connects to the root are left out. ``names`` of the matrices are for messages. A first
    matrix with several columns is below a root that has these as children.
    """
    above = int(chain[0].shape[1])
    if above > PER_ENTRY * max(chain[0].shape[0], PER_ENTRY):
        raise DataError(
            f"{names[0]}: has {above:,} clusters for {chain[0].shape[0]:,} nodes; leave out empty clusters"
        )
    offsets, orders = [], []
    place = np.zeros(1, np.int64)  # in the tree, of each node of the level above
    if above > 1:
        offsets.append(np.array([0, above]))
        orders.append(np.arange(above))
        place = np.arange(above)
    for matrix, name in zip(chain, names, strict=True):
        if matrix.shape[1] != len(place):
            raise DataError(
                f"{name}: has {matrix.shape[1]:,} columns, but the level above has {len(place):,} nodes"
            )
        parents = parents_of(matrix, name)
        parents[parents != NONE] = place[parents[parents != NONE]]
        nodes = np.flatnonzero(parents != NONE)
        order = nodes[np.argsort(parents[nodes], kind="stable")]
        above = int(offsets[-1][-1]) if offsets else 1
        offsets.append(np.searchsorted(parents[order], np.arange(above + 1)))
        orders.append(order)
        place = np.full(matrix.shape[0], NONE)
        place[order] = np.arange(len(order))
    return LabelTree(tuple(offsets), orders[-1].astype(np.int32)), orders


def parents_of(matrix: Any, name: str) -> Nodes:
    """The parent of each row, or `NONE`; no row may have two."""
    rows = sparse.csr_matrix(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if (rows.data == 0).any():
        rows = rows.copy()
        rows.eliminate_zeros()
    if (rows.data != 1).any():
        raise DataError(f"{name}: is not a 0/1 matrix of nodes × clusters, but has the value {_odd(rows):g}")
    counts = np.diff(rows.indptr)
    if (counts > 1).any():
        node = int(np.argmax(counts > 1))
        raise DataError(f"{name}: row {node} is in {counts[node]} clusters; put it into one")
    parents = np.full(rows.shape[0], NONE)
    parents[counts == 1] = rows.indices
    return parents


def _odd(rows: sparse.csr_matrix) -> float:
    return float(rows.data[rows.data != 1][0])


def as_tree(given: Any, labels: int) -> LabelTree:
    """A label tree as `fit` takes it: a `LabelTree`, a labels × clusters matrix, or a chain of matrices.

    A chain is a list from the top, or a ``ClusterChain`` of PECOS. Every label must be in a cluster; clusters
    without labels are left out.
    """
    if isinstance(given, LabelTree):
        return given
    chain = [given] if sparse.issparse(given) else getattr(given, "chain", given)
    if not isinstance(chain, (list, tuple)) or not chain or not all(map(sparse.issparse, chain)):
        raise DataError(
            "tree must be a LabelTree, a sparse matrix of labels × clusters, or a list of such matrices from"
            f" the top, not {type(given).__name__}"
        )
    names = ["tree"] if len(chain) == 1 else [f"tree[{level}]" for level in range(len(chain))]
    return tree_of_chain(chain, names, labels)


def tree_of_chain(chain: Sequence[Any], names: Sequence[str], labels: int) -> LabelTree:
    """The tree of a chain that has every one of ``labels`` labels; clusters without labels are left out."""
    if chain[-1].shape[0] != labels:
        raise DataError(
            f"{names[-1]}: has {chain[-1].shape[0]:,} rows, but the data have {labels:,} labels; it needs a"
            " row for each label, in the order of the data"
        )
    tree, _ = ordered(chain, names)
    if len(tree.labels) < labels:
        left_out = np.setdiff1d(np.arange(labels), tree.labels)
        raise DataError(
            f"{names[-1]}: label {left_out[0]} (of 0…{labels - 1}) is in no cluster; put it into one"
        )
    return tree.restricted(np.ones(labels, bool))
