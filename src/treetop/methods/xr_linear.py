"""XR-Linear: TF-IDF, a balanced k-way label tree, squared-hinge classifiers per level, beam search.

Yu, Zhong, Zhang, Chang, Dhillon: "PECOS: Prediction for Enormous and Correlated Output Spaces", JMLR 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

from .tree_linear import TREE_SPACE, TreeLinear, TreeLinearConfig


@dataclass(frozen=True)
class XRLinearConfig(TreeLinearConfig):
    """Settings of XR-Linear: the defaults of linear methods on label trees."""


XR_SPACE = TREE_SPACE | {"tree.branching": (8, 16, 32), "tree.leaf_size": (100, 300, 1000)}


class XRLinear(TreeLinear):
    """Trains in seconds to minutes on a CPU; takes texts, or feature matrices with unit rows."""

    name = "xr-linear"
    config_class = XRLinearConfig
    search_space = XR_SPACE
    config: XRLinearConfig
