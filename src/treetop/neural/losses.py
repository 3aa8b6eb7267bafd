"""Losses over all labels, summed over the labels and averaged over the texts.

    bce             Σ_l  y_l·softplus(-s_l) + (1 - y_l)·softplus(s_l)         Eq. 4 of the study of XML-CNN
    softmax         Σ_l  y_l·(log Σ_j exp(s_j) - s_l)                         Eq. 3, no division by |y|
    squared-hinge   Σ_l  max(0, 1 - s_l)² if y_l else max(0, 1 + s_l)²

Only a block of the scores s = W h + b exists at a time. Gradients are computed with the loss, from the same
scores, so that no array of texts × labels is kept: 670,000 labels need the memory of one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .batches import Positives

LOSSES = ("bce", "softmax", "squared-hinge")
BLOCK = 1 << 26
"""Scores computed at a time."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The labels in the loss of each text: the children of some parents."""

    chosen: Tensor
    """Texts × parents: whether a parent's children are in the loss."""
    parents: Tensor
    """The parent of every label."""

    @classmethod
    def of(cls, shortlist: Tensor, parents: Tensor, count: int) -> Shortlist:
        """``shortlist`` as in `Batch.parents`; ``count``: number of all parents."""
        chosen = torch.zeros((len(shortlist), count + 1), dtype=torch.bool, device=shortlist.device)
        return cls(chosen.scatter_(1, shortlist.long(), True)[:, 1:], parents)

    def labels(self) -> Tensor:
        """The labels in the loss of any text, in order."""
        return self.chosen.any(0)[self.parents].nonzero().squeeze(1)

    def counts(self) -> Tensor:
        """The number of labels in the loss of each text."""
        ones = torch.ones(len(self.parents), device=self.parents.device)
        children = torch.zeros(self.chosen.shape[1], device=ones.device).index_add_(0, self.parents, ones)
        return (self.chosen * children).sum(1)


def all_label_loss(
    loss: str,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    positives: Positives,
    *,
    label_weights: Tensor | None = None,
    shortlist: Shortlist | None = None,
    block: int = BLOCK,
) -> Tensor:
    """The mean loss of the texts, for scores s = ``weight`` · h + ``bias`` of each row h of ``hidden``.

    ``positives.weights`` multiply the loss of positives, ``positives.text_weights`` the loss of a text,
    ``label_weights`` the loss of a label in all texts. With a ``shortlist``, which holds all positives, other
    labels of a text are left out (not for softmax).
    """
    assert shortlist is None or loss != "softmax"
    if torch.is_autocast_enabled(hidden.device.type):
        hidden = hidden.to(torch.get_autocast_dtype(hidden.device.type))
    with torch.autocast(hidden.device.type, enabled=False):
        total: Tensor = _AllLabels.apply(  # type: ignore[no-untyped-call]
            hidden,
            weight,
            bias,
            positives.texts,
            positives.labels,
            positives.weights,
            label_weights,
            positives.text_weights,
            shortlist,
            loss,
            max(block // max(len(hidden), 1), 1),
        )
    return total / len(hidden)


class _AllLabels(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        texts: Tensor,
        labels: Tensor,
        weights: Tensor,
        label_weights: Tensor | None,
        text_weights: Tensor | None,
        shortlist: Shortlist | None,
        loss: str,
        block: int,
    ) -> Tensor:
        problem = _Problem(
            hidden, weight, bias, texts, labels, weights, label_weights, text_weights, shortlist
        )
        needed = ctx.needs_input_grad[:3]
        total, *gradients = problem.solve(loss, block, with_gradients=any(needed))
        ctx.save_for_backward(*(g if need else None for g, need in zip(gradients, needed, strict=True)))
        return total

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [None if g is None else g * scale.to(g.dtype) for g in ctx.saved_tensors]
        return (*gradients, *[None] * 8)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The loss of one batch, block by block of labels."""

    hidden: Tensor
    weight: Tensor
    bias: Tensor
    texts: Tensor
    labels: Tensor
    weights: Tensor
    label_weights: Tensor | None
    text_weights: Tensor | None
    shortlist: Shortlist | None

    def solve(
        self, loss: str, block: int, *, with_gradients: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """The summed loss, and its gradients by hidden, weight and bias."""
        count = len(self.weight)
        borders = [(at, min(at + block, count)) for at in range(0, count, block)]
        normaliser = self._log_sums(borders) if loss == "softmax" else None
        by_hidden = by_weight = by_bias = None
        if with_gradients:
            # Sums over blocks have the precision of the biases: weights may be narrower.
            by_hidden = torch.zeros_like(self.hidden, dtype=self.bias.dtype)
            by_weight = torch.empty_like(self.weight)
            by_bias = torch.empty_like(self.bias)
        total = torch.zeros((), dtype=self.bias.dtype, device=self.bias.device)
        for first, last in borders:
            block_loss, slopes = self._block(loss, first, last, normaliser)
            total += block_loss
            if by_hidden is None or by_weight is None or by_bias is None:
                continue
            narrow = slopes.to(self.hidden.dtype)
            by_bias[first:last] = slopes.sum(0)
            by_weight[first:last] = _wide_product(narrow.T, self.hidden, by_weight.dtype)
            by_hidden += _wide_product(narrow, self.weight[first:last].to(self.hidden.dtype), by_hidden.dtype)
        if by_hidden is not None:
            by_hidden = by_hidden.to(self.hidden.dtype)
        return total, by_hidden, by_weight, by_bias

    def _scores(self, first: int, last: int) -> Tensor:
        part = self.weight[first:last].to(self.hidden.dtype)
        return _wide_product(self.hidden, part.T, self.bias.dtype) + self.bias[first:last]

    def _log_sums(self, borders: list[tuple[int, int]]) -> Tensor:
        """log Σ_j exp(s_j) of every text."""
        sums = [torch.logsumexp(self._scores(first, last), 1) for first, last in borders]
        return torch.logsumexp(torch.stack(sums), 0)

    def _block(self, loss: str, first: int, last: int, normaliser: Tensor | None) -> tuple[Tensor, Tensor]:
        """The loss of a block of labels and its slope at every score.

        Every pair counts as negative first; then the few positive ones are corrected.
        """
        scores = self._scores(first, last)
        here = (self.labels >= first) & (self.labels < last)
        place = (self.texts, torch.where(here, self.labels - first, 0))
        mass = torch.where(here, self.weights, 0).to(scores.dtype)
        positive = scores[place]
        if normaliser is not None:
            weights = self.weights.to(scores.dtype)
            if self.label_weights is not None:
                weights = weights * self.label_weights[self.labels].to(scores.dtype)
            if self.text_weights is not None:
                weights = weights * self.text_weights[self.texts].to(scores.dtype)
            mass = torch.where(here, weights, 0)
            of_text = torch.zeros_like(normaliser).index_add(0, self.texts, weights)
            slopes = torch.exp(scores - normaliser[:, None]) * of_text[:, None]
            slopes.index_put_(place, -mass, accumulate=True)
            return (mass * (normaliser[self.texts] - positive)).sum(), slopes
        real = (mass > 0).to(scores.dtype)
        if loss == "bce":
            losses = functional.softplus(scores)
            slopes = torch.sigmoid(scores)
            loss_changes = mass * functional.softplus(-positive) - real * functional.softplus(positive)
            slope_changes = -mass * torch.sigmoid(-positive) - real * torch.sigmoid(positive)
        else:
            margins, positive_margins = functional.relu(1 + scores), functional.relu(1 - positive)
            losses = margins**2
            slopes = 2 * margins
            loss_changes = mass * positive_margins**2 - real * functional.relu(1 + positive) ** 2
            slope_changes = -2 * mass * positive_margins - 2 * real * functional.relu(1 + positive)
        if self.label_weights is not None:
            columns = self.label_weights[first:last].to(scores.dtype)
            losses, slopes = losses * columns, slopes * columns
            loss_changes, slope_changes = loss_changes * columns[place[1]], slope_changes * columns[place[1]]
        if self.text_weights is not None:
            rows = self.text_weights.to(scores.dtype)
            losses, slopes = losses * rows[:, None], slopes * rows[:, None]
            loss_changes, slope_changes = loss_changes * rows[self.texts], slope_changes * rows[self.texts]
        if self.shortlist is not None:
            inside = self.shortlist.chosen[:, self.shortlist.parents[first:last]]
            losses, slopes = losses * inside, slopes * inside
        slopes.index_put_(place, slope_changes, accumulate=True)
        return losses.sum() + loss_changes.sum(), slopes


def _wide_product(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """a · b as ``dtype``; sums of narrow numbers are not rounded to them, where torch supports it."""
    if a.dtype == dtype:
        return a @ b
    if a.is_cuda and _WIDE_SUMS:
        return torch.mm(a, b, out_dtype=dtype)
    return (a @ b).to(dtype)


_WIDE_SUMS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)
