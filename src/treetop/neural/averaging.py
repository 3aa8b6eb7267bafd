"""Weight averaging: a mean over the training often generalises better than the last weights.

swa   mean over the ends of epochs, or over every n-th step:  a ← a + (w - a) / count
ema   exponential moving average over all steps:              a ← d·a + (1 - d)·w,  d from 0 to ``ema_decay``

Averages are kept in 32 bits, also of narrower weights, which would lose small differences.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .config import TrainingConfig


class Average:
    """The average of a module's parameters. Inside `used`, it replaces them."""

    def __init__(self, module: nn.Module, config: TrainingConfig, epochs: int, steps: int) -> None:
        """``epochs`` and ``steps`` of the whole training."""
        self.config = config
        self.every = config.average_every
        # Before swa starts; the average includes at least the end of the training.
        self.epochs_before = min(int(config.average_from * epochs), epochs - 1)
        self.steps_before = min(round(config.average_from * steps), max(steps - self.every, 0))
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.count = 0
        self.mean: list[Tensor] = []

    @torch.no_grad()
    def after_step(self, step: int) -> None:
        """``step``: number of finished steps."""
        if self.config.average == "ema":
            self.count += 1
            self._move_towards_weights(1 - min(self.config.ema_decay, (1 + self.count) / (10 + self.count)))
        since = step - self.steps_before
        if self.config.average == "swa" and self.every and since > 0 and since % self.every == 0:
            self._add_snapshot()

    @torch.no_grad()
    def after_epoch(self, epoch: int) -> None:
        """``epoch``: counted from 0."""
        if self.config.average == "swa" and not self.every and epoch >= self.epochs_before:
            self._add_snapshot()

    def _add_snapshot(self) -> None:
        self.count += 1
        self._move_towards_weights(1 / self.count)

    def _move_towards_weights(self, share: float) -> None:
        if not self.mean:
            self.mean = [parameter.to(torch.float32, copy=True) for parameter in self.parameters]
        else:
            torch._foreach_lerp_(self.mean, [parameter.float() for parameter in self.parameters], share)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Replaces the weights by their average, if there is one yet, and restores them afterwards."""
        own = [parameter.detach().clone() for parameter in self.parameters] if self.mean else []
        self.keep()
        try:
            yield
        finally:
            self._set(own)

    def keep(self) -> None:
        """Replaces the weights by their average for good, if there is one."""
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
