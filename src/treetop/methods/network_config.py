"""Settings that methods with a network share, and the parts that a network has with them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy.typing as npt

from ..config import Config, part, setting
from ..errors import ConfigError
from ..features import USUAL_TFIDF, TfidfConfig
from ..linear.joined_ranker import JoinedRankerConfig
from ..neural.config import TrainingConfig
from ..neural.encoder_config import EncoderConfig, EncoderRankerOptions
from ..neural.heads import REDUCTIONS
from ..neural.reader import Reader, WordReader
from ..neural.words import WordsConfig
from ..strings import Strings
from ..tree import ClusteringConfig
from .base import MethodConfig


@dataclass(frozen=True)
class NetworkConfig(MethodConfig):
    """Settings of all methods that train a network."""

    epochs: int = setting(20, "passes over the training examples", at_least=1)
    batch_size: int = setting(64, "texts per optimizer step", at_least=1)
    max_length: int = setting(500, "maximum words or tokens read per text", at_least=1)
    device: str = setting("auto", "device: cuda, cuda:1, mps or cpu; auto uses the first available")
    training: TrainingConfig = part(TrainingConfig(), "the training loop")


@dataclass(frozen=True)
class LabelNetworkConfig(NetworkConfig):
    """Settings of all networks that score the labels themselves."""

    label_weights: str = setting(
        "equal",
        "weight of a label in the loss: equal, or larger for rare labels (propensity)",
        choices=("equal", "propensity"),
    )

    @abstractmethod
    def new_reader(self, texts: Strings, *, threads: int) -> Reader:
        """What reads texts, fitted to the training texts."""

    @abstractmethod
    def stored_reader(self, arrays: Mapping[str, npt.NDArray]) -> Reader:
        """The reader of a stored model."""

    @property
    def head_from_frequencies(self) -> bool:
        """Whether the biases start from the label frequencies; else they are random."""
        return False

    @property
    def ranker(self) -> EncoderRankerOptions | None:
        """The joined ranker that ranks labels together with the network; None: the network alone does."""
        return None

    @property
    def int8(self) -> bool:
        """Whether predictions use 8-bit weights of the encoder."""
        return False


@dataclass(frozen=True)
class WordNetworkConfig(LabelNetworkConfig):
    """Settings of all networks on words."""

    words: WordsConfig = part(WordsConfig(), "the vocabulary and its word vectors")

    def new_reader(self, texts: Strings, *, threads: int) -> Reader:
        return WordReader.fit(texts, self.words, self.max_length, threads=threads)

    def stored_reader(self, arrays: Mapping[str, npt.NDArray]) -> Reader:
        return WordReader.from_state(self.words, self.max_length, arrays)


@dataclass(frozen=True)
class EncoderNetworkConfig(LabelNetworkConfig):
    """Settings of all networks with a pretrained transformer and a score for every label.

    A joined ranker on TF-IDF and the trained encoder's vectors may rank labels too, see `EncoderRanker`.
    """

    max_length: int = setting(128, "maximum tokens read per text", at_least=1)
    transformer: EncoderConfig = part(EncoderConfig(), "the pretrained transformer")
    head_bits: int = setting(
        32,
        "bits per label weight; 16 halves the memory of weights and optimizer (stochastic rounding)",
        choices=(16, 32),
    )
    start: str = setting(
        "frequency",
        "initial scores of the labels: their frequencies, or random",
        choices=("frequency", "random"),
    )
    rankers: bool = setting(
        True, "rank labels with linear rankers on TF-IDF and the trained encoder's vectors, too"
    )
    ranker_layers: int = setting(1, "last layers whose vectors the rankers use; at most `layers`", at_least=1)
    head_share: float = setting(
        0.15, "weight of the network's score; the rankers get the rest", at_least=0, at_most=1
    )
    ranking: JoinedRankerConfig = part(JoinedRankerConfig(), "the rankers")

    def check(self) -> None:
        super().check()
        if self.ranker_layers > self.transformer.layers:
            raise ConfigError(
                f"ranker_layers={self.ranker_layers}: the rankers cannot use more layers than the network"
                f" ({self.transformer.layers}): lower ranker_layers, or raise layers"
            )

    def new_reader(self, texts: Strings, *, threads: int) -> Reader:
        from ..neural.text_encoder import TextEncoder

        return TextEncoder.pretrained(self.transformer, self.max_length)

    def stored_reader(self, arrays: Mapping[str, npt.NDArray]) -> Reader:
        from ..neural.text_encoder import TextEncoder

        return TextEncoder.from_state(self.transformer, self.max_length, arrays)

    @property
    def head_from_frequencies(self) -> bool:
        return self.start != "random"

    @property
    def ranker(self) -> EncoderRankerOptions | None:
        if not self.rankers:
            return None
        return EncoderRankerOptions(self.ranking, layers=self.ranker_layers, share=self.head_share)

    @property
    def int8(self) -> bool:
        return self.transformer.int8


@dataclass(frozen=True)
class ClusterConfig(Config):
    """Settings of the label tree inside a network."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "TF-IDF features used to cluster the labels")
    tree: ClusteringConfig = part(ClusteringConfig(), "clustering of the labels")


@dataclass(frozen=True)
class ClusteredEncoderConfig(ClusterConfig, EncoderNetworkConfig):
    """Settings of all encoders that score label clusters, and the labels of the best clusters."""

    reduction: str = setting(
        "sum",
        "loss of a text on each level: sum over its candidates, or their mean, as in the released code of "
        "LightXML and CascadeXML",
        choices=REDUCTIONS,
    )
    sparse: bool = setting(
        False,
        "sparse gradients: update only the labels scored in a step; less memory where labels far outnumber "
        "the candidates of a batch",
    )

    def check(self) -> None:
        super().check()
        if self.sparse and self.head_bits == 16:
            raise ConfigError("sparse=true needs head_bits=32: set head_bits=32, or sparse=false")


@dataclass(frozen=True)
class JoinedFeaturesConfig(NetworkConfig):
    """Settings of all methods whose rankers see TF-IDF and the vectors of a fine-tuned encoder."""

    batch_size: int = setting(256, "texts per optimizer step", at_least=1)
    max_length: int = setting(128, "maximum tokens read per text", at_least=1)
    reduction: str = setting(
        "sum",
        "loss of a text in fine-tuning: sum over the clusters that are scored for it, or their mean, as in "
        "the released code",
        choices=REDUCTIONS,
    )
    tfidf: TfidfConfig = part(USUAL_TFIDF, "TF-IDF features of the texts")
    use: str = setting("both", "features of the rankers", choices=("both", "tfidf", "vectors"))
    transformer: EncoderConfig = part(EncoderConfig(), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=1e-4, rates=("head=0.001",), schedule="linear", warmup=0.1, clip=1.0),
        "the training loop of the fine-tuning",
    )

    renamed: ClassVar = {"keep_data": None}
