"""What the networks over words share: the vocabulary, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt
from torch import nn

from ..arrays import under_prefix, with_prefix
from ..config import part
from ..neural.words import Words, WordsConfig
from ..strings import Strings
from .neural import NeuralConfig, NeuralMethod, Tokens


@dataclass(frozen=True)
class WordConfig(NeuralConfig):
    """Settings of a network over words."""

    words: WordsConfig = part(WordsConfig(), "the vocabulary and its vectors")


class WordMethod(NeuralMethod):
    """A network whose texts are words with vectors."""

    config: WordConfig
    words: Words | None = None

    def _learn_tokens(self, texts: Strings) -> None:
        self.words = Words.fit(texts, self.config.words, self.threads)

    def _tokens(self, texts: Strings) -> Tokens:
        assert self.words is not None
        return self.words.numbers(texts, self.config.max_length, self.threads)

    def _vectors_of_words(self, *, trained: bool) -> nn.Embedding:
        """New ones; ``trained``: they are about to be replaced."""
        assert self.words is not None
        if trained:
            return nn.Embedding(len(self.words), self.config.words.dimension, padding_idx=0)
        return self.words.embedding()

    def _token_state(self) -> dict[str, npt.NDArray]:
        assert self.words is not None
        return with_prefix("words", self.words.state())

    def _restore_tokens(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.words = Words.from_state(self.config.words, under_prefix("words", arrays))
