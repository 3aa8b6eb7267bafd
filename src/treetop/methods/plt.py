"""PLT: a probabilistic label tree. Logistic classifiers give P(node | parent, text); a label's probability is
the product along its path.

Jasinska, Dembczyński, Busa-Fekete, Pfannschmidt, Klerx, Hüllermeier: "Extreme F-Measure Maximization using
Sparse Probability Estimates", ICML 2016; Wydmuch, Jasinska, Kuznetsov, Busa-Fekete, Dembczyński: "A no-regret
generalization of hierarchical softmax to extreme multi-label classification", NeurIPS 2018 (extremeText).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..linear import LinearConfig
from ..search_space import Range
from ..tree import TreeConfig
from .tree_linear import TREE_SPACE, TreeLinear, TreeLinearConfig


@dataclass(frozen=True)
class PLTConfig(TreeLinearConfig):
    """Settings of probabilistic label trees."""

    tree: TreeConfig = part(TreeConfig(branching=2, leaf_size=100, share_rows=False), "the label tree")
    linear: LinearConfig = part(
        LinearConfig(loss="logistic", cost_positive=10, cost_negative=10, transform="sigmoid"),
        "classifiers and search",
    )


class PLT(TreeLinear):
    """Scores estimate P(label | text): a threshold of 0.5 keeps labels that are likelier right than wrong."""

    name = "plt"
    config_class = PLTConfig
    scores_are_probabilities = True
    search_space = TREE_SPACE | {
        "linear.cost_positive": Range(1, 100, log=True),
        "linear.cost_negative": Range(1, 100, log=True),
        "tree.leaf_size": (50, 100, 200, 400),
    }
    config: PLTConfig
