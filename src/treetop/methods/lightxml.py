"""LightXML: one transformer that finds clusters of labels and ranks the labels inside them, trained at once.

Jiang, Wang, Sun, Yang, Zhao, Zhuang: "LightXML: Transformer with Dynamic Negative Sampling for
High-Performance Extreme Multi-label Text Classification", AAAI 2021. A text is the first token of the last
five layers. With clusters of one label each the network is a score for every label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from scipy import sparse

from ..config import part, setting
from ..neural.batches import Examples
from ..neural.cluster_head import ClusterHead
from ..neural.config import TrainingConfig
from ..neural.encoder import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, HeadedEncoder
from ..neural.network import Network
from ..neural.resuming import TrainingStates
from ..neural.static_negatives import StaticNegatives, fixed_clusters
from ..neural.training import Course, Training
from ..search_space import SearchSpace
from .clustered import ClusteredConfig, ClusteredMethod

LIGHT_SPACE: SearchSpace = {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "transformer.dropout": (0.3, 0.5),
    "visited": (10, 20, 40),
}


@dataclass(frozen=True)
class LightXMLConfig(ClusteredConfig):
    """Settings of LightXML."""

    epochs: int = setting(15, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    cluster_size: int = setting(
        100, "labels in a cluster at most, and more than half as many; 1: no clusters", at_least=1
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
    head_bits: int = setting(32, "of a label's weights", choices=(16, 32))
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


class LightXML(ClusteredMethod):
    """Clusters and labels by one encoder."""

    name = "lightxml"
    config_class = LightXMLConfig
    search_space = LIGHT_SPACE
    config: LightXMLConfig

    def _sizes(self, labels: int) -> tuple[int, ...]:
        count = clusters_of_size(labels, self.config.cluster_size)
        return (count,) if 1 < count < labels and self.config.cluster_size > 1 else ()

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
        )
        if config.negatives == "dynamic":
            return HeadedEncoder(encoder, head)
        return StaticNegatives(encoder, head, own=config.negatives == "static-own")

    def _first_stage(
        self, examples: Examples, device: torch.device, name: str | None
    ) -> tuple[sparse.csr_matrix, Course] | None:
        network, config = self.network, self.config
        if not isinstance(network, StaticNegatives):
            return None
        network.begin_clusters()
        training = Training(
            network,
            examples,
            config.training,
            epochs=config.epochs,
            batch_size=config.batch_size,
            seed=config.seed,
            device=device,
            states=TrainingStates(name),
        )
        course = training.run(f"Training {self.name}, the clusters first")
        shortlist = fixed_clusters(
            network,
            examples,
            batch_size=4 * config.batch_size,
            device=device,
            precision=training.precision,
        )
        network.begin_labels()
        return shortlist, course


def clusters_of_size(labels: int, most: int) -> int:
    """The power of two that leaves more than most / 2 and at most ``most`` labels in each."""
    return int(2 ** math.ceil(math.log2(max(labels / most, 1))))
