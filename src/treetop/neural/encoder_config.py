"""Settings of a pretrained transformer."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, setting
from ..errors import ConfigError
from ..linear.joined_ranker import JoinedRankerConfig

POOLINGS = ("mean", "cls", "last", "pooler")


@dataclass(frozen=True)
class EncoderConfig(Config):
    """The transformer, and how its states become one vector."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        "pretrained transformer: its name on the Hugging Face hub, or a local folder",
        names_file=True,
    )
    pooling: str = setting(
        "mean",
        "pooling of token states into a text's vector: their mean, the state of the first (cls) or the last "
        "token, or the output of the pretrained pooler",
        choices=POOLINGS,
    )
    layers: int = setting(
        1, "last layers whose vectors are concatenated; all layers of an encoder that has fewer", at_least=1
    )
    dropout: float = setting(0.1, "dropout on a text's vector", at_least=0, at_most=1)
    attention: str = setting(
        "auto",
        "implementation of attention; auto: the default of transformers for this encoder",
        choices=("auto", "sdpa", "eager", "flash_attention_2"),
    )
    cache: str | None = setting(
        None, "cache folder for text vectors by the encoder before fine-tuning; none: no cache"
    )
    int8: bool = setting(False, "predict with 8-bit weights on the CPU: twice as fast, slightly less exact")
    recompute: bool = setting(
        False, "gradient checkpointing: less memory while training on long texts, but slower"
    )

    def check(self) -> None:
        if self.pooling == "pooler" and self.layers > 1:
            raise ConfigError("pooling=pooler returns the vector of the last layer only: set layers=1")


@dataclass(frozen=True)
class EncoderRankerOptions:
    """The joined ranker of an encoder: see `EncoderRanker`."""

    config: JoinedRankerConfig
    layers: int
    """Last layers whose vectors it uses."""
    share: float
    """Weight of the network's score."""
