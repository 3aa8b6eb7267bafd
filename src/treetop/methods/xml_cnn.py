"""XML-CNN: Kim-CNN with dynamic pooling and a hidden layer.

``xml-cnn`` is as in its paper. ``xml-cnn-impl`` is as in its first public code: filters slide along the
embeddings, and pooling takes maxima of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part, setting
from ..neural.config import TrainingConfig
from ..neural.text_cnn import TextCNN, TextCNNConfig
from .cnn_config import CNN_SPACE, HIDDEN_SPACE, POOLS_SPACE, CNNConfig, text_cnn
from .neural import NeuralMethod


@dataclass(frozen=True)
class XMLCNNConfig(CNNConfig):
    """The sizes for EUR-Lex in the study."""

    training: TrainingConfig = part(TrainingConfig(learning_rate=3e-4), "the training loop")
    cnn: TextCNNConfig = part(
        TextCNNConfig(pooling="dynamic", pools=2, filters=768, hidden=1024), "the layers of the network"
    )


class XMLCNN(NeuralMethod):
    """XML-CNN as in its paper."""

    name = "xml-cnn"
    config_class = XMLCNNConfig
    search_space = CNN_SPACE | HIDDEN_SPACE | POOLS_SPACE
    config: XMLCNNConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        return text_cnn(self.reader, labels, self.config, trained=trained)


@dataclass(frozen=True)
class XMLCNNImplConfig(CNNConfig):
    """The settings of the first public code."""

    batch_size: int = setting(256, "texts per optimizer step", at_least=1)
    training: TrainingConfig = part(TrainingConfig(learning_rate=1e-3), "the training loop")
    cnn: TextCNNConfig = part(
        TextCNNConfig(
            sweep="embeddings",
            pooling="adjacent",
            filter_sizes=(2, 4, 8),
            filters=128,
            stride=2,
            hidden=512,
            embedding_dropout=0.25,
            dropout=0.25,
            init="xavier",
        ),
        "the layers of the network",
    )


class XMLCNNImpl(NeuralMethod):
    """XML-CNN as in its first public code; pads or truncates every text to ``max_length`` words."""

    name = "xml-cnn-impl"
    config_class = XMLCNNImplConfig
    search_space = CNN_SPACE | HIDDEN_SPACE
    config: XMLCNNImplConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        return text_cnn(self.reader, labels, self.config, trained=trained)
