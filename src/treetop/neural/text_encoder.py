"""`TextEncoder`: texts → word pieces → dense vectors, by a pretrained transformer and its tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..arrays import under_prefix, with_prefix
from ..model_arrays import check_most
from ..strings import Strings
from .arrays import load_weights
from .batches import Examples
from .device import using_threads
from .encoder import Encoder, rebuilt
from .encoder_config import EncoderConfig
from .encoder_network import text_vectors
from .inference import InferenceSettings
from .pretrained import longest_input, pretrained
from .reader import Reader, Tokens
from .tokenizer import Tokenizer
from .vector_cache import cached

Vectors = npt.NDArray[np.float32]


def encoder_of(reader: Reader | None) -> Encoder:
    """The transformer of a reader that is a `TextEncoder`."""
    assert isinstance(reader, TextEncoder)
    return reader.encoder


class TextEncoder:
    """A tokenizer and an encoder; it reads at most ``longest`` tokens per text."""

    def __init__(self, encoder: Encoder, tokenizer: Tokenizer, longest: int) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.longest = longest

    @classmethod
    def pretrained(cls, config: EncoderConfig, longest: int) -> TextEncoder:
        """From the hub or a local folder."""
        return cls(*pretrained(config, longest), longest)

    def tokens(self, texts: Strings, *, threads: int = 0) -> Tokens:
        """``threads`` has no effect: the tokenizer chooses its own."""
        tokens = self.tokenizer.numbers(texts, self.longest)
        check_most("number of a word piece", int(tokens[1].max(initial=0)), self.encoder.vocabulary - 1)
        return tokens

    def vectors(
        self, tokens: Tokens, inference: InferenceSettings, *, threads: int, cache: str | None = None
    ) -> Vectors:
        """Texts × width; ``cache``: a folder that may hold them already."""
        examples = Examples(tokens)

        def make() -> Vectors:
            with using_threads(threads):
                return text_vectors(self.encoder, examples, inference)

        return cached(cache, self.encoder, examples, make)

    def counts(self) -> dict[str, int]:
        """The number of weights."""
        return {"encoder": sum(weight.numel() for weight in self.encoder.parameters())}

    def weights(self) -> dict[str, npt.NDArray]:
        return {name: value.detach().cpu().numpy() for name, value in self.encoder.state_dict().items()}

    def load_weights(self, arrays: Mapping[str, npt.NDArray]) -> None:
        load_weights(self.encoder, arrays)

    def state(self) -> dict[str, npt.NDArray]:
        """Tokenizer and configuration, for a network that keeps the encoder's weights with its own."""
        tokens = with_prefix("tokens", self.tokenizer.state())
        return tokens | with_prefix("encoder", self.encoder.description())

    @classmethod
    def from_state(
        cls, config: EncoderConfig, longest: int, arrays: Mapping[str, npt.NDArray]
    ) -> TextEncoder:
        """The inverse of `state`; the weights are about to be replaced."""
        tokenizer = Tokenizer.from_state(under_prefix("tokens", arrays))
        encoder = rebuilt(config, under_prefix("encoder", arrays), arrays)
        return cls(encoder, tokenizer, longest)._checked()

    def whole_state(self) -> dict[str, npt.NDArray]:
        """Tokenizer, configuration and weights."""
        return (
            with_prefix("tokens", self.tokenizer.state())
            | with_prefix("shape", self.encoder.description())
            | with_prefix("weights", self.weights())
        )

    @classmethod
    def from_whole_state(
        cls, config: EncoderConfig, longest: int, arrays: Mapping[str, npt.NDArray]
    ) -> TextEncoder:
        """The inverse of `whole_state`."""
        tokenizer = Tokenizer.from_state(under_prefix("tokens", arrays))
        encoder = cls(rebuilt(config, under_prefix("shape", arrays), arrays), tokenizer, longest)
        encoder.load_weights(under_prefix("weights", arrays))
        return encoder._checked()

    def _checked(self) -> TextEncoder:
        """The same, if its parts match. Word pieces are checked in texts: listing all takes long."""
        check_most("padding token", self.encoder.padding, self.encoder.vocabulary - 1)
        check_most("max_length", self.longest, longest_input(self.encoder.transformer, sys.maxsize))
        return self
