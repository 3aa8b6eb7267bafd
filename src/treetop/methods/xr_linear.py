"""XR-Linear: TF-IDF, a balanced k-way label tree, squared-hinge classifiers per level, beam search.

Yu, Zhong, Zhang, Chang, Dhillon: "PECOS: Prediction for Enormous and Correlated Output Spaces", JMLR 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

from .tree_linear import TreeLinear, TreeLinearConfig


@dataclass(frozen=True)
class XRLinearConfig(TreeLinearConfig):
    """Settings of XR-Linear: those of the family as they are."""


class XRLinear(TreeLinear):
    """Trains in seconds to minutes on a CPU; takes texts, or feature matrices with unit rows."""

    name = "xr-linear"
    config_class = XRLinearConfig
    config: XRLinearConfig
