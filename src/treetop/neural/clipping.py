"""Gradient clipping: gradients whose norm is too large are all scaled by the same factor.

    g ← g · min(1, limit / |g|),   limit = ``clip``, or 5m with ``adaptive_clip``, or the lower of both

m is the largest of the last five norms, infinite at first. A norm counts there as at most 2m and at most 1,
so that a single outlier hardly raises the limit (released code of AttentionXML). The norms stay on the
device: no step waits for them, and steps can be recorded. Gradients of sparse tables count too.

If nearly all steps are clipped, the limit works as a learning rate: the log has the share of clipped steps.
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
    """Clips the gradients of one training."""

    def __init__(self, config: TrainingConfig, device: torch.device) -> None:
        self.limit = config.clip or math.inf
        self.adaptive = config.adaptive_clip
        self.norms = torch.full((REMEMBERED,), math.inf, device=device)
        """The last norms, oldest first."""
        self.clipped = torch.zeros((), dtype=torch.int64, device=device)
        """Number of steps whose gradients were clipped."""

    @property
    def is_on(self) -> bool:
        return self.adaptive or self.limit < math.inf

    @torch.no_grad()
    def clip(self, parameters: Iterable[nn.Parameter]) -> None:
        """Clips the gradients of the parameters in place."""
        kinds: dict[torch.dtype, list[Tensor]] = {}  # one kernel handles all tensors of a kind
        for gradient in map(_gradient_values, parameters):
            if gradient.numel():
                kinds.setdefault(gradient.dtype, []).append(gradient)
        if not kinds:
            return
        norms = [norm.float() for gradients in kinds.values() for norm in torch._foreach_norm(gradients)]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        factor = (self._limit_for(norm) / (norm + 1e-6)).clamp(max=1.0)
        self.clipped += factor < 1
        for gradients in kinds.values():
            torch._foreach_mul_(gradients, factor)

    def _limit_for(self, norm: Tensor) -> Tensor | float:
        """The limit of this step, whose norm joins the last ones."""
        if not self.adaptive:
            return self.limit
        largest = self.norms.amax()
        remembered = torch.fmin(norm, (2 * largest).clamp(max=1.0))  # also where the norm is NaN
        self.norms.copy_(torch.cat([self.norms[1:], remembered[None]]))
        return (TIMES_THE_LARGEST * largest).clamp(max=self.limit)

    def state(self) -> dict[str, Tensor]:
        return {"norms": self.norms, "clipped": self.clipped}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.norms.copy_(state["norms"])
        self.clipped.copy_(state["clipped"])


def _gradient_values(parameter: nn.Parameter) -> Tensor:
    """The values of its gradient; changing them changes the gradient."""
    if parameter.grad is None:
        return torch.empty(0)
    if parameter.grad.is_sparse:
        parameter.grad = parameter.grad.coalesce()  # sums rows that occur twice
        return parameter.grad._values()
    return parameter.grad
