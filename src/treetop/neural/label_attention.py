"""Label-wise attention: every label has its own attention over the words of a text.

    α_lt = softmax_t(H_t · a_l),    m_l = Σ_t α_lt H_t,    s_l = MLP(m_l)

H are the states of the words. All labels share the MLP.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LabelAttention(nn.Module):
    """Scores of all labels, or of a text's candidates."""

    def __init__(self, width: int, labels: int, layers: Sequence[int], *, sparse: bool = False) -> None:
        """``layers``: hidden widths of the MLP; ``sparse``: gradients have only the rows of candidates."""
        super().__init__()
        self.looks = nn.Embedding(labels, width, sparse=sparse)
        nn.init.xavier_uniform_(self.looks.weight)
        self.scorer = Scorer(width, layers)

    def forward(self, states: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Scores, texts × labels, or texts × ``candidates`` (label numbers)."""
        looks = self.looks.weight if candidates is None else self.looks(candidates)
        return self._scores(states, lengths, looks)

    def of_all_texts(self, states: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """Scores, texts × some labels, the same for all texts."""
        return self._scores(states, lengths, self.looks(labels))

    def _scores(self, states: Tensor, lengths: Tensor, looks: Tensor) -> Tensor:
        outside = torch.arange(states.shape[1], device=states.device) >= lengths[:, None].clamp(min=1)
        logits = states @ looks.to(states.dtype).transpose(-1, -2)  # texts × words × labels
        weights = logits.float().masked_fill(outside[..., None], -torch.inf).softmax(1).to(states.dtype)
        scores: Tensor = self.scorer(weights.transpose(1, 2) @ states)
        return scores


class Scorer(nn.Module):
    """An MLP with one output, and ReLU between its layers."""

    def __init__(self, width: int, layers: Sequence[int]) -> None:
        super().__init__()
        widths = [width, *layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.last = nn.Linear(widths[-1], 1)
        for layer in (*self.layers, self.last):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, values: Tensor) -> Tensor:
        for layer in self.layers:
            values = torch.relu(layer(values))
        score: Tensor = self.last(values).squeeze(-1).float()
        return score
