"""LightXML: one transformer that scores label clusters and the labels inside the best ones, trained at once.

Jiang, Wang, Sun, Yang, Zhao, Zhuang: "LightXML: Transformer with Dynamic Negative Sampling for
High-Performance Extreme Multi-label Text Classification", AAAI 2021. The vector of a text is its first
token in the last five layers. Without clusters, the network scores every label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from scipy import sparse

from .. import checkpoints
from ..config import part, setting
from ..errors import ConfigError
from ..neural.batches import Examples
from ..neural.cluster_head import ClusterHead
from ..neural.config import TrainingConfig
from ..neural.encoder_config import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, HeadedEncoder
from ..neural.network import Network
from ..neural.reader import Tokens
from ..neural.static_negatives import StaticNegatives, fixed_clusters
from ..neural.text_encoder import encoder_of
from ..neural.training import TrainingProgress
from ..search_space import SearchSpace
from .fine_tuning import TrainingTask, inference_settings
from .network_config import ClusteredEncoderConfig
from .neural import NeuralMethod

LIGHT_SPACE: SearchSpace = {"training.learning_rate": (5e-5, 1e-4, 2e-4), "transformer.dropout": (0.3, 0.5)}
"""Without ``cluster_beam``: by default only very many labels have clusters."""
FEW = 50_000
"""Labels up to which there are no clusters, as published for Wiki10-31K and smaller sets."""


@dataclass(frozen=True)
class LightXMLConfig(ClusteredEncoderConfig):
    """Settings of LightXML."""

    epochs: int = setting(10, "passes over the training examples", at_least=1)
    batch_size: int = setting(256, "texts per optimizer step", at_least=1)
    cluster_size: int = setting(
        0,
        "maximum labels per cluster; 1: no clusters; 0: as published (100; none up to 50,000 labels)",
        at_least=0,
    )
    negatives: str = setting(
        "dynamic",
        "negatives: labels of the clusters that currently rank best (dynamic), or that rank best after a "
        "first stage on the clusters alone, whose encoder the labels then use frozen (static) or copied and "
        "trained further (static-own)",
        choices=("dynamic", "static", "static-own"),
    )
    cluster_beam: int = setting(20, "beam width: clusters whose labels are ranked", at_least=1)
    hidden: int = setting(400, "width of the hidden layer before the labels", at_least=1)
    activation: str = setting(
        "none",
        "activation of the hidden layer: none, as in the released code, or sigmoid, as in the paper",
        choices=("none", "sigmoid"),
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

    renamed: ClassVar = {"visited": "cluster_beam"}

    def check(self) -> None:
        super().check()
        if self.training.dropout_steps and self.negatives != "dynamic":
            raise ConfigError("dropout_steps needs negatives=dynamic: leave out dropout_steps")


class LightXML(NeuralMethod):
    """Clusters and labels share one encoder."""

    name = "lightxml"
    config_class = LightXMLConfig
    search_space = LIGHT_SPACE
    config: LightXMLConfig

    def _cluster_sizes(self, labels: int) -> tuple[int, ...]:
        size = self.config.cluster_size or (1 if labels <= FEW else 100)
        count = clusters_of_size(labels, size)
        if 1 < count < labels and size > 1:
            return (count,)
        if self.config.negatives != "dynamic" and (size == 1 or labels > 2):  # two labels need no clusters
            raise ConfigError(
                f"negatives={self.config.negatives} needs clusters of labels, and there are none: set"
                f" cluster_size to a number above 1 and below the {labels:,} labels"
            )
        return ()

    def _build(self, labels: int, *, trained: bool) -> Network:
        config = self.config
        encoder = encoder_of(self.reader)
        assert self.clusters is not None
        if len(self.clusters) > 2:
            raise ConfigError(
                f"lightxml has one level of clusters, but the label tree has {len(self.clusters) - 1}: give a"
                " tree with one level above the labels"
            )
        if len(self.clusters) == 1:
            return EncoderNetwork(encoder, labels, "bce", reduction=config.reduction, bits=config.head_bits)
        head = ClusterHead(
            encoder.width,
            self.clusters.parents[-1],
            hidden=config.hidden,
            activation=config.activation,
            beam=config.cluster_beam,
            reduction=config.reduction,
            bits=config.head_bits,
            sparse=config.sparse,
        )
        if config.negatives == "dynamic":
            return HeadedEncoder(encoder, head)
        return StaticNegatives(encoder, head, own=config.negatives == "static-own")

    def _run_training(self, task: TrainingTask, tokens: Tokens, Y: sparse.csr_matrix) -> TrainingProgress:
        """With static negatives, trains the clusters first, then the labels with the best clusters."""
        network = self.network
        if not isinstance(network, StaticNegatives):
            return task.run()
        network.begin_clusters()
        of_clusters = checkpoints.name_of("clusters", task.checkpoint)
        clusters = replace(task, checkpoint=of_clusters, validator=None, on_epoch=None, part={"stage": 1})
        first = clusters.run()
        shortlist = fixed_clusters(network, task.examples, inference_settings(self.config, task.device))
        network.begin_labels()
        examples = Examples(tokens, Y, shortlist=shortlist, weights=task.examples.weights)
        return first.then(replace(task, examples=examples, part={"stage": 2}).run())


def clusters_of_size(labels: int, most: int) -> int:
    """The power of two with more than ``most`` / 2 and at most ``most`` labels per cluster."""
    return int(2 ** math.ceil(math.log2(max(labels / most, 1))))
