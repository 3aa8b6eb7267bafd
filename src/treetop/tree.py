"""Room 3: label vectors → `LabelTree`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _native, checkpoints, store
from .config import Config, setting
from .data.files import Input
from .errors import ConfigError, DataError
from .progress import step
from .sparse import csr_arrays, normalize_rows, transpose
from .strings import Strings

FROM_EXAMPLES = ("pifa", "co-occurrence", "both")
"""Label vectors that the training examples give; the others need label texts."""
MANY = 100_000
"""Labels from which on an unbalanced tree of no given depth has a third level of clusters."""


VECTOR_ENTRIES = 400_000_000
"""Of all label vectors together at most (8 bytes each): beyond 400,000 labels each has fewer than 1000."""


@dataclass(frozen=True)
class ClusteringConfig(Config):
    """How labels are clustered, whatever the shape of their tree."""

    spherical: bool = setting(True, "by cosine to normalised centres, else by distance to means")
    iterations: int = setting(20, "k-means iterations at most", at_least=1)
    vectors: str = setting(
        "pifa",
        "what stands for a label: its texts' features (pifa), their labels (co-occurrence), both of these, "
        "its own text's features (label-text), pifa and label-text side by side (concat) or added up (sum)",
        choices=(*FROM_EXAMPLES, "label-text", "concat", "sum"),
    )
    text_weight: float = setting(
        0.5, "share of the label text where vectors is concat or sum", at_least=0, at_most=1
    )
    vector_size: int = setting(1000, "largest entries of a label's vector that are kept; 0: all", at_least=0)
    vector_min_df: int = setting(2, "texts that must have a feature for it to count in a vector", at_least=1)
    share_rows: bool = setting(True, "a text with n labels counts 1/sqrt(n) in each of their vectors")


@dataclass(frozen=True)
class TreeConfig(ClusteringConfig):
    """How labels are clustered into a tree."""

    kind: str = setting(
        "balanced", "k-means with clusters of equal size, or of any size", choices=("balanced", "unbalanced")
    )
    branching: int = setting(16, "children of a node", at_least=2)
    leaf_size: int = setting(
        1000, "labels that a lowest cluster holds at most (balanced) or is not cut below", at_least=1
    )
    top: int | None = setting(
        None, "clusters of the first level of a balanced tree at most; none: as branching", at_least=1
    )
    levels: tuple[int, ...] | None = setting(
        None, "clusters of each level from the top, as 16-256; instead of branching and leaf_size", at_least=1
    )
    depth: int | None = setting(
        3, f"cluster levels of an unbalanced tree at most; none: 2, or 3 from {MANY:,} labels on", at_least=1
    )

    def check(self) -> None:
        if self.top is not None and (self.levels is not None or self.kind != "balanced"):
            raise ConfigError(
                "top is for balanced trees that grow by branching and leaf_size: set tree.top=none for others"
            )
        if self.levels is None:
            return
        if list(self.levels) != sorted(set(self.levels)):
            raise ConfigError(f"levels must grow from the top, not {'-'.join(map(str, self.levels))}")
        if self.kind != "balanced":
            raise ConfigError(
                "levels are for balanced trees; an unbalanced one grows by branching and leaf_size"
            )


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Clusters of clusters of labels, all labels at the same depth.

    Node ``p`` of a level owns the nodes ``offsets[t][p] … offsets[t][p + 1]`` of the level below, so children
    are neighbours. The nodes of the last level are positions in `labels`, which gives the label id.
    """

    offsets: tuple[npt.NDArray[np.int64], ...]
    labels: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, np.int32))
        object.__setattr__(self, "offsets", tuple(np.ascontiguousarray(o, np.int64) for o in self.offsets))
        nodes = 1
        for offsets in self.offsets:
            if len(offsets) != nodes + 1 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
                raise DataError("the levels of the label tree do not fit together")
            nodes = int(offsets[-1])
        if nodes != len(self.labels):
            raise DataError(f"the label tree has {nodes:,} leaves for {len(self.labels):,} labels")
        if len(np.unique(self.labels)) != nodes:
            raise DataError("a label stands twice in the label tree")

    def check_ids(self, labels: int) -> None:
        """Refuses a tree whose label ids do not lie below ``labels``."""
        if len(self.labels) and (self.labels.min() < 0 or self.labels.max() >= labels):
            raise DataError(f"the label tree names labels outside 0…{labels - 1}")

    @property
    def depth(self) -> int:
        """Levels below the root; the last one is the labels."""
        return len(self.offsets)

    @property
    def sizes(self) -> list[int]:
        """Nodes of each level below the root, e.g. ``[16, 256, 3956]``."""
        return [int(offsets[-1]) for offsets in self.offsets]

    def __repr__(self) -> str:
        return f"LabelTree({'-'.join(map(str, self.sizes))})"

    def parents(self, level: int) -> npt.NDArray[np.int64]:
        """The parent of every node of a level (level 0 hangs below the root)."""
        offsets = self.offsets[level]
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

    def chain(self) -> list[sparse.csr_matrix]:
        """The 0/1 matrices C^(1) … C^(D): children × parents."""
        matrices = []
        for level in range(self.depth):
            parents = self.parents(level)
            ones = np.ones(len(parents), np.float32)
            shape = (len(parents), len(self.offsets[level]) - 1)
            matrices.append(sparse.csr_matrix((ones, (np.arange(len(parents)), parents)), shape=shape))
        return matrices

    def members(self, level: int, node: int) -> npt.NDArray[np.int32]:
        """Ids of all labels under a node."""
        first, last = node, node + 1
        for offsets in self.offsets[level + 1 :]:
            first, last = int(offsets[first]), int(offsets[last])
        return self.labels[first:last]

    def path(self, label: int) -> list[int]:
        """The nodes from the top down to a label."""
        at = np.flatnonzero(self.labels == label)
        if not len(at):
            raise DataError(f"label {label} is not in the tree")
        node = int(at[0])
        nodes = [node]
        for offsets in reversed(self.offsets[1:]):
            node = int(np.searchsorted(offsets, node, side="right")) - 1
            nodes.append(node)
        return nodes[::-1]

    def title(
        self, level: int, node: int, names: Strings, counts: npt.NDArray[np.int64] | None = None
    ) -> str:
        """A label's name; of a cluster, how many labels it has and the most frequent of them."""
        members = self.members(level, node)
        if level + 1 == self.depth:
            return names[int(members[0])]
        order = members if counts is None else members[np.argsort(-counts[members], kind="stable")]
        shown = ", ".join(names[int(label)] for label in order[:3])
        return f"[{len(members):,} labels] {shown}{', …' if len(members) > 3 else ''}"

    def draw(
        self, names: Strings, counts: npt.NDArray[np.int64] | None = None, *, depth: int = 2, width: int = 6
    ) -> Iterator[str]:
        """Lines that picture the top of the tree; a cluster shows its most frequent labels."""

        def below(level: int, first: int, last: int, indent: str) -> Iterator[str]:
            for node in range(first, min(last, first + width)):
                final = node + 1 == last
                yield f"{indent}{'└─ ' if final else '├─ '}{self.title(level, node, names, counts)}"
                if level + 1 < min(depth, self.depth):
                    offsets = self.offsets[level + 1]
                    children = int(offsets[node]), int(offsets[node + 1])
                    yield from below(level + 1, *children, indent + ("   " if final else "│  "))
            if last - first > width:
                yield f"{indent}└─ … {last - first - width:,} more"

        yield f"{len(self.labels):,} labels in a tree {'-'.join(map(str, self.sizes))}"
        yield from below(0, 0, self.sizes[0], "")

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        arrays: dict[str, npt.NDArray] = {"labels": self.labels}
        return arrays | {f"offsets.{level}": offsets for level, offsets in enumerate(self.offsets)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> LabelTree:
        depth = sum(name.startswith("offsets.") for name in arrays)
        names = [f"offsets.{level}" for level in range(depth)]
        plain = store.typed(arrays, {"labels": np.int32} | dict.fromkeys(names, np.int64))
        return cls(tuple(plain[name] for name in names), plain["labels"])

    @classmethod
    def flat(cls, labels: npt.NDArray[np.int32]) -> LabelTree:
        """All labels directly below the root."""
        return cls((np.array([0, len(labels)], np.int64),), labels)

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None], labels: Strings) -> LabelTree:
        """A taxonomy: the parent of every label and inner node by name, None (or absent) at the top.

        Branches of different depth are carried down to the deepest; a label that has children of its own also
        becomes a leaf below itself. Labels the taxonomy does not name hang below the root.
        """
        paths = [_ancestry(name, parents) for name in labels]
        inner = {name for path in paths for name in path[:-1]}
        paths = [[*path, path[-1]] if path[-1] in inner else path for path in paths]
        depth = max((len(path) for path in paths), default=1)
        # Pad short branches with their own leaf, so that every label stands at the same depth.
        padded = [tuple(path + [path[-1]] * (depth - len(path))) for path in paths]
        order = sorted(range(len(padded)), key=padded.__getitem__)
        sorted_paths = [padded[index] for index in order]
        offsets = []
        starts = [0, len(sorted_paths)]  # borders of the current level's nodes in sorted_paths
        for level in range(depth):
            borders = [0] if sorted_paths else []
            borders += [
                row
                for row in range(1, len(sorted_paths))
                if level + 1 == depth or sorted_paths[row][: level + 1] != sorted_paths[row - 1][: level + 1]
            ]
            offsets.append(np.searchsorted(borders, starts).astype(np.int64))
            starts = [*borders, len(sorted_paths)]
        return cls(tuple(offsets), np.array(order, np.int32))


def _ancestry(name: str, parents: Mapping[str, str | None]) -> list[str]:
    path, seen = [name], {name}
    while (parent := parents.get(path[-1])) is not None:
        if parent in seen:
            raise DataError(f"the taxonomy has a circle at {parent!r}")
        path.append(parent)
        seen.add(parent)
    return path[::-1]


def read_taxonomy(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """A taxonomy file: ``node<TAB>parent`` on each line; an empty parent is the top."""
    parents: dict[str, str | None] = {}
    with Input(path) as source:
        for number, line in source.lines():
            if not line.strip():
                continue
            node, tab, parent = line.partition("\t")
            node, above = node.strip(), parent.strip() or None
            if not tab or not node:
                raise DataError(f"{path} line {number}: expected node<TAB>parent")
            if parents.setdefault(node, above) != above:
                raise DataError(
                    f"{path} line {number}: {node!r} has another parent already, {parents[node]!r}"
                )
    return parents


def level_sizes(labels: int, leaf_size: int, branching: int, top: int | None = None) -> list[int]:
    """Clusters per level, from the top: 2^⌈log2(labels / leaf_size)⌉ at the bottom, then ``branching`` of
    them joined again and again until at most ``top`` (``branching`` unless told) are left.
    """
    if labels <= leaf_size:
        return []
    clusters = 2 ** math.ceil(math.log2(labels / leaf_size))
    sizes = [clusters]
    while sizes[0] > (top or branching):
        sizes.insert(0, -(-sizes[0] // branching))
    return sizes


def pifa(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    *,
    share_rows: bool,
    size: int = 0,
    min_df: int = 1,
    threads: int,
) -> sparse.csr_matrix:
    """Label vectors by positive instance feature aggregation: z_l = v_l / ‖v_l‖ with v_l = Σ_i Y_il φ(x_i).

    With ``share_rows`` the rows of Y are scaled to unit length first. Then features of fewer than ``min_df``
    rows of X are left out, and of a label's other entries the ``size`` largest are kept (0: all).
    """
    weights = normalize_rows(Y) if share_rows else Y
    with step("Label vectors") as progress:
        arrays = _native.aggregate(
            *csr_arrays(transpose(weights)), *csr_arrays(X), X.shape[1], size, min_df, threads, progress
        )
    indptr, indices, data = arrays
    return sparse.csr_matrix((data, indices, indptr), shape=(Y.shape[1], X.shape[1]))


def example_vectors(
    config: TreeConfig, X: sparse.csr_matrix, Y: sparse.csr_matrix, *, threads: int
) -> sparse.csr_matrix:
    """Label vectors (unit rows): sums over each label's examples of their features, their labels, or both."""

    def summed(rows: sparse.csr_matrix) -> sparse.csr_matrix:
        return pifa(
            rows,
            Y,
            share_rows=config.share_rows,
            size=min(config.vector_size, max(VECTOR_ENTRIES // max(Y.shape[1], 1), 1)),
            min_df=config.vector_min_df,
            threads=threads,
        )

    if config.vectors == "co-occurrence":
        return summed(normalize_rows(Y))
    if config.vectors == "both":
        halves = [math.sqrt(0.5) * summed(rows) for rows in (X, normalize_rows(Y))]
        return sparse.hstack(halves, format="csr", dtype=np.float32)
    return summed(X)


def label_vectors(
    config: TreeConfig, vectors: sparse.csr_matrix, text_vectors: sparse.csr_matrix | None
) -> sparse.csr_matrix:
    """`example_vectors` and label-text vectors (both with unit rows) joined as the config says."""
    if config.vectors in FROM_EXAMPLES:
        return vectors
    if text_vectors is None:
        raise ConfigError(f"tree.vectors={config.vectors} needs texts, and label texts (--label-texts FILE)")
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
    threads: int,
) -> tuple[npt.NDArray[np.int64], sparse.csr_matrix]:
    """The labels that have examples, and their vectors.

    ``text_vectors``: features of the labels' own texts, a row for each column of ``Y``.
    """
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    vectors = example_vectors(config, X, Y[:, used], threads=threads)
    return used, label_vectors(config, vectors, None if text_vectors is None else text_vectors[used])


def trees_of(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    config: TreeConfig,
    *,
    seeds: Sequence[int],
    text_vectors: sparse.csr_matrix | None = None,
    threads: int,
) -> list[LabelTree]:
    """One tree per seed, over the labels that have examples; the others could never be learned."""
    used, vectors = used_vectors(X, Y, config, text_vectors=text_vectors, threads=threads)
    trees = [build_tree(vectors, config, seed=seed, threads=threads) for seed in seeds]
    return [LabelTree(tree.offsets, used[tree.labels].astype(np.int32)) for tree in trees]


def build_tree(vectors: sparse.csr_matrix, config: TreeConfig, *, seed: int, threads: int) -> LabelTree:
    """Clusters the rows of ``vectors``; label ids are row numbers."""
    labels = vectors.shape[0]
    sizes = _cluster_sizes(labels, config)
    if (config.kind == "balanced" and not sizes) or labels <= 2:
        return LabelTree.flat(np.arange(labels, dtype=np.int32))
    name = checkpoints.name_of("tree", *csr_arrays(vectors), vectors.shape[1], config, seed)
    if kept := checkpoints.find(name):
        return LabelTree.from_state(kept)
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


def _cluster_sizes(labels: int, config: TreeConfig) -> list[int]:
    if config.levels is None:
        sizes = level_sizes(labels, config.leaf_size, config.branching, config.top)
        return [size for size in sizes if size < labels]  # a power of two may pass the number of labels
    sizes = [size for size in config.levels if size != labels]
    if sizes and sizes[-1] > labels:
        raise ConfigError(f"tree.levels asks for {sizes[-1]:,} clusters but {labels:,} labels have examples")
    return sizes
