"""Gradients that are too long together are shortened, all by the same factor.

    g ← g · min(1, limit / |g|),   limit = ``clip``, or 5m with ``adaptive_clip``, or the lower of both

m is the largest of the last five norms, infinite at first. A norm is remembered as at most 2m and at most 1,
so that a single wild step hardly lifts the limit (released code of AttentionXML). The norms stay on the
device: no step waits for them, and steps can be recorded. Gradients of sparse tables count too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .config import TrainingConfig

REMEMBERED = 5
TIMES_THE_LARGEST = 5.0


class Clipping:
    """Of the gradients of one training."""

    def __init__(self, config: TrainingConfig, device: torch.device) -> None:
        self.limit = config.clip or math.inf
        self.adaptive = config.adaptive_clip
        self.norms = torch.full((REMEMBERED,), math.inf, device=device)
        """The last ones, oldest first."""

    @property
    def is_on(self) -> bool:
        return self.adaptive or self.limit < math.inf

    @torch.no_grad()
    def shorten(self, parameters: Iterable[nn.Parameter]) -> None:
        """Their gradients, in place."""
        kinds: dict[torch.dtype, list[Tensor]] = {}  # many tensors of one kind are a single kernel's work
        for gradient in map(_numbers, parameters):
            if gradient.numel():
                kinds.setdefault(gradient.dtype, []).append(gradient)
        if not kinds:
            return
        norms = [norm.float() for gradients in kinds.values() for norm in torch._foreach_norm(gradients)]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        factor = (self._limit_for(norm) / (norm + 1e-6)).clamp(max=1.0)
        for gradients in kinds.values():
            torch._foreach_mul_(gradients, factor)

    def _limit_for(self, norm: Tensor) -> Tensor | float:
        """The limit of this step; its norm is remembered."""
        if not self.adaptive:
            return self.limit
        largest = self.norms.amax()
        remembered = torch.fmin(norm, (2 * largest).clamp(max=1.0))  # also of a norm that is not a number
        self.norms.copy_(torch.cat([self.norms[1:], remembered[None]]))
        return (TIMES_THE_LARGEST * largest).clamp(max=self.limit)

    def state(self) -> dict[str, Tensor]:
        return {"norms": self.norms}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.norms.copy_(state["norms"])


def _numbers(parameter: nn.Parameter) -> Tensor:
    """Of its gradient: what is changed in them is changed in it."""
    if parameter.grad is None:
        return torch.empty(0)
    if parameter.grad.is_sparse:
        parameter.grad = parameter.grad.coalesce()  # a row that occurs twice counts as the sum
        return parameter.grad._values()
    return parameter.grad
