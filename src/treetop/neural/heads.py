"""Heads: scores of labels from the vector of a text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .batches import Positives
from .losses import BLOCK, Shortlist, all_label_loss

Counts = npt.NDArray[np.int64]
REDUCTIONS = ("sum", "mean")
"""How the losses of a text's candidates become one."""
FEW = 4
"""Labels of the beam are scored alone where they are at most 1 / FEW of all: their weights are copied."""


class Head(nn.Module, ABC):
    """Scores labels from an encoder's output for a batch: one vector per text, or several."""

    @property
    @abstractmethod
    def of_labels(self) -> LabelHead:
        """The part that scores the labels."""

    @abstractmethod
    def start(self, counts: Sequence[Counts], texts: int, /) -> None:
        """Initialises the biases with the log-odds of the frequencies.

        ``counts``: number of ``texts`` with each node, level by level; labels come last.
        """

    @abstractmethod
    def loss(self, seen: Any, positives: Positives, /) -> Tensor:
        """Mean over the texts."""

    @abstractmethod
    def top(self, seen: Any, k: int, /) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the ``k`` best labels."""


class LabelHead(Head):
    """A linear score for every label, s = W h + b, computed in blocks of labels."""

    def __init__(
        self,
        width: int,
        labels: int,
        loss: str,
        *,
        reduction: str = "sum",
        bits: int = 32,
        sparse: bool = False,
        block: int = BLOCK,
    ) -> None:
        """``reduction`` of a text's losses over all labels, or over those on its shortlist: sum or mean.

        ``bits`` per weight; 16 (bf16, updated by `RoundedAdam`) halves the memory. ``sparse``: the gradient
        of the weights has only the rows of labels on a shortlist.
        """
        super().__init__()
        self.weight = nn.Parameter(
            torch.empty(labels, width, dtype=torch.float32 if bits == 32 else torch.bfloat16)
        )
        self.bias = nn.Parameter(torch.zeros(labels))
        self.loss_name = loss
        self.reduction = reduction
        self.sparse = sparse
        self.block = block
        self.label_weights: Tensor | None
        self.register_buffer("label_weights", None, persistent=False)

    @property
    def of_labels(self) -> LabelHead:
        return self

    def start(self, counts: Sequence[Counts], texts: int) -> None:
        self.bias.data = log_odds(counts[-1], texts)

    def loss(self, hidden: Tensor, positives: Positives, shortlist: Shortlist | None = None) -> Tensor:
        """Mean over the texts."""
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        label_weights = self.label_weights
        if self.reduction == "mean" and shortlist is not None:
            shares, given = 1 / shortlist.counts().clamp(min=1), positives.text_weights
            positives = replace(positives, text_weights=shares if given is None else given * shares)
        if self.sparse and shortlist is not None:
            rows = shortlist.labels()
            weight = nn.functional.embedding(rows, weight, sparse=True)
            bias = bias[rows]
            label_weights = None if label_weights is None else label_weights[rows]
            places = torch.searchsorted(rows, positives.labels).clamp(max=len(rows) - 1)
            positives = replace(positives, labels=places)
            shortlist = Shortlist(shortlist.chosen, shortlist.parents[rows])
        loss = all_label_loss(
            self.loss_name,
            hidden,
            weight,
            bias,
            positives,
            label_weights=label_weights,
            shortlist=shortlist,
            block=self.block,
        )
        return loss / len(self.weight) if self.reduction == "mean" and shortlist is None else loss

    def top(
        self, hidden: Tensor, k: int, within: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the best; scores are σ(s): probabilities for bce.

        ``within``: texts × clusters, the factor of the scores in each, below 0 for clusters left out, and the
        cluster of every label. Labels of clusters left out have the score -1.
        """
        if within is None:
            values, ids = self._best(hidden, k, self.weight, self.bias, None)
            return torch.sigmoid(values), ids
        factors, cluster_of = within
        rows = (factors >= 0).any(0)[cluster_of].nonzero().squeeze(1)
        if not k <= len(rows) <= len(self.weight) // FEW:
            return self._best(hidden, k, self.weight, self.bias, within)
        few = self._best(hidden, k, self.weight[rows], self.bias[rows], (factors, cluster_of[rows]))
        return few[0], rows[few[1]]

    def _best(
        self, hidden: Tensor, k: int, weight: Tensor, bias: Tensor, within: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor]:
        """The best rows of ``weight``, by probability times factor, or by raw score without factors."""
        step = max(self.block // max(len(hidden), 1), k)
        best: tuple[Tensor, Tensor] | None = None
        for first in range(0, len(weight), step):
            last = min(first + step, len(weight))
            part = weight[first:last].to(hidden.dtype)
            scores = nn.functional.linear(hidden, part).float() + bias[first:last]
            if within is not None:
                factors, cluster_of = within
                own = factors[:, cluster_of[first:last]]
                scores = torch.where(own < 0, -1.0, torch.sigmoid(scores) * own)
            values, ids = scores.topk(min(k, last - first), dim=1)
            ids = ids + first
            if best is not None:
                values, ids = torch.cat([best[0], values], 1), torch.cat([best[1], ids], 1)
                values, order = values.topk(min(k, values.shape[1]), dim=1)
                ids = ids.gather(1, order)
            best = values, ids
        assert best is not None
        return best


def log_odds(counts: Counts, trials: int | npt.NDArray) -> Tensor:
    """log(p / (1 - p)), where p is the share of the trials in which a label is right."""
    return torch.from_numpy(np.log(counts / np.maximum(trials - counts, 0.5)).astype(np.float32))


def candidate_counts(counts: Counts, beam: int, texts: int) -> npt.NDArray:
    """About how often the children of each node are candidates: when it is true, or in the beam."""
    return np.maximum(counts, texts * beam / len(counts))


class Bottleneck(nn.Module):
    """A narrow hidden layer before the labels: t·h + h·L weights instead of t·L."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layer = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(torch.relu(self.layer(features)))
        return dropped
