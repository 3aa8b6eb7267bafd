"""The training loop of every network.

    for each epoch: for each batch: loss → gradients → optimizer step; then validation

A batch is one optimizer step, whatever the memory: it goes through the network in micro-batches whose
gradients accumulate. The order of the batches depends on seed and epoch alone, so a killed run that resumes
from its last checkpoint ends with the same weights.
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
from torch import Tensor, nn

from ..errors import TreetopError
from ..progress import step
from . import distributed
from .averaging import Average
from .batches import Batch, Examples, mixed_plan
from .clipping import Clipping
from .config import TrainingConfig
from .device import chosen_precision, deterministic
from .log import Log
from .network import Network
from .optimizers import beta1_cycle, make_optimizers, schedule, set_beta1, set_rates
from .resuming import TrainingStates
from .step_graphs import StepGraphs, can_record

Ints = npt.NDArray[np.int64]
SECONDS_BETWEEN_REPORTS = 0.5
Validator = Callable[[], Mapping[str, float]]
"""Computes metrics of the current network on the validation set."""
OnEpoch = Callable[[Mapping[str, Any]], None]
"""Called with the log entry of an epoch."""


@dataclass
class TrainingProgress:
    """How far training has come."""

    epoch: int = 0
    batch: int = 0
    """Finished batches of this epoch."""
    step: int = 0
    loss_sum: float = 0.0
    """Sum of the losses of this epoch's finished batches."""
    best: float = -math.inf
    best_epoch: int = 0
    """Counted from 1; 0: no epoch was validated yet."""
    seconds: float = 0.0
    clipped: int = 0
    """Steps of all finished epochs whose gradients were clipped."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """Log entries, one per epoch."""

    def then(self, later: TrainingProgress) -> TrainingProgress:
        """This training followed by a ``later`` one, as one training with the best epoch of the later one."""
        before = len(self.entries)
        return replace(
            later,
            epoch=before + later.epoch,
            step=self.step + later.step,
            best_epoch=before + later.best_epoch if later.best_epoch else 0,
            seconds=self.seconds + later.seconds,
            clipped=self.clipped + later.clipped,
            entries=self.entries + later.entries,
        )


class Training:
    """The training of one network on one data set."""

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
        part: Mapping[str, int] | None = None,
    ) -> None:
        """``steps``: number of steps, instead of ``epochs``. ``part``: level or stage, for the log."""
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
        self.part = part or {}
        self.precision = chosen_precision(config.precision, device)
        self.optimizers = make_optimizers(network, config)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision == torch.float16)
        self.beta1_at = beta1_cycle(config, self.steps)
        self.beta1_is_usual = True
        """Whether this step has the coefficient of the steps between warm-up and cool-down."""
        self.clipping = Clipping(config, device)
        self.average = Average(network, config, self.epochs, self.steps)
        self.micro = config.micro_batch or batch_size
        self.progress = TrainingProgress()
        self.graphs: StepGraphs | None = None
        self.best: dict[str, Tensor] = {}
        """Weights of the network at its best epoch."""

    def run(self, title: str) -> TrainingProgress:
        """Trains; the network ends with the weights of its best epoch, or the last or averaged ones."""
        distributed.join(self.device)
        self.states.load(self)
        if self.progress.step:
            title = f"{title}, resumed after {self.progress.step:,} steps"
        if self.config.compile:
            self.network.compile_parts()
        if can_record(self):
            self.graphs = StepGraphs(self)
        log = Log(self.config.tensorboard)
        try:
            with step(title) as report, deterministic(self.config.deterministic):
                while self.progress.epoch < self.epochs and not self._out_of_patience():
                    self._epoch(report, log)
        finally:
            self.graphs = None  # frees the memory of the recorded steps
        self._restore_best()
        return self.progress

    def _epoch(self, report: Callable[..., None], log: Log) -> None:
        progress, before, began = self.progress, self.progress.seconds, time.monotonic()
        plan = mixed_plan(self.examples.token_counts, self.batch_size, self.seed, progress.epoch)
        plan = plan[: self.steps - progress.epoch * len(plan)]
        steps = self.steps
        saved = shown = began
        loss_sum = torch.zeros((), device=self.device)
        texts = 0
        self.network.train()
        for loss in self._steps(plan, schedule(self.config, steps)):
            loss_sum += loss
            texts += len(plan[progress.batch - 1])
            now = time.monotonic()
            progress.seconds = before + now - began
            if now - saved >= self.config.save_every:
                progress.loss_sum += float(loss_sum)
                loss_sum.zero_()
                self.states.save(self)
                saved = time.monotonic()
            if now - shown > SECONDS_BETWEEN_REPORTS:
                mean = (progress.loss_sum + float(loss_sum)) / progress.batch
                report(progress.step, steps, f"loss {mean:.4g}, {texts / (now - began):,.0f} texts/s")
                shown = now
        mean = (progress.loss_sum + float(loss_sum)) / len(plan)
        self._end_epoch(mean, texts / max(time.monotonic() - began, 1e-9), log)
        progress.seconds = before + time.monotonic() - began
        report(progress.step, steps)
        self.states.save(self)
        if self.on_epoch is not None:
            self.on_epoch(progress.entries[-1])

    def _out_of_patience(self) -> bool:
        patience = self.config.patience
        return bool(
            patience
            and self.progress.best_epoch
            and self.progress.epoch - self.progress.best_epoch >= patience
        )

    def _steps(self, plan: list[Ints], rate_at: Callable[[int], float]) -> Iterator[Tensor]:
        """Trains on the remaining batches of the epoch; yields their losses."""
        while self.progress.batch < len(plan):
            try:
                yield from self._steps_of(plan[self.progress.batch :], rate_at)
            except torch.OutOfMemoryError as error:
                if self.config.micro_batch or self.micro == 1:
                    raise self._out_of_memory() from error
                self.graphs = None
                self.micro = -(-self.micro // 2)
                self._clear_gradients()
                torch.cuda.empty_cache()

    def _steps_of(self, plan: list[Ints], rate_at: Callable[[int], float]) -> Iterator[Tensor]:
        losses = self._plain_losses(plan) if self.graphs is None else self._recorded_losses(plan, self.graphs)
        for _ in plan:
            set_rates(self.optimizers, rate_at(self.progress.step))
            self._set_beta1()
            self._set_dropout()
            loss = next(losses)
            self.progress.batch += 1
            self.progress.step += 1
            self.average.after_step(self.progress.step)
            yield loss

    def _set_beta1(self) -> None:
        if self.beta1_at is not None:
            beta1 = self.beta1_at(self.progress.step)
            self.beta1_is_usual = beta1 == self.config.beta1_cycle[1]
            set_beta1(self.optimizers, beta1)

    def _set_dropout(self) -> None:
        """Turns dropout on or off, as the settings say for this step of the epoch."""
        steps = self.config.dropout_steps
        wanted = not steps or self.progress.batch < steps
        if self.network.training != wanted:
            self.network.train(wanted)
            for module in self.network.modules():
                if isinstance(module, nn.RNNBase):  # cuDNN has gradients of these only while they train
                    module.train()

    def _recorded_losses(self, plan: list[Ints], graphs: StepGraphs) -> Iterator[Tensor]:
        order = torch.from_numpy(np.concatenate(plan)).to(self.device)
        at = 0
        for rows in plan:
            yield graphs.step(order[at : at + len(rows)], self.examples.shape_of(rows))
            at += len(rows)

    def plain_step(self, batch: Batch) -> Tensor:
        """An optimizer step on a batch that goes through the network as a whole; returns its loss."""
        loss = self._backward(batch, len(batch))
        self._optimizer_step()
        return loss

    def _plain_losses(self, plan: list[Ints]) -> Iterator[Tensor]:
        shares = [distributed.share(rows) for rows in plan]
        pieces = [[rows[at : at + self.micro] for at in range(0, len(rows), self.micro)] for rows in shares]
        batches = self.examples.batches([piece for several in pieces for piece in several], self.device)
        for rows, several in zip(plan, pieces, strict=True):
            loss = torch.zeros((), device=self.device)
            distributed.reseed(self.seed, self.progress.step)
            for _ in several:
                loss += self._backward(next(batches), len(rows))
            self._optimizer_step()
            yield distributed.mean_loss(loss)

    def _backward(self, batch: Batch, of: int) -> Tensor:
        """Adds the gradients of a part of a batch; ``of``: texts of the whole batch."""
        narrow = self.precision != torch.float32
        with torch.autocast(self.device.type, self.precision, enabled=narrow, cache_enabled=False):
            loss: Tensor = self.network(batch) * (len(batch) / of)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _optimizer_step(self) -> None:
        distributed.sum_gradients(self.network)
        distributed.reseed(self.seed, self.progress.step, alike=True)
        if self.clipping.is_on:
            for optimizer in self.optimizers:
                self.scaler.unscale_(optimizer)
            self.clipping.clip(self.network.parameters())
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        self._clear_gradients()

    def _clear_gradients(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def _end_epoch(self, loss: float, speed: float, log: Log) -> None:
        progress = self.progress
        if not math.isfinite(loss):
            raise TreetopError(
                f"the loss is {loss} in epoch {progress.epoch + 1}: lower learning_rate, or set clip=1"
            )
        self.average.after_epoch(progress.epoch)
        clipped = int(self.clipping.clipped) - progress.clipped
        progress.clipped += clipped
        entry: dict[str, Any] = {
            **self.part,
            "epoch": progress.epoch + 1,
            "step": progress.step,
            "loss": loss,
            "rate": float(self.optimizers[0].param_groups[0]["lr"]),
            "texts_per_second": speed,
            "seconds": progress.seconds,
        }
        if self.clipping.is_on:
            entry["clipped"] = clipped / progress.batch
        if self.validator is not None:
            with self.average.used():
                entry |= self._validated(distributed.from_first_process(self.validator()))
        progress.entries.append(entry)
        log.add(**entry)
        progress.epoch, progress.batch, progress.loss_sum = progress.epoch + 1, 0, 0.0

    def _validated(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """Keeps the weights if they are the best so far."""
        if metrics[self.config.metric] > self.progress.best:
            self.progress.best, self.progress.best_epoch = (
                metrics[self.config.metric],
                self.progress.epoch + 1,
            )
            self.best = {name: value.clone() for name, value in self.network.state_dict().items()}
        return metrics

    def _restore_best(self) -> None:
        if self.best:
            self.network.load_state_dict(self.best)
        else:
            self.average.keep()
        self.network.eval()

    def _out_of_memory(self) -> TreetopError:
        free, total = torch.cuda.mem_get_info(self.device)
        return TreetopError(
            f"the GPU ran out of memory ({(total - free) / 2**30:.1f} of {total / 2**30:.1f} GB in use) with"
            f" {self.micro} texts at a time: lower micro_batch, max_length, or the size of the network"
        )
