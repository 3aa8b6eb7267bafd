"""An encoder and a `CascadeHead` on several of its layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .batches import Batch
from .cascade_head import CascadeHead
from .encoder import Encoder
from .encoder_network import HeadedEncoder

USUAL = {1: ((11, 12), ()), 2: ((9, 10), (12,)), 3: ((9, 10), (11, 12)), 4: ((5, 6), (8, 10, 12))}
"""The published layers of twelve by number of levels: two for the first level, one for each other."""


class CascadeNetwork(HeadedEncoder):
    """Parts: ``encoder``, ``head``."""

    head: CascadeHead

    def __init__(self, encoder: Encoder, head: CascadeHead, taps: Sequence[int]) -> None:
        """``taps``: two layers for the first level, then one for each of the others."""
        super().__init__(encoder, head)
        self.taps = list(taps)

    def seen(self, batch: Batch) -> list[Tensor]:
        first, second, *others = self.encoder.after_layers(batch, self.taps)
        return [torch.cat([first, second], 1), *others]

    def label_vectors(self, seen: list[Tensor]) -> Tensor:
        return seen[-1]


def usual_taps(levels: int, depth: int) -> list[int]:
    """The published layers, scaled to ``depth`` layers; evenly spaced for other numbers of levels.

    The last level always sees the last layer.
    """
    if levels in USUAL:
        pair, others = USUAL[levels]
        scaled = [max(round(layer * depth / 12), 1) for layer in (pair[1], *others)]
    else:
        scaled = [max(round(level * depth / levels), 1) for level in range(1, levels + 1)]
    for at in range(len(scaled) - 2, -1, -1):  # with few layers, levels still have different ones
        scaled[at] = max(min(scaled[at], scaled[at + 1] - 1), 1)
    return [max(scaled[0] - 1, 1), *scaled]
