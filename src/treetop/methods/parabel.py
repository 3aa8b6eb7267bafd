"""Parabel: three balanced binary label trees, squared-hinge classifiers, beam search, averaged scores.

Prabhu, Kag, Harsola, Agrawal, Varma: "Parabel: Partitioned Label Trees for Extreme Classification with
Application to Dynamic Search Advertising", WWW 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..linear import LinearConfig
from ..tree import TreeConfig
from .tree_linear import TREE_SPACE, TreeLinear, TreeLinearConfig, number_of_trees


@dataclass(frozen=True)
class ParabelConfig(TreeLinearConfig):
    """Settings of Parabel, with the paper's defaults."""

    tree: TreeConfig = part(TreeConfig(branching=2, leaf_size=100, share_rows=False), "the label trees")
    linear: LinearConfig = part(LinearConfig(max_passes=20, transform="l2-hinge"), "classifiers and search")
    trees: int = number_of_trees(3)


class Parabel(TreeLinear):
    """A node is halved until it has at most 100 labels; P(child | parent) is exp(−max(0, 1 − u)²)."""

    name = "parabel"
    config_class = ParabelConfig
    search_space = TREE_SPACE | {"tree.leaf_size": (50, 100, 200, 400)}
    config: ParabelConfig
