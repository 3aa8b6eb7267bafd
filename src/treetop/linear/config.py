"""Settings of the linear classifiers and the beam search."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from ..config import Config, lengthened, setting
from ..errors import ConfigError
from ..search_space import Range, SearchSpace

TRANSFORMS = (
    "raw",
    "sigmoid",
    "log-sigmoid",
    *(f"l{p}-hinge" for p in range(1, 7)),
    *(f"log-l{p}-hinge" for p in range(1, 7)),
    *(f"l{p}-hinge-noisy-or" for p in range(1, 7)),
)
LOSSES = ("squared-hinge", "hinge", "huber-hinge", "logistic")
NEGATIVES = ("tfn", "man", "given")
COST_SPACE: SearchSpace = {
    "linear.cost_positive": Range(0.25, 8, log=True),
    "linear.cost_negative": Range(0.25, 8, log=True),
}
"""Costs for tuning: the released rankers of XR-Transformer have costs from 0.25 to 8."""


USE_RELEVANCE = "set linear.costs=all (or last: labels only), and linear.cost_norm=none to keep their scale"
"""How linear methods use relevances."""


@dataclass(frozen=True)
class LinearConfig(Config):
    """One-versus-all classifiers at every node, and the beam search over them."""

    loss: str = setting(
        "squared-hinge",
        "loss of the classifiers: huber-hinge is squared-hinge with linear tails; logistic estimates "
        "probabilities",
        choices=LOSSES,
    )
    regulariser: str = setting(
        "l2", "penalty on the weights; l1 leaves few non-zero weights", choices=("l2", "l1")
    )
    l1_strength: float = setting(0.1, "strength of the l1 penalty, relative to costs of 1", above=0)
    refit: bool = setting(False, "after l1, train again with l2 on the features that l1 selected")
    cost_positive: float = setting(1.0, "cost C of positive examples", above=0)
    cost_negative: float = setting(1.0, "cost C of negative examples", above=0)
    level_costs: tuple[str, ...] = setting(
        (),
        "costs of positives and negatives by level, such as 1/2,2/4; a list is for the lowest levels, its "
        "first entry for all above; none: cost_positive and cost_negative on all levels",
    )
    bias: float = setting(1.0, "value of the constant bias feature; 0: no bias", at_least=0)
    tolerance: float = setting(
        0.1,
        "stopping tolerance: spread of the solver's (projected) gradients; for l1, as a share of l1_strength",
        above=0,
    )
    max_passes: int = setting(100, "maximum passes of the solver over a label's examples", at_least=1)
    threshold: float = setting(0.1, "drop weights with an absolute value below this", at_least=0)
    weight_bits: int = setting(
        8, "bits per stored weight: 8 (the nearest of 255 values) or 32 (exact)", choices=(8, 32)
    )
    negatives: tuple[str, ...] = setting(
        ("tfn",),
        "negatives of a node: texts of its siblings (tfn), texts whose beam reaches its parent (man), or "
        "those passed to fit (given), joined by +; a list is for the lowest levels, its first entry for all "
        "above",
    )
    costs: str = setting(
        "none",
        "levels at which the cost of a positive is multiplied by its relevance, normalised by cost_norm; "
        "without given relevances, that of a cluster is its number of true labels",
        choices=("none", "all", "last"),
    )
    cost_norm: str = setting(
        "l1",
        "norm that a text's relevances are divided by; l1: each becomes its share of their sum",
        choices=("l1", "l2", "max", "none"),
    )
    beam: tuple[int, ...] = setting(
        (10,),
        "beam width: nodes kept per level; a list is for the lowest levels, its first entry for all above",
        at_least=1,
    )
    transform: str = setting("l3-hinge", "transform of raw scores into node scores", choices=TRANSFORMS)
    last_transform: str | None = setting(
        None,
        "transform of the label level, where it differs: raw scores, or the label's own transformed score "
        "without its parents' (alone)",
        choices=("raw", "alone"),
    )
    only_children: bool = setting(
        False,
        "classifiers also for clusters that are only children, as in PECOS; false: they have their parent's "
        "score",
    )
    level_discount: float = setting(
        1.0,
        "exponent of the parent's score in a product; below 1, upper levels count less",
        above=0,
        at_most=1,
    )

    def check(self) -> None:
        for costs in self.level_costs:
            _costs(costs)
        for scheme in self.negatives:
            for part in scheme.split("+"):
                if part not in NEGATIVES:
                    raise ConfigError(f"negatives must be made of {', '.join(NEGATIVES)}, not {part!r}")
        if self.regulariser == "l1" and self.loss not in ("squared-hinge", "logistic"):
            raise ConfigError(f"regulariser=l1 needs loss squared-hinge or logistic, not {self.loss}")
        if self.refit and self.regulariser != "l1":
            raise ConfigError("refit=true needs regulariser=l1: set it, or leave out refit")
        if self.last_transform == "alone" and (self.transform == "raw" or "noisy" in self.transform):
            raise ConfigError(
                f"last_transform=alone needs a transform that multiplies, as l3-hinge, not {self.transform}"
            )
        if not self.negatives or not self.beam:
            raise ConfigError("negatives and beam need at least one entry")

    def at_level(self, level: int, depth: int) -> LinearConfig:
        """The settings for one of ``depth`` levels, counted from 0 at the top: those with its own costs."""
        if not self.level_costs:
            return self
        positive, negative = _costs(lengthened(self.level_costs, depth)[level])
        return replace(self, cost_positive=positive, cost_negative=negative, level_costs=())

    @property
    def uses_relevance(self) -> bool:
        """Whether relevances change the costs of positives at any level."""
        return self.costs != "none"

    @property
    def l1(self) -> float:
        """Strength of the l1 penalty; 0 with an l2 penalty."""
        return self.l1_strength if self.regulariser == "l1" else 0.0

    def solver_settings(self) -> dict[str, Any]:
        """The settings of the solver."""
        return {
            "cost_positive": self.cost_positive,
            "cost_negative": self.cost_negative,
            "bias": self.bias,
            "tolerance": self.tolerance,
            "max_passes": self.max_passes,
            "loss": self.loss,
            "l1": self.l1,
            "refit": self.refit,
        }

    def schemes(self, depth: int) -> list[set[str]]:
        """The negatives of each of ``depth`` levels, from the top."""
        return [set(scheme.split("+")) for scheme in lengthened(self.negatives, depth)]

    def beams(self, inner_levels: int) -> list[int]:
        """The beam of each cluster level, from the top."""
        return lengthened(self.beam, inner_levels)

    def scores_only_children(self, level: int, depth: int) -> bool:
        """Whether an only child on this of ``depth`` levels has a classifier; labels always have one."""
        return self.only_children or level + 1 == depth

    def transforms(self, depth: int) -> list[str]:
        """The score transform of each level, from the top."""
        last = "raw" if self.last_transform == "raw" else self.transform
        return [self.transform] * (depth - 1) + [last]

    def discounts(self, depth: int) -> list[float]:
        """The power of the parent's score at each level, from the top."""
        last = 0.0 if self.last_transform == "alone" else self.level_discount
        return [self.level_discount] * (depth - 1) + [last]


def _costs(text: str) -> tuple[float, float]:
    """Two costs, as 2/4."""
    positive, _, negative = text.partition("/")
    try:
        costs = float(positive), float(negative)
    except ValueError:
        costs = 0.0, 0.0
    if not all(0 < cost < math.inf for cost in costs):
        raise ConfigError(f"level_costs must have the form positive/negative, such as 2/4, not {text!r}")
    return costs
