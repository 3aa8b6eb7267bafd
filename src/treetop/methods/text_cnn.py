"""What the convolutional networks share: words with vectors of their own, and one network with switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt
from torch import nn

from ..config import part
from ..neural.text_cnn import TextCNN, TextCNNConfig
from ..neural.words import Words, WordsConfig
from ..search_space import SearchSpace
from ..store import under_prefix, with_prefix
from ..strings import Strings
from .neural import NeuralConfig, NeuralMethod, Tokens

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
class CNNConfig(NeuralConfig):
    """Settings of a convolutional network."""

    words: WordsConfig = part(WordsConfig(), "the vocabulary and its vectors")
    cnn: TextCNNConfig = part(TextCNNConfig(), "the layers")


class CNN(NeuralMethod):
    """A preset is its name and its config."""

    search_space = CNN_SPACE
    config: CNNConfig
    words: Words | None = None

    def _learn_tokens(self, texts: Strings) -> None:
        self.words = Words.fit(texts, self.config.words, self.threads)

    def _tokens(self, texts: Strings) -> Tokens:
        assert self.words is not None
        return self.words.numbers(texts, self.config.max_length, self.threads)

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        assert self.words is not None
        config = self.config
        vectors = (
            nn.Embedding(len(self.words), config.words.dimension, padding_idx=0)
            if trained
            else self.words.embedding()
        )
        return TextCNN(vectors, labels, config.max_length, config.cnn)

    def _token_state(self) -> dict[str, npt.NDArray]:
        assert self.words is not None
        return with_prefix("words", self.words.state())

    def _restore_tokens(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.words = Words.from_state(self.config.words, under_prefix("words", arrays))
