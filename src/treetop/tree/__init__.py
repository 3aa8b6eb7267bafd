"""Label vectors → `LabelTree`."""

from .building import build_tree, member_seeds, trees_of
from .config import FROM_EXAMPLES, ClusteringConfig, TreeConfig
from .label_tree import LabelTree
from .taxonomy import read_taxonomy
from .tree_files import read_tree

__all__ = [
    "FROM_EXAMPLES",
    "ClusteringConfig",
    "LabelTree",
    "TreeConfig",
    "build_tree",
    "member_seeds",
    "read_taxonomy",
    "read_tree",
    "trees_of",
]
