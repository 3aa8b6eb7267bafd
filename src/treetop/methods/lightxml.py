"""LightXML: one transformer that finds clusters of labels and ranks the labels inside them, trained at once.

Jiang, Wang, Sun, Yang, Zhao, Zhuang: "LightXML: Transformer with Dynamic Negative Sampling for
High-Performance Extreme Multi-label Text Classification", AAAI 2021. A text is the first token of the last
five layers. With clusters of one label each the network is a score for every label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .. import checkpoints
from ..config import part, setting
from ..errors import ConfigError
from ..neural.batches import Examples
from ..neural.cluster_head import ClusterHead
from ..neural.config import TrainingConfig
from ..neural.encoder import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, HeadedEncoder
from ..neural.network import Network
from ..neural.static_negatives import StaticNegatives, fixed_clusters
from ..neural.training import Course
from ..search_space import SearchSpace
from .neural import Lesson
from .sampled import SampledConfig, SampledMethod

LIGHT_SPACE: SearchSpace = {"training.learning_rate": (5e-5, 1e-4, 2e-4), "transformer.dropout": (0.3, 0.5)}
"""Not ``visited``: by default only very many labels have clusters."""
FEW = 50_000
"""Labels that are scored at once, as published for Wiki10-31K and smaller sets."""


@dataclass(frozen=True)
class LightXMLConfig(SampledConfig):
    """Settings of LightXML."""

    epochs: int = setting(10, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    cluster_size: int = setting(
        0,
        "labels in a cluster at most, and more than half as many; 1: no clusters; 0: as published, 100, or "
        "none of up to 50,000 labels",
        at_least=0,
    )
    negatives: str = setting(
        "dynamic",
        "whose labels are ranked while training: the clusters that are best now; or those that are best when "
        "they are trained, before the labels are, with the encoder as it is then (static) or one of the "
        "labels' own (static-own)",
        choices=("dynamic", "static", "static-own"),
    )
    visited: int = setting(20, "clusters whose labels are ranked", at_least=1)
    hidden: int = setting(400, "numbers that a text is narrowed to before its labels are ranked", at_least=1)
    activation: str = setting(
        "none", "after that: none, as in the released code, or the paper's", choices=("none", "sigmoid")
    )
    transformer: EncoderConfig = part(
        EncoderConfig(pooling="cls", layers=5, dropout=0.5), "the pretrained transformer"
    )
    training: TrainingConfig = part(
        TrainingConfig(
            learning_rate=2e-4,
            rates=("head=0.002",),
            schedule="linear",
            warmup=0.1,
        ),
        "the training loop",
    )


class LightXML(SampledMethod):
    """Clusters and labels by one encoder."""

    name = "lightxml"
    config_class = LightXMLConfig
    search_space = LIGHT_SPACE
    config: LightXMLConfig

    def _sizes(self, labels: int) -> tuple[int, ...]:
        size = self.config.cluster_size or (1 if labels <= FEW else 100)
        count = clusters_of_size(labels, size)
        if 1 < count < labels and size > 1:
            return (count,)
        if self.config.negatives != "dynamic" and (size == 1 or labels > 2):  # two have nothing to cluster
            raise ConfigError(
                f"negatives={self.config.negatives} is about clusters of labels, and there are none: set"
                f" cluster_size to a number above 1 and below the {labels:,} labels"
            )
        return ()

    def _build(self, labels: int, *, trained: bool) -> Network:
        config = self.config
        encoder = self._new_encoder()
        if len(self.parents) == 1:
            return EncoderNetwork(encoder, labels, "bce", bits=config.head_bits)
        head = ClusterHead(
            encoder.width,
            self.parents[-1],
            hidden=config.hidden,
            activation=config.activation,
            visited=config.visited,
            bits=config.head_bits,
            sparse=config.sparse,
        )
        if config.negatives == "dynamic":
            return HeadedEncoder(encoder, head)
        return StaticNegatives(encoder, head, own=config.negatives == "static-own")

    def _teach(self, lesson: Lesson) -> Course:
        """Where negatives are static, the clusters first; then the labels, with the clusters found."""
        network = self.network
        if not isinstance(network, StaticNegatives):
            return super()._teach(lesson)
        network.begin_clusters()
        of_clusters = checkpoints.name_of("clusters", lesson.name)
        clusters = replace(lesson, name=of_clusters, judge=None, on_epoch=None, which={"stage": 1})
        first = super()._teach(clusters)
        found = fixed_clusters(network, lesson.examples, self._pass(lesson.device))
        network.begin_labels()
        examples = Examples(lesson.tokens, lesson.Y, shortlist=found)
        return first.then(super()._teach(replace(lesson, examples=examples, which={"stage": 2})))


def clusters_of_size(labels: int, most: int) -> int:
    """The power of two that leaves more than most / 2 and at most ``most`` labels in each."""
    return int(2 ** math.ceil(math.log2(max(labels / most, 1))))
