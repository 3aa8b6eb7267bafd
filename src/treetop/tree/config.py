"""Settings of label trees."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, setting
from ..errors import ConfigError

FROM_EXAMPLES = ("pifa", "co-occurrence", "both")
"""Label vectors that the training examples give; the others need label texts."""
MANY = 100_000
"""Labels from which on an unbalanced tree of no given depth has a third level of clusters."""


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

    @property
    def needs_label_texts(self) -> bool:
        """Whether label vectors depend on the labels' own texts."""
        return self.vectors not in FROM_EXAMPLES


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
