"""From the vector of a text to scores of labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .batches import Positives
from .losses import BLOCK, Shortlist, all_label_loss, shortlist_loss

Counts = npt.NDArray[np.int64]


class Head(nn.Module, ABC):
    """On what an encoder gives of a batch of texts: one vector of each, or several."""

    @abstractmethod
    def start(self, counts: Sequence[Counts], texts: int, /) -> None:
        """Scores before training are those of frequencies.

        ``counts``: how many of the ``texts`` have each node, level by level; labels come last.
        """

    @abstractmethod
    def loss(self, seen: Any, positives: Positives, /) -> Tensor:
        """Mean over the texts."""

    @abstractmethod
    def top(self, seen: Any, k: int, /) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the best."""


class LabelHead(Head):
    """A linear score of every label: s = W h + b. Blocks of labels are scored one after another."""

    def __init__(self, width: int, labels: int, loss: str, *, bits: int = 32, block: int = BLOCK) -> None:
        """``bits`` of a weight: one of 16 (bf16) is moved by `RoundedAdam`, for half the memory."""
        super().__init__()
        self.weight = nn.Parameter(
            torch.empty(labels, width, dtype=torch.float32 if bits == 32 else torch.bfloat16)
        )
        self.bias = nn.Parameter(torch.zeros(labels))
        self.loss_name = loss
        self.block = block
        self.label_weights: Tensor | None
        self.register_buffer("label_weights", None, persistent=False)

    def start(self, counts: Sequence[Counts], texts: int) -> None:
        self.bias.data = log_odds(counts[-1], texts)

    def loss(self, hidden: Tensor, positives: Positives, shortlist: Shortlist | None = None) -> Tensor:
        """Mean over the texts."""
        return all_label_loss(
            self.loss_name,
            hidden,
            self.weight,
            self.bias,
            positives,
            label_weights=self.label_weights,
            shortlist=shortlist,
            block=self.block,
        )

    def top(
        self, hidden: Tensor, k: int, within: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the best; probabilities for bce, else the plain scores through a sigmoid.

        ``within``: texts × clusters, the factor of the scores in each, and the cluster of every label.
        """
        step = max(self.block // max(len(hidden), 1), k)
        best: tuple[Tensor, Tensor] | None = None
        for first in range(0, len(self.weight), step):
            last = min(first + step, len(self.weight))
            weight = self.weight[first:last].to(hidden.dtype)
            scores = nn.functional.linear(hidden, weight).float() + self.bias[first:last]
            if within is not None:
                factors, cluster_of = within
                scores = torch.sigmoid(scores) * factors[:, cluster_of[first:last]]
            values, ids = scores.topk(min(k, last - first), dim=1)
            ids = ids + first
            if best is not None:
                values, ids = torch.cat([best[0], values], 1), torch.cat([best[1], ids], 1)
                values, order = values.topk(min(k, values.shape[1]), dim=1)
                ids = ids.gather(1, order)
            best = values, ids
        assert best is not None
        return best[0] if within is not None else torch.sigmoid(best[0]), best[1]


def log_odds(counts: Counts, trials: int | npt.NDArray) -> Tensor:
    """log(p / (1 - p)), where p is the share of the trials that a label is right in."""
    return torch.from_numpy(np.log(counts / np.maximum(trials - counts, 0.5)).astype(np.float32))


def times_listed(counts: Counts, chosen: int, texts: int) -> npt.NDArray:
    """About how often the children of each node are candidates: when it is true, and when it is chosen."""
    return np.maximum(counts, texts * chosen / len(counts))


class Bottleneck(nn.Module):
    """A narrow hidden layer before the labels: t·h + h·L weights instead of t·L."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layer = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(torch.relu(self.layer(features)))
        return dropped


class LabelTable(nn.Module):
    """A vector and a bias for every label, scored on a shortlist; gradients touch only its rows."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(labels, width, sparse=True)
        self.biases = nn.Embedding(labels, 1, sparse=True)
        nn.init.zeros_(self.biases.weight)

    def forward(self, hidden: Tensor, candidates: Tensor) -> Tensor:
        """Texts × candidates; ``candidates`` below 0 are places left over, and score 0."""
        real = candidates >= 0
        ids = candidates.clamp(min=0)
        scores = torch.einsum("bcw,bw->bc", self.vectors(ids), hidden) + self.biases(ids).squeeze(-1)
        return torch.where(real, scores, 0)

    def loss(self, name: str, hidden: Tensor, candidates: Tensor, targets: Tensor) -> Tensor:
        """Of the candidates, mean over the texts; ``targets`` as for `shortlist_loss`."""
        return shortlist_loss(name, self(hidden, candidates).float(), targets, candidates >= 0)
