"""What the methods with a pretrained transformer share: its tokens, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..neural.encoder import Encoder, EncoderConfig, rebuilt
from ..neural.pretrained import pretrained
from ..neural.tokenizer import Tokenizer
from ..ranked import Ranked
from ..strings import Strings
from .neural import NeuralConfig, NeuralMethod, Tokens


@dataclass(frozen=True)
class EncodedConfig(NeuralConfig):
    """Settings of every method with a pretrained transformer."""

    max_length: int = setting(128, "tokens of a text that are read", at_least=1)
    transformer: EncoderConfig = part(EncoderConfig(), "the pretrained transformer")


class EncodedMethod(NeuralMethod):
    """A network whose ``encoder`` is a pretrained transformer."""

    config: EncodedConfig
    tokenizer: Tokenizer | None = None
    _encoder: Encoder | None = None
    """Until the network is built around it."""

    def _learn_tokens(self, texts: Strings) -> None:
        self._encoder, self.tokenizer = pretrained(self.config.transformer, self.config.max_length)

    def _tokens(self, texts: Strings) -> Tokens:
        assert self.tokenizer is not None
        return self.tokenizer.numbers(texts, self.config.max_length)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        self._choose_bits()
        return super()._rank(dataset, k)

    def _choose_bits(self) -> None:
        """Of the encoder's weights in predictions."""
        assert self.network is not None
        for module in self.network.children():
            if isinstance(module, Encoder):
                module.narrow = self.config.transformer.int8

    def _new_encoder(self) -> Encoder:
        encoder, self._encoder = self._encoder, None
        assert encoder is not None
        return encoder

    def _token_state(self) -> dict[str, npt.NDArray]:
        assert self.tokenizer is not None and self.network is not None
        encoder = self.network.get_submodule("encoder")
        assert isinstance(encoder, Encoder)
        return with_prefix("tokens", self.tokenizer.state()) | with_prefix("encoder", encoder.description())

    def _restore_tokens(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.tokenizer = Tokenizer.from_state(under_prefix("tokens", arrays))
        self._encoder = rebuilt(self.config.transformer, under_prefix("encoder", arrays))
