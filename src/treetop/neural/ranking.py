"""What a trained network says of many texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..progress import step
from ..ranked import Ranked
from .batches import Batch, Examples, sorted_plan
from .network import Network

MANY = 10_000
"""Texts that are worth a progress bar."""
ON_PROCESSOR = 1 << 20
"""Texts that go through a module at a time where there is no GPU, unless it has its `most_on_processor`."""
_parts: WeakKeyDictionary[nn.Module, tuple[list[nn.Module], list[nn.Parameter]]] = WeakKeyDictionary()
"""What is inside of modules that predict. To walk over all layers takes a millisecond, so it is done once."""


@dataclass(frozen=True)
class Pass:
    """How texts go through a network, forward only."""

    batch_size: int
    """Texts at a time, at most."""
    device: torch.device
    precision: torch.dtype


def rank(network: Network, examples: Examples, k: int, way: Pass) -> Ranked:
    """``indptr, labels, scores``: the ``k`` best of every text, best first; fewer if no more are found."""
    labels = torch.zeros((len(examples), k), dtype=torch.int32, device=way.device)
    scores = torch.zeros((len(examples), k), device=way.device)

    def use(batch: Batch) -> None:
        values, ids = network.top(batch, k)
        scores[batch.rows], labels[batch.rows] = values.float(), ids.int()

    for_each_batch("Ranking labels", network, use, examples, way)
    return as_lists(labels.cpu().numpy(), scores.cpu().numpy())


def as_lists(labels: npt.NDArray[np.int32], scores: npt.NDArray[np.float32]) -> Ranked:
    """Texts × k → lists. A score below 0 marks a place that is left over."""
    real = scores >= 0
    indptr = np.concatenate([[0], np.cumsum(real.sum(1), dtype=np.int64)])
    return Ranked(indptr, labels[real], scores[real])


def make_ready(network: nn.Module, device: torch.device) -> None:
    """For predictions on a device."""
    parts = _parts.get(network)
    if parts is None:
        inside = [module for module in network.modules() if module is not network]
        parts = _parts[network] = inside, list(network.parameters())
    modules, weights = parts
    if network.training or any(module.training for module in modules):
        network.eval()
    if any(
        weight.device.type != device.type or device.index not in (None, weight.device.index)
        for weight in weights
    ):
        network.to(device)


def for_each_batch(
    title: str, network: nn.Module, use: Callable[[Batch], None], examples: Examples, way: Pass
) -> None:
    """Calls ``use``, without gradients, for batches of all texts; of smaller ones, if the memory runs out.

    The network is brought to the device first, and drops nothing.
    """
    batch_size, device = way.batch_size, way.device
    make_ready(network, device)
    if device.type == "cpu":
        batch_size = min(batch_size, getattr(network, "most_on_processor", ON_PROCESSOR))
    while True:
        plan = sorted_plan(examples.token_counts, batch_size)
        bar = step(title) if len(examples) >= MANY else contextlib.nullcontext()
        narrow = torch.autocast(device.type, way.precision, enabled=way.precision != torch.float32)
        try:
            with bar as report, torch.inference_mode(), narrow:
                for number, batch in enumerate(examples.batches(plan, device), 1):
                    use(batch)
                    if report is not None:
                        report(number, len(plan))
            return
        except torch.OutOfMemoryError:
            if batch_size == 1:
                raise
            batch_size = -(-batch_size // 2)
            torch.cuda.empty_cache()
