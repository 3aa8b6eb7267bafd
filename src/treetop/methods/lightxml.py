"""LightXML: one transformer that finds clusters of labels and ranks the labels inside them, trained at once.

Jiang, Wang, Sun, Yang, Zhao, Zhuang: "LightXML: Transformer with Dynamic Negative Sampling for
High-Performance Extreme Multi-label Text Classification", AAAI 2021. A text is the first token of the last
five layers. With clusters of one label each the network is a score for every label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..config import part, setting
from ..data import Dataset
from ..errors import ModelError
from ..features import TfidfConfig
from ..neural.cluster_head import ClusterHead
from ..neural.config import TrainingConfig
from ..neural.encoder import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, HeadedEncoder
from ..neural.network import Network
from ..search_space import SearchSpace
from ..tree import TreeConfig, trees_of
from .encoded import EncodedConfig, EncodedMethod
from .features import USUAL_TFIDF, fitted_tfidf

LIGHT_SPACE: SearchSpace = {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "transformer.dropout": (0.3, 0.5),
    "visited": (10, 20, 40),
}


@dataclass(frozen=True)
class LightXMLConfig(EncodedConfig):
    """Settings of LightXML."""

    epochs: int = setting(15, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    cluster_size: int = setting(
        100, "labels in a cluster at most, and more than half as many; 1: no clusters", at_least=1
    )
    visited: int = setting(20, "clusters whose labels are ranked", at_least=1)
    hidden: int = setting(400, "numbers that a text is narrowed to before its labels are ranked", at_least=1)
    activation: str = setting(
        "none", "after that: none, as in the released code, or the paper's", choices=("none", "sigmoid")
    )
    head_bits: int = setting(32, "of a label's weights", choices=(16, 32))
    tfidf: TfidfConfig = part(USUAL_TFIDF, "what labels are clustered by")
    tree: TreeConfig = part(TreeConfig(), "how they are clustered")
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


class LightXML(EncodedMethod):
    """Clusters and labels by one encoder."""

    name = "lightxml"
    config_class = LightXMLConfig
    search_space = LIGHT_SPACE
    config: LightXMLConfig
    cluster_of: npt.NDArray[np.int64] | None = None
    """Of every label that the network scores; None: there are no clusters."""

    def _prepare(self, dataset: Dataset, Y: sparse.csr_matrix) -> None:
        config = self.config
        self.cluster_of = None
        count = clusters_of_size(Y.shape[1], config.cluster_size)
        if config.cluster_size == 1 or count == 1:
            return
        assert dataset.texts is not None
        _, X = fitted_tfidf(config.tfidf, dataset.texts, self.threads)
        wanted = config.tree.replace_settings({"levels": (count,)})
        tree = trees_of(X, Y, wanted, seeds=[config.seed], threads=self.threads)[0]
        self.cluster_of = np.empty(Y.shape[1], np.int64)
        self.cluster_of[tree.labels] = np.repeat(np.arange(count), np.diff(tree.offsets[1]))

    def _build(self, labels: int, *, trained: bool) -> Network:
        config = self.config
        encoder = self._new_encoder()
        if self.cluster_of is None:
            return EncoderNetwork(encoder, labels, "bce", bits=config.head_bits)
        head = ClusterHead(
            encoder.width,
            self.cluster_of,
            hidden=config.hidden,
            activation=config.activation,
            visited=config.visited,
            bits=config.head_bits,
        )
        return HeadedEncoder(encoder, head)

    def _token_state(self) -> dict[str, npt.NDArray]:
        clusters = {} if self.cluster_of is None else {"cluster_of": self.cluster_of}
        return super()._token_state() | clusters

    def _restore_tokens(self, arrays: Mapping[str, npt.NDArray]) -> None:
        super()._restore_tokens(arrays)
        self.cluster_of = None
        if "cluster_of" in arrays:
            self.cluster_of = np.array(arrays["cluster_of"], np.int64)
            if len(self.cluster_of) != len(self.used) or self.cluster_of.min(initial=0) < 0:
                raise ModelError("the clusters are not those of the labels")


def clusters_of_size(labels: int, most: int) -> int:
    """The power of two that leaves more than most / 2 and at most ``most`` labels in each."""
    return int(2 ** math.ceil(math.log2(max(labels / most, 1))))
