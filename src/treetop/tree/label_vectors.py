"""Label vectors, for clustering the labels."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..errors import ConfigError
from ..progress import step
from ..sparse import csr_arrays, normalize_rows, scale_rows, transpose
from .config import FROM_EXAMPLES, TreeConfig
from .label_graph import label_graph, smoothed

VECTOR_ENTRIES = 400_000_000
"""Maximum entries of all label vectors (8 bytes each): above 400,000 labels, fewer than 1000 per label."""


def pifa(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    *,
    share_rows: bool,
    size: int = 0,
    min_df: int = 1,
    unit: bool = True,
    weights: npt.NDArray[np.float32] | None = None,
    threads: int,
) -> sparse.csr_matrix:
    """Label vectors by positive instance feature aggregation: z_l = v_l / ‖v_l‖ with v_l = Σ_i Y_il φ(x_i).

    Without ``unit``, they are v_l. With ``share_rows``, the rows of Y are scaled to unit length first, and
    ``weights`` of the rows multiply them.
    Features in fewer than ``min_df`` rows of X are left out, and each label keeps the ``size`` largest of its
    other entries (0: all).
    """
    shares = normalize_rows(Y) if share_rows else Y
    if weights is not None:
        shares = scale_rows(shares, weights)
    with step("Label vectors") as progress:
        arrays = _native.aggregate(
            *csr_arrays(transpose(shares)), *csr_arrays(X), X.shape[1], size, min_df, unit, threads, progress
        )
    indptr, indices, data = arrays
    return sparse.csr_matrix((data, indices, indptr), shape=(Y.shape[1], X.shape[1]))


def example_vectors(
    config: TreeConfig,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    *,
    weights: npt.NDArray[np.float32] | None = None,
    seed: int = 0,
    threads: int,
) -> sparse.csr_matrix:
    """Label vectors (unit rows): for each label the sum of its examples' features, labels, or both.

    ``weights`` of the examples; ``seed``: of the random walks of ``vectors=graph``, which count them alike.
    """
    size = min(config.vector_size, max(VECTOR_ENTRIES // max(Y.shape[1], 1), 1))

    def summed(rows: sparse.csr_matrix, *, unit: bool = True) -> sparse.csr_matrix:
        return pifa(
            rows,
            Y,
            share_rows=config.share_rows,
            size=size,
            min_df=config.vector_min_df,
            unit=unit,
            weights=weights,
            threads=threads,
        )

    if config.vectors == "graph":
        graph = label_graph(Y, config, seed=seed, threads=threads)
        return smoothed(summed(X, unit=False), graph, size=size, threads=threads)

    if config.vectors == "co-occurrence":
        return summed(normalize_rows(Y))
    if config.vectors == "both":
        halves = [math.sqrt(0.5) * summed(rows) for rows in (X, normalize_rows(Y))]
        return sparse.hstack(halves, format="csr", dtype=np.float32)
    return summed(X)


def label_vectors(
    config: TreeConfig, vectors: sparse.csr_matrix, text_vectors: sparse.csr_matrix | None
) -> sparse.csr_matrix:
    """`example_vectors` and label-text vectors (both with unit rows), combined as the settings say."""
    if config.vectors in FROM_EXAMPLES:
        return vectors
    if text_vectors is None:
        raise ConfigError(
            f"tree.vectors={config.vectors} needs texts, and label texts (--label-texts FILE); for given"
            " features, it needs label features (lbl_X_Xf.txt)"
        )
    text_vectors = normalize_rows(text_vectors)
    if config.vectors == "label-text":
        return text_vectors
    share = config.text_weight
    if config.vectors == "sum":
        return normalize_rows(sparse.csr_matrix((1 - share) * vectors + share * text_vectors))
    return sparse.hstack(
        [math.sqrt(1 - share) * vectors, math.sqrt(share) * text_vectors], format="csr", dtype=np.float32
    )


def used_vectors(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    config: TreeConfig,
    *,
    text_vectors: sparse.csr_matrix | None = None,
    weights: npt.NDArray[np.float32] | None = None,
    seed: int = 0,
    threads: int,
) -> tuple[npt.NDArray[np.int64], sparse.csr_matrix]:
    """The labels with examples, and their vectors.

    ``text_vectors``: features of the labels' own texts, a row per column of ``Y``; ``weights`` and ``seed``:
    see `example_vectors`.
    """
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    vectors = example_vectors(config, X, Y[:, used], weights=weights, seed=seed, threads=threads)
    return used, label_vectors(config, vectors, None if text_vectors is None else text_vectors[used])
