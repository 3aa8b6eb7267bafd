"""The training loop of every network.

    for each epoch: for each batch: loss → gradients → step; then a look at the examples held out

A batch is one step of the optimiser, whatever the memory: it goes through the network in micro-batches whose
gradients are added up. The order of the batches follows from the seed and the epoch alone, so a run that was
killed goes on from its last state to the same end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import progress
from ..errors import TreetopError
from . import distributed
from .averaging import Average
from .batches import Batch, Examples, mixed_plan
from .clipping import Clipping
from .config import TrainingConfig
from .device import chosen_precision, deterministic
from .log import Log
from .network import Network
from .optimizers import make_optimizers, schedule, set_rates
from .resuming import TrainingStates
from .step_graphs import StepGraphs, can_record

Ints = npt.NDArray[np.int64]
SECONDS_BETWEEN_REPORTS = 0.5
Validator = Callable[[], Mapping[str, float]]
"""Figures of the network, as it is now, on examples held out."""
OnEpoch = Callable[[Mapping[str, Any]], None]
"""Told what the log says of an epoch."""


@dataclass
class TrainingProgress:
    """How far a training is."""

    epoch: int = 0
    batch: int = 0
    """Batches of this epoch that are done."""
    step: int = 0
    lost: float = 0.0
    """Sum of the losses of this epoch's batches."""
    best: float = -math.inf
    best_epoch: int = 0
    """Counted from 1; 0: none yet."""
    seconds: float = 0.0
    entries: list[dict[str, Any]] = field(default_factory=list)
    """One for every epoch."""

    def then(self, later: TrainingProgress) -> TrainingProgress:
        """This training and a later one as one, whose best epoch is the later one's."""
        before = len(self.entries)
        return replace(
            later,
            epoch=before + later.epoch,
            step=self.step + later.step,
            best_epoch=before + later.best_epoch if later.best_epoch else 0,
            seconds=self.seconds + later.seconds,
            entries=self.entries + later.entries,
        )


class Training:
    """Of one network, on one data set."""

    def __init__(
        self,
        network: Network,
        examples: Examples,
        config: TrainingConfig,
        *,
        epochs: int,
        batch_size: int,
        seed: int,
        device: torch.device,
        steps: int | None = None,
        validator: Validator | None = None,
        states: TrainingStates | None = None,
        on_epoch: OnEpoch | None = None,
        which: Mapping[str, int] | None = None,
    ) -> None:
        """``steps``: end after so many, in place of ``epochs``. ``which``: level or stage, for the log."""
        self.network = network.to(device)
        self.examples = examples
        self.config = config
        per_epoch = -(-len(examples) // batch_size)
        self.steps = steps or epochs * per_epoch
        self.epochs = -(-self.steps // per_epoch)
        self.batch_size = batch_size
        self.seed = seed
        self.device = device
        self.validator = validator
        self.states = states or TrainingStates(None)
        self.on_epoch = on_epoch
        self.which = which or {}
        self.precision = chosen_precision(config.precision, device)
        self.optimizers = make_optimizers(network, config)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision == torch.float16)
        self.clipping = Clipping(config, device)
        self.average = Average(network, config, self.epochs, self.steps)
        self.micro = config.micro_batch or batch_size
        self.course = TrainingProgress()
        self.graphs: StepGraphs | None = None
        self.best: dict[str, Tensor] = {}
        """The network at its best epoch."""

    def run(self, title: str) -> TrainingProgress:
        """Trains, and leaves the network as it was at its best, or as it is at the end."""
        distributed.join(self.device)
        self.states.load(self)
        if self.course.step:
            title = f"{title}, resumed after {self.course.step:,} steps"
        if self.config.compile:
            self.network.compile_parts()
        if can_record(self):
            self.graphs = StepGraphs(self)
        log = Log(self.config.tensorboard)
        try:
            with progress.step(title) as report, deterministic(self.config.deterministic):
                while self.course.epoch < self.epochs and not self._given_up():
                    self._epoch(report, log)
        finally:
            self.graphs = None  # and with them the memory of their steps
        self._settle()
        return self.course

    def _epoch(self, report: Callable[..., None], log: Log) -> None:
        course, before, began = self.course, self.course.seconds, time.monotonic()
        plan = mixed_plan(self.examples.token_counts, self.batch_size, self.seed, course.epoch)
        plan = plan[: self.steps - course.epoch * len(plan)]
        steps = self.steps
        saved = shown = began
        lost = torch.zeros((), device=self.device)
        texts = 0
        self.network.train()
        for loss in self._steps(plan, schedule(self.config, steps)):
            lost += loss
            texts += len(plan[course.batch - 1])
            now = time.monotonic()
            course.seconds = before + now - began
            if now - saved >= self.config.save_every:
                course.lost += float(lost)
                lost.zero_()
                self.states.save(self)
                saved = time.monotonic()
            if now - shown > SECONDS_BETWEEN_REPORTS:
                mean = (course.lost + float(lost)) / course.batch
                report(course.step, steps, f"loss {mean:.4g}, {texts / (now - began):,.0f} texts/s")
                shown = now
        mean = (course.lost + float(lost)) / len(plan)
        self._end_epoch(mean, texts / max(time.monotonic() - began, 1e-9), log)
        course.seconds = before + time.monotonic() - began
        report(course.step, steps)
        self.states.save(self)
        if self.on_epoch is not None:
            self.on_epoch(course.entries[-1])

    def _given_up(self) -> bool:
        patience = self.config.patience
        return bool(
            patience and self.course.best_epoch and self.course.epoch - self.course.best_epoch >= patience
        )

    def _steps(self, plan: list[Ints], rate_at: Callable[[int], float]) -> Iterator[Tensor]:
        """Every batch that is left of the epoch; gives its loss."""
        while self.course.batch < len(plan):
            try:
                yield from self._steps_of(plan[self.course.batch :], rate_at)
            except torch.OutOfMemoryError as error:
                if self.config.micro_batch or self.micro == 1:
                    raise self._too_large() from error
                self.graphs = None
                self.micro = -(-self.micro // 2)
                self._forget_gradients()
                torch.cuda.empty_cache()

    def _steps_of(self, plan: list[Ints], rate_at: Callable[[int], float]) -> Iterator[Tensor]:
        losses = self._plain_losses(plan) if self.graphs is None else self._recorded_losses(plan, self.graphs)
        for _ in plan:
            set_rates(self.optimizers, rate_at(self.course.step))
            loss = next(losses)
            self.course.batch += 1
            self.course.step += 1
            self.average.after_step(self.course.step)
            yield loss

    def _recorded_losses(self, plan: list[Ints], graphs: StepGraphs) -> Iterator[Tensor]:
        order = torch.from_numpy(np.concatenate(plan)).to(self.device)
        at = 0
        for rows in plan:
            yield graphs.step(order[at : at + len(rows)], self.examples.shape_of(rows))
            at += len(rows)

    def plain_step(self, batch: Batch) -> Tensor:
        """A step with a batch that goes through the network in one piece; gives its loss."""
        loss = self._backward(batch, len(batch))
        self._move()
        return loss

    def _plain_losses(self, plan: list[Ints]) -> Iterator[Tensor]:
        shares = [distributed.share(rows) for rows in plan]
        pieces = [[rows[at : at + self.micro] for at in range(0, len(rows), self.micro)] for rows in shares]
        batches = self.examples.batches([piece for several in pieces for piece in several], self.device)
        for rows, several in zip(plan, pieces, strict=True):
            loss = torch.zeros((), device=self.device)
            distributed.reseed(self.seed, self.course.step)
            for _ in several:
                loss += self._backward(next(batches), len(rows))
            self._move()
            yield distributed.mean_loss(loss)

    def _backward(self, batch: Batch, of: int) -> Tensor:
        """Adds the gradients of a part of a batch of ``of`` texts."""
        narrow = self.precision != torch.float32
        with torch.autocast(self.device.type, self.precision, enabled=narrow, cache_enabled=False):
            loss: Tensor = self.network(batch) * (len(batch) / of)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _move(self) -> None:
        distributed.sum_gradients(self.network)
        distributed.reseed(self.seed, self.course.step, alike=True)
        if self.clipping.is_on:
            for optimizer in self.optimizers:
                self.scaler.unscale_(optimizer)
            self.clipping.shorten(self.network.parameters())
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        self._forget_gradients()

    def _forget_gradients(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def _end_epoch(self, loss: float, speed: float, log: Log) -> None:
        course = self.course
        if not math.isfinite(loss):
            raise TreetopError(
                f"the loss is {loss} in epoch {course.epoch + 1}: lower learning_rate, or set clip=1"
            )
        self.average.after_epoch(course.epoch)
        entry: dict[str, Any] = {
            **self.which,
            "epoch": course.epoch + 1,
            "step": course.step,
            "loss": loss,
            "rate": float(self.optimizers[0].param_groups[0]["lr"]),
            "texts_per_second": speed,
            "seconds": course.seconds,
        }
        if self.validator is not None:
            with self.average.used():
                entry |= self._judged(distributed.of_the_first(self.validator()))
        course.entries.append(entry)
        log.add(**entry)
        course.epoch, course.batch, course.lost = course.epoch + 1, 0, 0.0

    def _judged(self, figures: Mapping[str, float]) -> Mapping[str, float]:
        """Keeps the network if it is the best so far."""
        if figures[self.config.metric] > self.course.best:
            self.course.best, self.course.best_epoch = figures[self.config.metric], self.course.epoch + 1
            self.best = {name: value.clone() for name, value in self.network.state_dict().items()}
        return figures

    def _settle(self) -> None:
        if self.best:
            self.network.load_state_dict(self.best)
        else:
            self.average.keep()
        self.network.eval()

    def _too_large(self) -> TreetopError:
        free, total = torch.cuda.mem_get_info(self.device)
        return TreetopError(
            f"the GPU ran out of memory ({(total - free) / 2**30:.1f} of {total / 2**30:.1f} GB in use) with"
            f" {self.micro} texts at a time: lower micro_batch, max_length, or the size of the network"
        )
