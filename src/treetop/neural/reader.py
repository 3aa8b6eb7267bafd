"""`Reader`: turns texts into the tokens of a network. Words here; word pieces in `text_encoder`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import nn

from ..arrays import under_prefix, with_prefix
from ..strings import Strings
from .words import Words, WordsConfig

Tokens = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
"""``indptr, ids`` of the tokens of every text."""


class Reader(Protocol):
    """Texts → tokens, up to a maximum number per text."""

    def tokens(self, texts: Strings, *, threads: int) -> Tokens: ...

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""


class WordReader:
    """Words of a vocabulary, at most ``longest`` per text."""

    def __init__(self, words: Words, longest: int) -> None:
        self.words = words
        self.longest = longest

    @classmethod
    def fit(cls, texts: Strings, config: WordsConfig, longest: int, *, threads: int) -> WordReader:
        """Builds the vocabulary from the texts."""
        return cls(Words.fit(texts, config, threads), longest)

    def tokens(self, texts: Strings, *, threads: int) -> Tokens:
        return self.words.numbers(texts, self.longest, threads)

    def embedding(self, *, blank: bool) -> nn.Embedding:
        """Initial word vectors; ``blank``: arbitrary ones, because they are about to be replaced."""
        if blank:
            return nn.Embedding(len(self.words), self.words.config.dimension, padding_idx=0)
        return self.words.embedding()

    def state(self) -> dict[str, npt.NDArray]:
        return with_prefix("words", self.words.state())

    @classmethod
    def from_state(cls, config: WordsConfig, longest: int, arrays: Mapping[str, npt.NDArray]) -> WordReader:
        return cls(Words.from_state(config, under_prefix("words", arrays)), longest)
