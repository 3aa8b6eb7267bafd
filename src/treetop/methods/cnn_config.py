"""Settings of the convolutional networks, and their values for tuning."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..neural.reader import Reader, WordReader
from ..neural.text_cnn import TextCNN, TextCNNConfig
from ..search_space import SearchSpace
from .network_config import WordNetworkConfig

CNN_SPACE: SearchSpace = {
    "training.learning_rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "cnn.filters": (96, 192, 384, 768),
    "cnn.embedding_dropout": (0.2, 0.4, 0.6, 0.8),
    "cnn.dropout": (0.2, 0.4, 0.6, 0.8),
}
"""The ranges of the study of XML-CNN (Table 9); its other rows apply only to networks with such a layer."""
HIDDEN_SPACE: SearchSpace = {"cnn.hidden": (256, 512, 1024)}
POOLS_SPACE: SearchSpace = {"cnn.pools": (2, 8)}


@dataclass(frozen=True)
class CNNConfig(WordNetworkConfig):
    """Settings of a convolutional network."""

    cnn: TextCNNConfig = part(TextCNNConfig(), "the layers of the network")


def text_cnn(reader: Reader | None, labels: int, config: CNNConfig, *, trained: bool) -> TextCNN:
    """The network on the reader's words; ``trained``: its weights are about to be replaced."""
    assert isinstance(reader, WordReader)
    return TextCNN(reader.embedding(blank=trained), labels, config.max_length, config.cnn)
