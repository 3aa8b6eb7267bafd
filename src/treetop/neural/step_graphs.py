"""Training steps recorded as CUDA graphs: launching a hundred small kernels takes longer than running them.

The first step of each shape, with dropout or without, is recorded (gather, loss, gradients, optimizer); later
ones replay it with other rows. The few shapes that `Examples.shape_of` rounds to are soon all recorded. Steps
with another beta1 than most are not recorded: it is part of the kernels' arguments.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..machine import process_count
from .batches import Ragged, Shape
from .optimizers import RowAdam

if TYPE_CHECKING:
    from .training import Training

WARM_UP = 3
"""Plain steps before the first recording, in which libraries and the optimizer allocate their memory."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recorded step, and where it reads its rows and writes its loss."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor
    loss: Tensor


def can_record(training: Training) -> bool:
    """Whether all steps run on one GPU that holds the examples, without waiting for the CPU."""
    config = training.config
    return (
        config.graphs
        and training.network.records
        and training.device.type == "cuda"
        and training.precision != torch.float16
        and not config.deterministic
        and (not config.compile or training.network.records_compiled)
        and process_count() == 1
        and training.micro >= training.batch_size
        and not any(isinstance(optimizer, RowAdam) for optimizer in training.optimizers)
        and training.examples.parts_on(training.device) is not None
    )


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Freeing an older graph while another is recorded would break the recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class StepGraphs:
    """The recorded steps of one training."""

    def __init__(self, training: Training) -> None:
        self.training = training
        parts = training.examples.parts_on(training.device)
        assert parts is not None
        self.parts: dict[str, Ragged] = parts
        self.pool = torch.cuda.graph_pool_handle()
        self.recorded: dict[tuple[Shape, bool], Recorded] = {}
        self.warm = {True: 0, False: 0}
        """Plain steps so far, with dropout and without."""

    def step(self, rows: Tensor, shape: Shape) -> Tensor:
        """Runs a step and returns its loss, which is valid until the next step."""
        training, mode = self.training, self.training.network.training
        if len(rows) < training.batch_size or self.warm[mode] < WARM_UP or not training.beta1_is_usual:
            self.warm[mode] += 1
            return training.plain_step(training.examples.gather(self.parts, rows, shape))
        key = shape, mode
        if key not in self.recorded:
            self.recorded[key] = self._record(rows, shape)
        known = self.recorded[key]
        known.rows.copy_(rows)
        known.graph.replay()
        return known.loss

    def _record(self, rows: Tensor, shape: Shape) -> Recorded:
        buffer = rows.clone()
        graph = torch.cuda.CUDAGraph()
        with garbage_collection_paused(), torch.cuda.graph(graph, pool=self.pool):
            loss = self.training.plain_step(self.training.examples.gather(self.parts, buffer, shape))
        return Recorded(graph, buffer, loss)
