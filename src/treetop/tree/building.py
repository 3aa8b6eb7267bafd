"""Label vectors → label trees, by balanced or unbalanced k-means."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native, checkpoints
from ..errors import ConfigError
from ..model_arrays import check_equal
from ..progress import step
from ..sparse import csr_arrays
from .config import MANY, TreeConfig
from .label_tree import LabelTree
from .label_vectors import used_vectors


def member_seeds(seed: int, count: int) -> list[int]:
    """A seed for each tree: the given one first, then seeds far from other values of ``seed``."""
    return [seed + (number << 32) for number in range(count)]


def level_sizes(labels: int, leaf_size: int, branching: int, top: int | None = None) -> list[int]:
    """Clusters per level, from the top: 2^⌈log2(labels / leaf_size)⌉ on the lowest level, then divided by
    ``branching`` until at most ``top`` (by default ``branching``) are left.
    """
    if labels <= leaf_size:
        return []
    clusters = 2 ** math.ceil(math.log2(labels / leaf_size))
    sizes = [clusters]
    while sizes[0] > (top or branching):
        sizes.insert(0, -(-sizes[0] // branching))
    return sizes


def trees_of(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    config: TreeConfig,
    *,
    seeds: Sequence[int],
    text_vectors: sparse.csr_matrix | None = None,
    weights: npt.NDArray[np.float32] | None = None,
    threads: int,
) -> list[LabelTree]:
    """One tree per seed, over the labels that have examples: others cannot be trained.

    All cluster the same label vectors, which depend on the first seed where ``vectors`` is graph, and on the
    ``weights`` of the examples.
    """
    used, vectors = used_vectors(
        X, Y, config, text_vectors=text_vectors, weights=weights, seed=seeds[0], threads=threads
    )
    trees = [build_tree(vectors, config, seed=seed, threads=threads) for seed in seeds]
    return [LabelTree(tree.offsets, used[tree.labels].astype(np.int32)) for tree in trees]


def build_tree(vectors: sparse.csr_matrix, config: TreeConfig, *, seed: int, threads: int) -> LabelTree:
    """Clusters the rows of ``vectors``; label ids are row numbers."""
    labels = vectors.shape[0]
    sizes = _cluster_sizes(labels, config)
    if (config.kind == "balanced" and not sizes) or labels <= 2:
        return LabelTree.flat(np.arange(labels, dtype=np.int32))
    name = checkpoints.name_of("tree", *csr_arrays(vectors), vectors.shape[1], config, seed)
    if kept := checkpoints.restored(name, lambda arrays: _of_all(LabelTree.from_state(arrays), labels)):
        return kept
    with step("Label tree") as progress:
        if config.kind == "balanced":
            order, offsets = _native.balanced_clusters(
                *csr_arrays(vectors),
                vectors.shape[1],
                sizes,
                iterations=config.iterations,
                spherical=config.spherical,
                seed=seed,
                threads=threads,
                progress=progress,
            )
        else:
            order, offsets = _native.unbalanced_clusters(
                *csr_arrays(vectors),
                vectors.shape[1],
                config.branching,
                config.leaf_size,
                config.depth or (2 if labels < MANY else 3),
                iterations=config.iterations,
                spherical=config.spherical,
                seed=seed,
                threads=threads,
                progress=progress,
            )
    tree = LabelTree(tuple(offsets), order)
    checkpoints.keep(name, tree.state())
    return tree


def _of_all(tree: LabelTree, labels: int) -> LabelTree:
    """The same, if it has all of so many labels."""
    tree.check_ids(labels)
    check_equal("labels in its tree", len(tree.labels), "in all", labels)
    return tree


def _cluster_sizes(labels: int, config: TreeConfig) -> list[int]:
    if config.levels is None:
        sizes = level_sizes(labels, config.leaf_size, config.branching, config.top)
        return [size for size in sizes if size < labels]  # a power of two may exceed the number of labels
    sizes = [size for size in config.levels if size != labels]
    if sizes and sizes[-1] > labels:
        raise ConfigError(
            f"tree.levels asks for {sizes[-1]:,} clusters but only {labels:,} labels have examples: lower it"
        )
    return sizes
