"""The best labels of many texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch

from ..progress import step
from .batches import Batch, Examples, sorted_plan
from .network import Network

Ranked = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]
MANY = 10_000
"""Texts that are worth a progress bar."""


@torch.inference_mode()
def rank(
    network: Network,
    examples: Examples,
    k: int,
    *,
    batch_size: int,
    device: torch.device,
    precision: torch.dtype,
) -> Ranked:
    """``indptr, labels, scores``: the ``k`` best of every text, best first.

    Batches that do not fit into the memory of the device are halved.
    """
    network.to(device).eval()
    labels = torch.zeros((len(examples), k), dtype=torch.int64, device=device)
    scores = torch.zeros((len(examples), k), device=device)
    done = False
    while not done:
        plan = sorted_plan(examples.token_counts, batch_size)
        try:
            with torch.autocast(device.type, precision, enabled=precision != torch.float32):
                for batch in _shown(examples.batches(plan, device), len(plan), len(examples)):
                    values, ids = network.top(batch, k)
                    scores[batch.rows], labels[batch.rows] = values.float(), ids
            done = True
        except torch.OutOfMemoryError:
            if batch_size == 1:
                raise
            batch_size = -(-batch_size // 2)
            torch.cuda.empty_cache()
    indptr = np.arange(len(examples) + 1, dtype=np.int64) * k
    return indptr, labels.cpu().numpy().reshape(-1), scores.cpu().numpy().reshape(-1)


def _shown(batches: Iterator[Batch], count: int, texts: int) -> Iterator[Batch]:
    if texts < MANY:
        yield from batches
        return
    with step("Ranking labels") as report:
        for number, batch in enumerate(batches, 1):
            yield batch
            report(number, count)
