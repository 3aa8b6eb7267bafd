"""What networks share that score clusters of labels, and the labels of the best of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import setting
from ..errors import ConfigError
from .cat_ranked import CatRankedConfig, CatRankedMethod
from .clustered import ClusteredConfig, ClusteredMethod


@dataclass(frozen=True)
class SampledConfig(ClusteredConfig, CatRankedConfig):
    """Settings of every such method."""

    sparse: bool = setting(
        False,
        "a step moves only those labels that it has scored: less memory where labels are far more than the "
        "candidates of a batch",
    )

    def check(self) -> None:
        super().check()
        if self.sparse and self.head_bits == 16:
            raise ConfigError("sparse=true needs head_bits=32")


class SampledMethod(ClusteredMethod, CatRankedMethod):
    """An encoder with a label tree."""
