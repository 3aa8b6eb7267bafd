"""A mean of the weights that training passes through; it often generalises better than the last ones.

swa   mean over the ends of epochs:  a ← a + (w - a) / n
ema   mean that follows every step:  a ← d·a + (1 - d)·w,  d growing from 0 to ``ema_decay``
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .config import TrainingConfig


class Average:
    """Of the parameters of a module. Inside `used` the module has the mean instead of its own."""

    def __init__(self, module: nn.Module, config: TrainingConfig, epochs: int) -> None:
        self.config = config
        self.first = min(int(config.average_from * epochs), epochs - 1)  # the epoch swa begins with
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.count = 0
        self.mean: list[Tensor] = []

    @torch.no_grad()
    def after_step(self) -> None:
        if self.config.average == "ema":
            self.count += 1
            self._move(1 - min(self.config.ema_decay, (1 + self.count) / (10 + self.count)))

    @torch.no_grad()
    def after_epoch(self, epoch: int) -> None:
        """``epoch``: counted from 0."""
        if self.config.average == "swa" and epoch >= self.first:
            self.count += 1
            self._move(1 / self.count)

    def _move(self, share: float) -> None:
        if not self.mean:
            self.mean = [parameter.detach().clone() for parameter in self.parameters]
        else:
            torch._foreach_lerp_(self.mean, [parameter.detach() for parameter in self.parameters], share)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """The mean, if there is one yet, instead of the weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def keep(self) -> None:
        """The module has the mean from now on."""
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for mean, parameter in zip(self.mean, self.parameters, strict=False):
            mine = parameter.detach().clone()
            parameter.copy_(mean)
            mean.copy_(mine)

    def state(self) -> dict[str, Tensor]:
        return {"count": torch.tensor(self.count)} | {
            f"mean{number}": mean for number, mean in enumerate(self.mean)
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        self.count = int(state["count"])
        if "mean0" in state:
            self.mean = [
                state[f"mean{number}"].to(parameter.device)
                for number, parameter in enumerate(self.parameters)
            ]
