"""`LabelTree`: clusters of clusters of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..data import Dataset
from ..errors import DataError
from ..limits import LEVELS, check_count
from ..model_arrays import ascends, of_types, restoring
from ..strings import Strings
from ..units import counted


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Clusters of clusters of labels, all labels at the same depth.

    Node ``p`` of a level has the children ``offsets[t][p] … offsets[t][p + 1]`` in the level below, so
    siblings are adjacent. The nodes of the last level are positions in `labels`, which holds the label ids.
    """

    offsets: tuple[npt.NDArray[np.int64], ...]
    labels: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, np.int32))
        object.__setattr__(self, "offsets", tuple(np.ascontiguousarray(o, np.int64) for o in self.offsets))
        nodes = 1
        for offsets in self.offsets:
            if len(offsets) != nodes + 1 or offsets[0] != 0 or not ascends(offsets):
                raise DataError("the levels of the label tree do not match")
            nodes = int(offsets[-1])
        if nodes != len(self.labels):
            raise DataError(f"the label tree has {nodes:,} leaves for {len(self.labels):,} labels")
        if len(np.unique(self.labels)) != nodes:
            raise DataError("a label occurs twice in the label tree: list each label once")

    def check_ids(self, labels: int) -> None:
        """Raises an error unless all label ids are below ``labels``."""
        if len(self.labels) and (self.labels.min() < 0 or self.labels.max() >= labels):
            raise DataError(f"the label tree has label ids outside 0…{labels - 1}")

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
        """The parent of every node of a level (level 0 is below the root)."""
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

    def restricted(self, kept: npt.NDArray[np.bool_]) -> LabelTree:
        """The tree of the labels that ``kept`` is true for, by id; nodes without such labels are dropped."""
        alive = kept[self.labels]
        labels = self.labels[alive]
        offsets: list[npt.NDArray[np.int64]] = []
        for borders in reversed(self.offsets):
            before = np.append(0, np.cumsum(alive))
            children = before[borders[1:]] - before[borders[:-1]]
            alive = children > 0
            offsets.insert(0, np.append(0, np.cumsum(children[alive])))
        return LabelTree(tuple(offsets), labels)

    def of_training(self, dataset: Dataset) -> LabelTree:
        """The tree of the labels with examples, for methods that train no others."""
        used = dataset.label_counts > 0
        missing = np.setdiff1d(np.flatnonzero(used), self.labels)
        if len(missing):
            raise DataError(
                f"the label tree lacks {counted(len(missing), 'label')} with training examples, such as"
                f" {dataset.labels[int(missing[0])]!r}: add them"
            )
        self.check_ids(len(used))
        return self.restricted(used)

    def title(
        self, level: int, node: int, names: Strings, counts: npt.NDArray[np.int64] | None = None
    ) -> str:
        """A label's name; for a cluster its number of labels and the most frequent of them."""
        members = self.members(level, node)
        if level + 1 == self.depth:
            return names[int(members[0])]
        order = members if counts is None else members[np.argsort(-counts[members], kind="stable")]
        shown = ", ".join(names[int(label)] for label in order[:3])
        return f"[{len(members):,} labels] {shown}{', …' if len(members) > 3 else ''}"

    def draw(
        self, names: Strings, counts: npt.NDArray[np.int64] | None = None, *, depth: int = 2, width: int = 6
    ) -> Iterator[str]:
        """A drawing of the top of the tree, line by line; clusters show their most frequent labels."""

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
        """The inverse of `state`."""
        depth = max(sum(name.startswith("offsets.") for name in arrays), 1)
        names = [f"offsets.{level}" for level in range(depth)]
        plain = of_types(arrays, {"labels": np.int32} | dict.fromkeys(names, np.int64))
        with restoring(arrays, "the label tree is damaged"):
            return cls(tuple(plain[name] for name in names), plain["labels"])

    @classmethod
    def flat(cls, labels: npt.NDArray[np.int32]) -> LabelTree:
        """All labels directly below the root."""
        return cls((np.array([0, len(labels)], np.int64),), labels)

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None], labels: Strings) -> LabelTree:
        """From a taxonomy: the parent of every label and inner node by name, None (or absent) at the top.

        Shorter branches are extended to the depth of the deepest; a label with children also becomes a leaf
        below itself. Labels that the taxonomy does not name are children of the root.
        """
        paths = [_ancestry(name, parents) for name in labels]
        inner = {name for path in paths for name in path[:-1]}
        paths = [[*path, path[-1]] if path[-1] in inner else path for path in paths]
        depth = max((len(path) for path in paths), default=1)
        # Pad short branches with their own leaf, so that all labels are at the same depth.
        padded = [tuple(path + [path[-1]] * (depth - len(path))) for path in paths]
        order = sorted(range(len(padded)), key=padded.__getitem__)
        sorted_paths = [padded[index] for index in order]
        offsets = []
        shared = [-1, *(_shared(*pair) for pair in pairwise(sorted_paths))][: len(sorted_paths)]
        starts = [0, len(sorted_paths)]  # borders of the current level's nodes in sorted_paths
        for level in range(depth):
            borders = [row for row, same in enumerate(shared) if level + 1 == depth or same <= level]
            offsets.append(np.searchsorted(borders, starts).astype(np.int64))
            starts = [*borders, len(sorted_paths)]
        return cls(tuple(offsets), np.array(order, np.int32))


def _shared(path: Sequence[str], other: Sequence[str]) -> int:
    """How many nodes two paths have in common at their beginning."""
    for level, (node, another) in enumerate(zip(path, other, strict=True)):
        if node != another:
            return level
    return len(path)


def _ancestry(name: str, parents: Mapping[str, str | None]) -> list[str]:
    path, seen = [name], {name}
    while (parent := parents.get(path[-1])) is not None:
        if parent in seen:
            raise DataError(f"the taxonomy has a cycle at {parent!r}: remove one of its lines")
        path.append(parent)
        seen.add(parent)
        check_count(LEVELS, len(path), f"the number of levels above {name!r} in the taxonomy")
    return path[::-1]
