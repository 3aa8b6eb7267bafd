"""`TextEncoder`: texts → dense vectors, by a transformer and its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..arrays import under_prefix, with_prefix
from ..strings import Strings
from .arrays import load_weights
from .batches import Examples
from .device import chosen_device, chosen_precision, using_threads
from .encoder import Encoder, EncoderConfig, rebuilt
from .encoder_network import text_vectors
from .pretrained import pretrained
from .ranking import Pass
from .tokenizer import Tokenizer
from .vector_cache import cached

Tokens = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
Vectors = npt.NDArray[np.float32]


class TextEncoder:
    """At most ``longest`` tokens of each text are read."""

    def __init__(self, encoder: Encoder, tokenizer: Tokenizer, longest: int) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.longest = longest

    @classmethod
    def pretrained(cls, config: EncoderConfig, longest: int) -> TextEncoder:
        return cls(*pretrained(config, longest), longest)

    def tokens(self, texts: Strings) -> Tokens:
        return self.tokenizer.numbers(texts, self.longest)

    def vectors(
        self,
        tokens: Tokens,
        *,
        batch_size: int,
        device: str,
        precision: str,
        threads: int,
        cache: str | None = None,
    ) -> Vectors:
        """Texts × width; ``cache``: a folder where they may lie already."""
        place, examples = chosen_device(device), Examples(tokens)

        def make() -> Vectors:
            way = Pass(batch_size, place, chosen_precision(precision, place))
            with using_threads(threads):
                return text_vectors(self.encoder, examples, way)

        return cached(cache, self.encoder, examples, make)

    def weights(self) -> dict[str, npt.NDArray]:
        return {name: value.detach().cpu().numpy() for name, value in self.encoder.state_dict().items()}

    def load_weights(self, arrays: Mapping[str, npt.NDArray]) -> None:
        load_weights(self.encoder, arrays, "encoder")

    def state(self) -> dict[str, npt.NDArray]:
        return (
            with_prefix("tokens", self.tokenizer.state())
            | with_prefix("shape", self.encoder.description())
            | with_prefix("weights", self.weights())
        )

    @classmethod
    def from_state(
        cls, config: EncoderConfig, longest: int, arrays: Mapping[str, npt.NDArray]
    ) -> TextEncoder:
        tokenizer = Tokenizer.from_state(under_prefix("tokens", arrays))
        encoder = cls(rebuilt(config, under_prefix("shape", arrays)), tokenizer, longest)
        encoder.load_weights(under_prefix("weights", arrays))
        return encoder
