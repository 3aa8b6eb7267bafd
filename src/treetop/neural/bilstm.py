"""A two-way LSTM over texts of different lengths in one padded array.

The way back begins at a text's own last word: it reads the words in turned order, and what it finds is turned
back. No text sees padding, and nothing asks the host for lengths.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BiLSTM(nn.Module):
    """Texts × words × numbers → texts × words × 2 · hidden. First states are learned."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.forth = nn.LSTM(width, hidden, batch_first=True)
        self.back = nn.LSTM(width, hidden, batch_first=True)
        self.first = nn.Parameter(torch.zeros(2, 2, hidden))
        """Hidden and cell state of each way."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        turn = _turned(words.shape[1], lengths)
        ways = []
        for number, (way, inputs) in enumerate(((self.forth, words), (self.back, _taken(words, turn)))):
            start = self.first[number][:, None, None].expand(-1, 1, len(words), -1).contiguous()
            ways.append(way(inputs, (start[0].to(inputs.dtype), start[1].to(inputs.dtype)))[0])
        return torch.cat([ways[0], _taken(ways[1], turn)], 2)


def _turned(width: int, lengths: Tensor) -> Tensor:
    """Places of each text's words in turned order; those of padding stay."""
    places = torch.arange(width, device=lengths.device)
    turned = lengths[:, None] - 1 - places
    return torch.where(turned >= 0, turned, places)


def _taken(values: Tensor, places: Tensor) -> Tensor:
    return values.gather(1, places[..., None].expand(-1, -1, values.shape[2]))
