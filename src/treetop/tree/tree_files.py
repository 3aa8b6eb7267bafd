"""Label trees from files: a taxonomy, or the label clusters that PECOS, AttentionXML and LightXML release.

    taxonomy.tsv       node<TAB>parent on each line
    C.npz              labels × clusters, a sparse 0/1 matrix (PECOS, X-Transformer)
    FOLDER             C0.npz, C1.npz, … from the top and config.json with their number (PECOS ClusterChain)
    label_group0.npy   an array of clusters, each an array or a list of labels (AttentionXML, LightXML)

Labels are rows of a matrix, and whole numbers or names in an ``.npy`` file. Numbers are label columns of the
data; AttentionXML numbers labels by their sorted names, which is also their order in treetop's text formats.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, raise_machine_fault
from ..regular_files import read_regular
from ..sparse import read_npz
from ..strings import Strings
from .chains import tree_of_chain
from .label_tree import LabelTree
from .object_arrays import read_lists
from .taxonomy import read_taxonomy

_CHAIN = "config.json"


def read_tree(path: str | os.PathLike[str], labels: Strings, source: str = "the data") -> LabelTree:
    """The tree in ``path`` over all ``labels``, which come from ``source``."""
    path = Path(path)
    if path.is_dir():
        files = _chain_files(path)
        return tree_of_chain([_clusters(file) for file in files], list(map(str, files)), len(labels))
    if path.suffix == ".npz":
        return tree_of_chain([_clusters(path)], [str(path)], len(labels))
    if path.suffix == ".npy":
        return _tree_of_lists(read_lists(path), path, labels)
    parents = read_taxonomy(path)
    if not any(name in parents for name in labels):
        raise DataError(f"{path}: lists none of the labels of {source}; use the same names")
    try:
        return LabelTree.from_parents(parents, labels)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _clusters(path: Path) -> Any:
    return read_npz(path, columns=None)  # `tree_of_chain` compares them with the nodes


def _chain_files(folder: Path) -> list[Path]:
    try:
        length = json.loads(read_regular(folder / _CHAIN))["len"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise_machine_fault(error, folder / _CHAIN)
        length = None
    if not isinstance(length, int) or not 1 <= length <= 100:
        raise DataError(
            f"{folder}: is not a cluster chain of PECOS: it has no {_CHAIN} with the number of levels; name a"
            " file"
        )
    return [folder / f"C{level}.npz" for level in range(length)]


def _tree_of_lists(clusters: Sequence[list[Any]], path: Path, labels: Strings) -> LabelTree:
    """Clusters below the root, and their labels below them in the order of the labels."""
    cluster_of = np.full(len(labels), -1)
    for number, members in enumerate(clusters):
        for member in members:
            label = _position(member, path, labels)
            if cluster_of[label] >= 0:
                raise DataError(
                    f"{path}: the label {member!r} is in clusters {cluster_of[label]} and {number}; put it"
                    " into one"
                )
            cluster_of[label] = number
    if (cluster_of < 0).any():
        missing = labels[int(np.argmin(cluster_of))]
        raise DataError(f"{path}: the label {missing!r} is in no cluster; put it into one")
    used = np.unique(cluster_of)
    order = np.argsort(cluster_of, kind="stable")
    starts = np.searchsorted(cluster_of[order], used)
    return LabelTree((np.array([0, len(used)]), np.append(starts, len(labels))), order.astype(np.int32))


def _position(member: Any, path: Path, labels: Strings) -> int:
    """The number of the label with this number or name."""
    if isinstance(member, str):
        if (found := labels.position(member)) >= 0:
            return found
        raise DataError(f"{path}: the data have no label {member!r}; use the same labels")
    if type(member) is int and 0 <= member < len(labels):
        return member
    raise DataError(f"{path}: {member!r} is not a label of the data, numbered 0…{len(labels) - 1:,}")
