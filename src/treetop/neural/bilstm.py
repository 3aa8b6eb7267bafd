"""A bidirectional LSTM over texts of different lengths in one padded array.

The backward LSTM starts at each text's own last word: it reads the words in reverse order, and its states are
reversed again. No text sees padding, and no lengths are copied to the CPU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BiLSTM(nn.Module):
    """Texts × words × width → texts × words × 2 · hidden. Initial states are learned."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.forth = nn.LSTM(width, hidden, batch_first=True)
        self.back = nn.LSTM(width, hidden, batch_first=True)
        self.first = nn.Parameter(torch.zeros(2, 2, hidden))
        """Initial hidden and cell state of each direction."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        reverse = _reversed_places(words.shape[1], lengths)
        states = []
        for number, (lstm, inputs) in enumerate(
            ((self.forth, words), (self.back, _gathered(words, reverse)))
        ):
            start = self.first[number][:, None, None].expand(-1, 1, len(words), -1).contiguous()
            states.append(lstm(inputs, (start[0].to(inputs.dtype), start[1].to(inputs.dtype)))[0])
        return torch.cat([states[0], _gathered(states[1], reverse)], 2)


def _reversed_places(width: int, lengths: Tensor) -> Tensor:
    """Places of each text's words in reverse order; padding stays where it is."""
    places = torch.arange(width, device=lengths.device)
    reverse = lengths[:, None] - 1 - places
    return torch.where(reverse >= 0, reverse, places)


def _gathered(values: Tensor, places: Tensor) -> Tensor:
    return values.gather(1, places[..., None].expand(-1, -1, values.shape[2]))
