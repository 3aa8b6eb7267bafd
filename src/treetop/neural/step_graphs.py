"""Steps recorded as CUDA graphs: starting a hundred small kernels from Python takes longer than they run.

A step of a shape seen for the first time is recorded (gather, loss, gradients, optimiser); from then on it is
replayed with other rows. The few shapes that `Examples.shape_of` rounds to are soon all known.
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
"""Plain steps before the first is recorded: libraries and the optimiser get their memory in them."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A step, where its rows are read from and where it leaves its loss."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor
    loss: Tensor


def can_record(training: Training) -> bool:
    """Steps without a look at the host in them, on one GPU that holds the examples."""
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
def garbage_left_alone() -> Iterator[None]:
    """Nothing is collected meanwhile: an older graph that is freed while another is recorded spoils it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class StepGraphs:
    """The steps of one training."""

    def __init__(self, training: Training) -> None:
        self.training = training
        parts = training.examples.parts_on(training.device)
        assert parts is not None
        self.parts: dict[str, Ragged] = parts
        self.pool = torch.cuda.graph_pool_handle()
        self.recorded: dict[Shape, Recorded] = {}
        self.warm = 0

    def step(self, rows: Tensor, shape: Shape) -> Tensor:
        """The loss of a step; good until the next one."""
        if len(rows) < self.training.batch_size or self.warm < WARM_UP:
            self.warm += 1
            return self.training.plain_step(self.training.examples.gather(self.parts, rows, shape))
        if shape not in self.recorded:
            self.recorded[shape] = self._record(rows, shape)
        known = self.recorded[shape]
        known.rows.copy_(rows)
        known.graph.replay()
        return known.loss

    def _record(self, rows: Tensor, shape: Shape) -> Recorded:
        buffer = rows.clone()
        graph = torch.cuda.CUDAGraph()
        with garbage_left_alone(), torch.cuda.graph(graph, pool=self.pool):
            loss = self.training.plain_step(self.training.examples.gather(self.parts, buffer, shape))
        return Recorded(graph, buffer, loss)
