"""A mean of the weights that training passes through; it often generalises better than the last ones.

swa   mean over the ends of epochs, or over every n-th step:  a ← a + (w - a) / count
ema   mean that follows every step:                           a ← d·a + (1 - d)·w,  d from 0 to ``ema_decay``

Means are kept in 32 bits, also those of narrower weights, where a small part of a difference would be lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .config import TrainingConfig


class Average:
    """Of the parameters of a module. Inside `used` the module has the mean instead of its own."""

    def __init__(self, module: nn.Module, config: TrainingConfig, epochs: int, steps: int) -> None:
        """``steps``: of the whole training."""
        self.config = config
        self.every = config.average_every
        # What comes before swa begins; the mean has at least the end of the training in it.
        self.epochs_before = min(int(config.average_from * epochs), epochs - 1)
        self.steps_before = min(round(config.average_from * steps), max(steps - self.every, 0))
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.count = 0
        self.mean: list[Tensor] = []

    @torch.no_grad()
    def after_step(self, step: int) -> None:
        """``step``: how many are done."""
        if self.config.average == "ema":
            self.count += 1
            self._move(1 - min(self.config.ema_decay, (1 + self.count) / (10 + self.count)))
        since = step - self.steps_before
        if self.config.average == "swa" and self.every and since > 0 and since % self.every == 0:
            self._take_in()

    @torch.no_grad()
    def after_epoch(self, epoch: int) -> None:
        """``epoch``: counted from 0."""
        if self.config.average == "swa" and not self.every and epoch >= self.epochs_before:
            self._take_in()

    def _take_in(self) -> None:
        self.count += 1
        self._move(1 / self.count)

    def _move(self, share: float) -> None:
        if not self.mean:
            self.mean = [parameter.to(torch.float32, copy=True) for parameter in self.parameters]
        else:
            torch._foreach_lerp_(self.mean, [parameter.float() for parameter in self.parameters], share)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """The mean, if there is one yet, instead of the weights."""
        own = [parameter.detach().clone() for parameter in self.parameters] if self.mean else []
        self.keep()
        try:
            yield
        finally:
            self._set(own)

    def keep(self) -> None:
        """The module has the mean from now on, if there is one."""
        self._set(self.mean)

    @torch.no_grad()
    def _set(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=False):
            parameter.copy_(value)

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
