"""CascadeXML: the levels of a label tree, from coarse to fine, at ever later layers of one transformer.

Kharbanda, Banerjee, Schultheis, Babbar: "CascadeXML: Rethinking Transformers for End-to-end Multi-resolution
Training in Extreme Multi-label Classification", NeurIPS 2022. All levels are trained at once; each decides
which nodes of the next one count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..config import lengthened, part, setting
from ..errors import ConfigError
from ..neural.cascade_head import SCORES, CascadeHead
from ..neural.cascade_network import CascadeNetwork, usual_taps
from ..neural.config import TrainingConfig
from ..neural.encoder import EncoderConfig
from ..neural.network import Network
from ..search_space import SearchSpace
from .clustered import ClusteredConfig, ClusteredMethod

CASCADE_SPACE: SearchSpace = {"training.learning_rate": (5e-5, 1e-4, 2e-4), "epochs": (8, 12, 16)}
MANY = 100_000
"""Labels that get three levels of clusters above them, as published; fewer get two."""


@dataclass(frozen=True)
class CascadeXMLConfig(ClusteredConfig):
    """Settings of CascadeXML."""

    epochs: int = setting(10, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    clusters: tuple[int, ...] = setting(
        (),
        "of the levels above the labels, from the top; none: powers of two, about 8 times more each",
        at_least=1,
    )
    taps: tuple[int, ...] = setting(
        (), "layers: two for the first level, then one for each; none: as published, scaled to the encoder",
        at_least=1,
    )  # fmt: skip
    chosen: tuple[int, ...] = setting(
        (64,), "nodes of each level whose children count; a list is for the lowest levels", at_least=1
    )
    dropouts: tuple[float, ...] = setting(
        (0.3, 0.3, 0.4), "of each level's vectors; a list is for the lowest levels", at_least=0, at_most=1
    )
    score: str = setting(
        "weighted",
        "of a label: its probability alone (level), or times its parent's (weighted), or all above it (path)",
        choices=SCORES,
    )
    head_bits: int = setting(32, "of a label's weights", choices=(16, 32))
    transformer: EncoderConfig = part(EncoderConfig(pooling="cls", dropout=0.0), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=2e-4, rates=("head=0.002",), schedule="linear", warmup=0.1),
        "the training loop",
    )

    def check(self) -> None:
        super().check()
        if not self.chosen or not self.dropouts:
            raise ConfigError("chosen and dropouts need at least one entry")
        if list(self.clusters) != sorted(set(self.clusters)):
            raise ConfigError("clusters must grow from level to level")
        if self.transformer.layers != 1 or self.transformer.pooling == "pooler":
            raise ConfigError("each level sees one layer: set layers=1, and pooling=cls, mean or last")


class CascadeXML(ClusteredMethod):
    """All levels by one encoder."""

    name = "cascadexml"
    config_class = CascadeXMLConfig
    search_space = CASCADE_SPACE
    config: CascadeXMLConfig

    def _sizes(self, labels: int) -> tuple[int, ...]:
        sizes = self.config.clusters or usual_clusters(labels)
        return tuple(size for size in sizes if 1 < size < labels)

    def _build(self, labels: int, *, trained: bool) -> Network:
        config, levels = self.config, len(self.parents)
        encoder = self._new_encoder()
        taps = list(config.taps[-levels - 1 :]) or usual_taps(levels, encoder.depth)
        if len(taps) != levels + 1 or max(taps) > encoder.depth:
            raise ConfigError(
                f"taps: {levels} levels need {levels + 1} layers, of {encoder.depth} that there are"
            )
        head = CascadeHead(
            encoder.width,
            self.parents,
            chosen=lengthened(config.chosen, levels - 1),
            dropouts=lengthened(config.dropouts, levels),
            score=config.score,
            bits=config.head_bits,
        )
        return CascadeNetwork(encoder, head, taps)


def usual_clusters(labels: int) -> tuple[int, ...]:
    """2^10, 2^13 and 2^16 for very many labels; else two levels, the lower with 4 to 8 labels a cluster."""
    if labels >= MANY:
        return 1 << 10, 1 << 13, 1 << 16
    lower = math.ceil(math.log2(max(labels / 8, 1)))
    return tuple(1 << level for level in (lower - 3, lower) if level > 0)
