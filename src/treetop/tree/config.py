"""Settings of label trees."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, setting
from ..errors import ConfigError

FROM_EXAMPLES = ("pifa", "co-occurrence", "both", "graph")
"""Label vectors from the training examples; the others need label texts."""
MANY = 100_000
"""With at least this many labels, an unbalanced tree without a given depth has a third level of clusters."""


@dataclass(frozen=True)
class ClusteringConfig(Config):
    """Label clustering, whatever the shape of the tree."""

    spherical: bool = setting(
        True, "cluster by cosine similarity to normalised centres; false: by distance to means"
    )
    iterations: int = setting(20, "maximum k-means iterations", at_least=1)
    vectors: str = setting(
        "pifa",
        "label vectors: features of the label's training texts (pifa), labels of these (co-occurrence), "
        "both, pifa smoothed over a graph of labels that share texts (graph), features of its own text "
        "(label-text), or pifa and label-text concatenated (concat) or added (sum)",
        choices=(*FROM_EXAMPLES, "label-text", "concat", "sum"),
    )
    text_weight: float = setting(
        0.5, "weight of the label text where vectors is concat or sum", at_least=0, at_most=1
    )
    vector_size: int = setting(
        1000, "number of largest entries to keep of each label vector; 0: all", at_least=0
    )
    vector_min_df: int = setting(
        2, "minimum number of texts with a feature to keep it in label vectors", at_least=1
    )
    share_rows: bool = setting(True, "weight a text with n labels by 1/sqrt(n) in each of their vectors")
    graph_hops: int = setting(
        400, "hops of each label's random walk where vectors is graph: label to text to label", at_least=1
    )
    graph_restart: float = setting(
        0.8, "probability that a hop starts at the walk's own label", at_least=0, at_most=1
    )
    graph_neighbours: int = setting(
        10, "number of most visited labels to keep for each label of the graph", at_least=1
    )

    @property
    def needs_label_texts(self) -> bool:
        """Whether label vectors depend on the labels' own texts."""
        return self.vectors not in FROM_EXAMPLES


@dataclass(frozen=True)
class TreeConfig(ClusteringConfig):
    """Label clustering, and the shape of the tree."""

    kind: str = setting(
        "balanced",
        "k-means with clusters of equal size, or of any size",
        choices=("balanced", "unbalanced"),
    )
    branching: int = setting(16, "children per node", at_least=2)
    leaf_size: int = setting(
        1000,
        "maximum labels per lowest cluster (balanced); clusters up to this size are not split (unbalanced)",
        at_least=1,
    )
    top: int | None = setting(
        None, "maximum clusters on the first level of a balanced tree; none: as branching", at_least=1
    )
    levels: tuple[int, ...] | None = setting(
        None,
        "clusters on each level from the top, such as 16-256; replaces branching and leaf_size",
        at_least=1,
    )
    depth: int | None = setting(
        3,
        f"maximum cluster levels of an unbalanced tree; none: 2, or 3 with {MANY:,} labels or more",
        at_least=1,
    )

    def check(self) -> None:
        if self.top is not None and (self.levels is not None or self.kind != "balanced"):
            raise ConfigError("top applies only to balanced trees without levels: set tree.top=none")
        if self.levels is None:
            return
        if list(self.levels) != sorted(set(self.levels)):
            raise ConfigError(
                f"levels must increase from the top, not {'-'.join(map(str, self.levels))}: smallest first"
            )
        if self.kind != "balanced":
            raise ConfigError(
                "levels are for balanced trees: leave them out, and set branching and leaf_size"
            )
