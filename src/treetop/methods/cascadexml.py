"""CascadeXML: the levels of a label tree, from coarse to fine, at successive layers of one transformer.

Kharbanda, Banerjee, Schultheis, Babbar: "CascadeXML: Rethinking Transformers for End-to-end Multi-resolution
Training in Extreme Multi-label Classification", NeurIPS 2022. All levels are trained at once; each selects
the nodes of the next level that are scored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..config import lengthened, part, setting
from ..deprecation import renamed_method
from ..errors import ConfigError
from ..neural.cascade_head import SCORES, CascadeHead
from ..neural.cascade_network import CascadeNetwork, usual_taps
from ..neural.config import TrainingConfig
from ..neural.encoder_config import EncoderConfig
from ..neural.text_encoder import encoder_of
from ..search_space import SearchSpace
from .network_config import ClusteredEncoderConfig
from .neural import NeuralMethod

CASCADE_SPACE: SearchSpace = {"training.learning_rate": (5e-5, 1e-4, 2e-4), "epochs": (8, 12, 16)}
MANY = 100_000
"""With at least this many labels there are three levels of clusters, as published; with fewer, one."""


@dataclass(frozen=True)
class CascadeXMLConfig(ClusteredEncoderConfig):
    """Settings of CascadeXML."""

    epochs: int = setting(10, "passes over the training examples", at_least=1)
    batch_size: int = setting(256, "texts per optimizer step", at_least=1)
    clusters: tuple[int, ...] = setting(
        (),
        "clusters on each level above the labels, from the top; none: chosen by the number of labels. Levels "
        "with as many clusters as labels, or more, are left out",
        at_least=1,
    )
    taps: tuple[int, ...] = setting(
        (),
        "encoder layers that the levels use: two for the first level, then one each; a list is for the "
        "lowest levels; none: as published, scaled to the encoder",
        at_least=1,
    )
    cluster_beam: tuple[int, ...] = setting(
        (64,),
        "beam width: nodes of each level whose children are scored; a list is for the lowest levels",
        at_least=1,
    )
    dropouts: tuple[float, ...] = setting(
        (0.3, 0.3, 0.4),
        "dropout on each level's vectors; a list is for the lowest levels",
        at_least=0,
        at_most=1,
    )
    level_weights: tuple[float, ...] = setting(
        (1.0,), "weight of each level's loss; a list is for the lowest levels", above=0
    )
    score: str = setting(
        "weighted",
        "score of a label: its probability alone (level), times its parent's (weighted), or times all "
        "above (path)",
        choices=SCORES,
    )
    transformer: EncoderConfig = part(EncoderConfig(dropout=0.0), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=2e-4, rates=("head=0.002",), schedule="linear", warmup=0.1),
        "the training loop",
    )

    renamed: ClassVar = {"chosen": "cluster_beam"}

    def check(self) -> None:
        super().check()
        if not self.cluster_beam or not self.dropouts or not self.level_weights:
            raise ConfigError("cluster_beam, dropouts and level_weights need at least one entry")
        if list(self.clusters) != sorted(set(self.clusters)):
            raise ConfigError(
                "the numbers of clusters must increase from level to level: list the smallest first"
            )
        if list(self.taps) != sorted(self.taps):
            raise ConfigError(
                "taps must not decrease (no level can use an earlier layer than the level above it):"
                " sort them"
            )
        if self.transformer.layers != 1 or self.transformer.pooling == "pooler":
            raise ConfigError("each level uses one layer: set layers=1, and pooling to cls, mean or last")


class CascadeXML(NeuralMethod):
    """All levels share one encoder."""

    name = "cascadexml"
    config_class = CascadeXMLConfig
    search_space = CASCADE_SPACE
    config: CascadeXMLConfig

    def _cluster_sizes(self, labels: int) -> tuple[int, ...]:
        sizes = self.config.clusters or usual_clusters(labels)
        return tuple(size for size in sizes if 1 < size < labels)

    def _build(self, labels: int, *, trained: bool) -> CascadeNetwork:
        assert self.clusters is not None
        config, levels = self.config, len(self.clusters)
        encoder = encoder_of(self.reader)
        taps = list(config.taps[-levels - 1 :]) or usual_taps(levels, encoder.depth)
        if len(taps) != levels + 1:
            raise ConfigError(
                f"taps must name {levels + 1} layers, one more than the levels, not {len(taps)}"
            )
        if max(taps) > encoder.depth:
            raise ConfigError(
                f"taps: there is no layer {max(taps)}, the encoder has {encoder.depth}: lower them, or leave"
                " taps out (taps=) for the published layers, scaled to the encoder"
            )
        head = CascadeHead(
            encoder.width,
            self.clusters.parents,
            beam=lengthened(config.cluster_beam, levels - 1),
            dropouts=lengthened(config.dropouts, levels),
            score=config.score,
            weights=lengthened(config.level_weights, levels),
            reduction=config.reduction,
            bits=config.head_bits,
            sparse=config.sparse,
        )
        return CascadeNetwork(encoder, head, taps)

    level_recall = renamed_method("CascadeXML.level_recall", "treetop.methods.cascade_analysis.level_recall")
    attention_views = renamed_method(
        "CascadeXML.attention_views", "treetop.methods.cascade_analysis.attention_views"
    )


def usual_clusters(labels: int) -> tuple[int, ...]:
    """2^10, 2^13 and 2^16 for `MANY` labels, as published; else one level, 16 to 32 labels per cluster."""
    if labels >= MANY:
        return 1 << 10, 1 << 13, 1 << 16
    level = math.ceil(math.log2(max(labels / 32, 1)))
    return (1 << level,) if level > 0 else ()
