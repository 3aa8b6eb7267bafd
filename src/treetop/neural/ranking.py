"""What a trained network says of many texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..progress import step
from .batches import Batch, Examples, sorted_plan
from .network import Network

Ranked = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]
MANY = 10_000
"""Texts that are worth a progress bar."""
_weights: WeakKeyDictionary[nn.Module, list[nn.Parameter]] = WeakKeyDictionary()
"""Of networks that predict. To walk over all layers takes a millisecond, so it is done once."""


def rank(
    network: Network,
    examples: Examples,
    k: int,
    *,
    batch_size: int,
    device: torch.device,
    precision: torch.dtype,
) -> Ranked:
    """``indptr, labels, scores``: the ``k`` best of every text, best first."""
    make_ready(network, device)
    if device.type == "cpu":
        batch_size = min(batch_size, network.most_on_processor)
    labels = torch.zeros((len(examples), k), dtype=torch.int64, device=device)
    scores = torch.zeros((len(examples), k), device=device)

    def use(batch: Batch) -> None:
        values, ids = network.top(batch, k)
        scores[batch.rows], labels[batch.rows] = values.float(), ids

    for_each_batch("Ranking labels", use, examples, batch_size=batch_size, device=device, precision=precision)
    indptr = np.arange(len(examples) + 1, dtype=np.int64) * k
    return indptr, labels.cpu().numpy().reshape(-1), scores.cpu().numpy().reshape(-1)


def make_ready(network: nn.Module, device: torch.device) -> None:
    """For predictions on a device."""
    if network.training:
        network.eval()
    weights = _weights.get(network)
    if weights is None:
        weights = _weights[network] = list(network.parameters())
    if any(
        weight.device.type != device.type or device.index not in (None, weight.device.index)
        for weight in weights
    ):
        network.to(device)


def for_each_batch(
    title: str,
    use: Callable[[Batch], None],
    examples: Examples,
    *,
    batch_size: int,
    device: torch.device,
    precision: torch.dtype,
) -> None:
    """Calls ``use``, without gradients, for batches of all texts; of smaller ones, if the memory runs out."""
    while True:
        plan = sorted_plan(examples.token_counts, batch_size)
        bar = step(title) if len(examples) >= MANY else contextlib.nullcontext()
        narrow = torch.autocast(device.type, precision, enabled=precision != torch.float32)
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
