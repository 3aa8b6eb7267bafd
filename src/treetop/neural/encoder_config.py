"""Settings of a pretrained transformer."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, setting
from ..errors import ConfigError

POOLINGS = ("mean", "cls", "last", "pooler")


@dataclass(frozen=True)
class EncoderConfig(Config):
    """Which transformer, and how its states become one vector."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        "pretrained transformer: its name on the hub, or a local folder",
        names_file=True,
    )
    pooling: str = setting(
        "mean",
        "vector of a text: the mean of its tokens' states, the state of the first (cls) or the last token, "
        "or what the pretrained pooler makes of the first",
        choices=POOLINGS,
    )
    layers: int = setting(
        1, "last layers whose vectors are put side by side; all of an encoder that has fewer", at_least=1
    )
    dropout: float = setting(0.1, "share of a text's vector dropped while training", at_least=0, at_most=1)
    attention: str = setting(
        "auto",
        "how attention is computed; auto: what transformers takes for the encoder",
        choices=("auto", "sdpa", "eager", "flash_attention_2"),
    )
    cache: str | None = setting(
        None, "folder where vectors of texts by the encoder as it is published are kept, and found again"
    )
    int8: bool = setting(
        False, "predict with 8-bit weights on the processor: twice as fast, and a little less exact"
    )
    recompute: bool = setting(
        False, "keep less while training, and compute it twice: slower, for long texts (gradient checkpoints)"
    )

    def check(self) -> None:
        if self.pooling == "pooler" and self.layers > 1:
            raise ConfigError("pooling=pooler gives the vector of the last layer only: set layers=1")
