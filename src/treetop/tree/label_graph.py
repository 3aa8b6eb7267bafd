"""Label vectors smoothed over a graph of labels that share texts, as in the released code of CascadeXML.

    G_lk   how often a random walk from label l visits label k: each hop goes to a text of the current label
           and on to a label of that text, and before each hop the walk may restart at l
    Ĝ      D_r^(-1/2) G D_c^(-1/2), with D_r and D_c the sums of the rows and columns of G
    z_l    Σ_k Ĝ_lk v_k, scaled to unit length, with v_k = Σ_i Y_ik φ(x_i)

So labels with few texts also get the features of labels that occur with them.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .. import _native
from ..progress import step
from ..sparse import csr_arrays, normalize_rows, transpose
from .config import ClusteringConfig


def label_graph(
    Y: sparse.csr_matrix, config: ClusteringConfig, *, seed: int, threads: int
) -> sparse.csr_matrix:
    """G: for each label the visits of the ``graph_neighbours`` most visited ones, and of itself.

    A label without texts has only itself. The walk of a label depends on the seed and its number alone.
    """
    with step("Label graph") as progress:
        indptr, indices, visits = _native.label_graph(
            *csr_arrays(transpose(Y))[:2],
            *csr_arrays(Y)[:2],
            config.graph_hops,
            config.graph_restart,
            config.graph_neighbours,
            seed,
            threads,
            progress,
        )
    return sparse.csr_matrix((visits, indices, indptr), shape=(Y.shape[1], Y.shape[1]))


def normalized(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """Ĝ. All sums are above 0, as each label visits itself."""
    rows, columns = (np.asarray(graph.sum(axis=axis)).ravel() for axis in (1, 0))
    scale = 1 / np.sqrt(np.repeat(rows, np.diff(graph.indptr)) * columns[graph.indices])
    data = (graph.data * scale).astype(np.float32)
    return sparse.csr_matrix((data, graph.indices, graph.indptr), shape=graph.shape)


def smoothed(
    vectors: sparse.csr_matrix, graph: sparse.csr_matrix, *, size: int, threads: int
) -> sparse.csr_matrix:
    """z: ``normalized(graph)`` times ``vectors``; each row keeps its ``size`` largest entries (0: all)."""
    with step("Smoothed label vectors") as progress:
        indptr, indices, data = _native.aggregate(
            *csr_arrays(normalized(graph)),
            *csr_arrays(vectors),
            vectors.shape[1],
            size=size,
            min_documents=1,
            unit=False,
            threads=threads,
            progress=progress,
        )
    return normalize_rows(sparse.csr_matrix((data, indices, indptr), shape=vectors.shape))
