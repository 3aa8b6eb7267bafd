"""Bonsai: three shallow, wide, unbalanced label trees, squared-hinge classifiers, averaged scores.

Khandagale, Xiao, Babbar: "Bonsai: Diverse and Shallow Trees for Extreme Multi-label Classification", Machine
Learning 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..linear import LinearConfig
from ..tree import TreeConfig
from .tree_linear import TREE_SPACE, TreeLinear, TreeLinearConfig, number_of_trees


@dataclass(frozen=True)
class BonsaiConfig(TreeLinearConfig):
    """Settings of Bonsai, with the paper's defaults."""

    tree: TreeConfig = part(
        TreeConfig(kind="unbalanced", branching=100, leaf_size=100, depth=None, share_rows=False),
        "the label trees",
    )
    linear: LinearConfig = part(LinearConfig(max_passes=20, transform="l2-hinge"), "classifiers and search")
    trees: int = number_of_trees(3)


class Bonsai(TreeLinear):
    """Unbalanced 100-way k-means, two or three levels deep: frequent topics keep large clusters."""

    name = "bonsai"
    config_class = BonsaiConfig
    search_space = TREE_SPACE | {"tree.branching": (50, 100, 200), "tree.leaf_size": (50, 100, 200)}
    config: BonsaiConfig
