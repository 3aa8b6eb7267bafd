"""Inference: a trained network on many texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..errors import ModelError, brief
from ..model_arrays import RETRAIN
from ..progress import step
from ..ranked import Ranked
from .batches import Batch, Examples, sorted_plan
from .network import Network

MANY = 10_000
"""Texts from which on there is a progress bar."""
ON_PROCESSOR = 1 << 20
"""Largest batch on a CPU, for modules without a `most_on_processor`."""


class _Parts(NamedTuple):
    modules: list[nn.Module]
    weights: list[nn.Parameter]
    encoders: list[nn.Module]
    """Modules that can predict with 8-bit weights."""


_parts: WeakKeyDictionary[nn.Module, _Parts] = WeakKeyDictionary()
"""Modules and weights of a network, found once, because walking over all layers takes a millisecond."""


@dataclass(frozen=True)
class InferenceSettings:
    """How texts go through a network for predictions."""

    batch_size: int
    """Largest number of texts at a time."""
    device: torch.device
    precision: torch.dtype
    int8: bool = False
    """Whether encoders use 8-bit weights on a CPU."""


def rank(network: Network, examples: Examples, k: int, inference: InferenceSettings) -> Ranked:
    """``indptr, labels, scores``: the ``k`` best labels of every text, best first, or as many as found."""
    labels = torch.zeros((len(examples), k), dtype=torch.int32, device=inference.device)
    scores = torch.zeros((len(examples), k), device=inference.device)

    def use(batch: Batch) -> None:
        values, ids = network.top(batch, k)
        scores[batch.rows], labels[batch.rows] = values.float(), ids.int()

    for_each_batch("Ranking labels", network, use, examples, inference)
    return as_lists(labels.cpu().numpy(), scores.cpu().numpy())


def as_lists(labels: npt.NDArray[np.int32], scores: npt.NDArray[np.float32]) -> Ranked:
    """Texts × k → lists. A score below 0 marks an unused place."""
    real = scores >= 0
    indptr = np.concatenate([[0], np.cumsum(real.sum(1), dtype=np.int64)])
    return Ranked(indptr, labels[real], scores[real])


def make_ready(network: nn.Module, device: torch.device, *, int8: bool = False) -> None:
    """Prepares a network for predictions on a device; ``int8``: its encoders use 8-bit weights."""
    parts = _parts.get(network)
    if parts is None:
        modules = list(network.modules())
        encoders = [module for module in modules if hasattr(module, "int8")]
        parts = _parts[network] = _Parts(modules[1:], list(network.parameters()), encoders)
    modules, weights, encoders = parts
    for encoder in encoders:
        encoder.int8 = int8  # type: ignore[assignment]
    if network.training or any(module.training for module in modules):
        network.eval()
    if any(
        weight.device.type != device.type or device.index not in (None, weight.device.index)
        for weight in weights
    ):
        network.to(device)


def for_each_batch(
    title: str,
    network: nn.Module,
    use: Callable[[Batch], None],
    examples: Examples,
    inference: InferenceSettings,
) -> None:
    """Calls ``use`` for batches of all texts, without gradients; for smaller batches where memory runs out.

    Moves the network to the device first, and switches dropout off.
    """
    batch_size, device = inference.batch_size, inference.device
    make_ready(network, device, int8=inference.int8)
    if device.type == "cpu":
        batch_size = min(batch_size, getattr(network, "most_on_processor", ON_PROCESSOR))
    while True:
        plan = sorted_plan(examples.token_counts, batch_size)
        bar = step(title) if len(examples) >= MANY else contextlib.nullcontext()
        narrow = inference.precision != torch.float32
        autocast = torch.autocast(device.type, inference.precision, enabled=narrow)
        try:
            with bar as report, torch.inference_mode(), autocast:
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
        except (RuntimeError, LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
            if "not enough memory" in str(error):
                raise
            # A stored configuration of a transformer can be built, but not run.
            raise ModelError(f"the network cannot read the texts ({brief(error)}): {RETRAIN}") from error
