"""What the convolutional networks share: words with vectors of their own, and one network with switches."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..neural.text_cnn import TextCNN, TextCNNConfig
from ..search_space import SearchSpace
from .word_method import WordConfig, WordMethod

CNN_SPACE: SearchSpace = {
    "training.learning_rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "cnn.filters": (96, 192, 384, 768),
    "cnn.embedding_dropout": (0.2, 0.4, 0.6, 0.8),
    "cnn.dropout": (0.2, 0.4, 0.6, 0.8),
}
"""The ranges of the study of XML-CNN (Table 9); its other rows are for networks that have such a layer."""
HIDDEN_SPACE: SearchSpace = {"cnn.hidden": (256, 512, 1024)}
POOLS_SPACE: SearchSpace = {"cnn.pools": (2, 8)}


@dataclass(frozen=True)
class CNNConfig(WordConfig):
    """Settings of a convolutional network."""

    cnn: TextCNNConfig = part(TextCNNConfig(), "the layers")


class CNN(WordMethod):
    """A preset is its name and its config."""

    search_space = CNN_SPACE
    config: CNNConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        vectors = self._vectors_of_words(trained=trained)
        return TextCNN(vectors, labels, self.config.max_length, self.config.cnn)
