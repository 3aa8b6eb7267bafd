"""Time and memory of a plan, estimated before anything is trained.

A network's training takes about 6 · weights · tokens floating-point operations (forward and backward), its
predictions 2; the rate is that of a matrix product here, of which trainings of encoders reach about a third.
Weights, gradients and Adam's two moments are four numbers of 4 bytes per weight. Other methods are trained on
a sample of the texts, and their time and memory grow with the number of texts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Dataset
from ..progress import step
from .plan import Plan, PlannedMember

if TYPE_CHECKING:
    import torch

SAMPLE = 1000
"""Texts of a sample."""
REACHED = 0.3
"""Share of the rate of a matrix product that a training reaches."""
BYTES_PER_WEIGHT = 16


@dataclass(frozen=True)
class Estimate:
    """About how much a member takes."""

    member: str
    seconds: float
    gigabytes: float
    """Memory of weights, gradients and moments, or of features; activations come on top."""
    weights: int | None = None


def estimates(plan: Plan, train: Dataset, test: Dataset) -> list[Estimate]:
    """An estimate for each member."""
    rates: dict[str, float] = {}
    with step("Estimating"):
        return [_of_member(member, train, test, rates) for member in plan.members]


def _of_member(member: PlannedMember, train: Dataset, test: Dataset, rates: dict[str, float]) -> Estimate:
    config: Any = member.config
    if not config.has_setting("training.learning_rate") or train.texts is None:
        return _by_sample(member, train)
    if config.has_setting("transformer.encoder"):
        encoder, embeddings = _encoder_weights(config.transformer.encoder)
    else:
        encoder, embeddings = _word_network_weights(config), 0
    width = config.transformer.layers * _width(config) if config.has_setting("transformer.encoder") else 512
    labels = int((train.label_counts > 0).sum())
    head = labels * width
    tokens = _texts_seen(config, len(train)) * min(config.max_length, _mean_words(train) * 1.3)
    operations = 6 * tokens * encoder + 6 * _texts_seen(config, len(train)) * head
    operations += 2 * len(test) * (min(config.max_length, _mean_words(train) * 1.3) * encoder + head)
    device = _device(config.device)
    rate = rates.setdefault(device.type, _rate(device))
    weights = encoder + embeddings + head
    return Estimate(member.name, operations / (REACHED * rate), weights * BYTES_PER_WEIGHT / 1e9, weights)


def _texts_seen(config: Any, texts: int) -> int:
    """Texts in all optimizer steps together."""
    steps = getattr(config, "steps", ())
    if isinstance(steps, int) and steps:
        return steps * int(config.batch_size)
    if isinstance(steps, tuple) and steps:
        return sum(steps) * int(config.batch_size)
    levels = 3 if isinstance(steps, tuple) else 1
    return int(config.epochs) * texts * levels


def _mean_words(data: Dataset) -> float:
    assert data.texts is not None
    rows = np.linspace(0, len(data) - 1, min(len(data), SAMPLE)).astype(np.int64)
    return float(np.mean([len(data.texts[int(row)].split()) for row in rows])) if len(rows) else 0.0


def _encoder_weights(name: str) -> tuple[int, int]:
    """Weights in the layers, and in the table of word pieces; those of a base-size encoder if unknown."""
    from .differences import size_of

    size = size_of(name)
    if size is None:
        return 85_000_000, 23_000_000
    return 12 * size.layers * size.hidden**2, size.vocabulary * size.hidden


def _width(config: Any) -> int:
    from .differences import size_of

    size = size_of(config.transformer.encoder)
    return 768 if size is None else size.hidden


def _word_network_weights(config: Any) -> int:
    """Weights that each word passes: of the filters of a CNN, or of an LSTM."""
    dimension = int(config.words.dimension)
    if config.has_setting("cnn.filters"):
        return int(config.cnn.filters * dimension * sum(config.cnn.filter_sizes))
    return 8 * int(config.attention.hidden) * (dimension + int(config.attention.hidden))


def _by_sample(member: PlannedMember, train: Dataset) -> Estimate:
    """Trains on every n-th text, and scales the time: a lower bound, since small trees are cheaper.

    Memory is that of the features (8 bytes each, in three forms: as given, by label, by node).
    """
    from ..methods import method_class

    rows = np.linspace(0, len(train) - 1, min(SAMPLE, len(train))).astype(np.int64)
    sample = train[np.unique(rows)]
    began = time.perf_counter()
    method_class(member.method)(member.config).fit(sample)
    seconds = (time.perf_counter() - began) * len(train) / max(len(sample), 1)
    entries = train.X.nnz if train.X is not None else 2 * _mean_words(train) * len(train)
    return Estimate(member.name, seconds, 3 * 8 * entries / 1e9)


def _device(name: str) -> torch.device:
    from ..neural.device import chosen_device

    return chosen_device(name)


def _rate(device: torch.device) -> float:
    """Floating-point operations a second of a product of matrices."""
    import torch

    size = 4096 if device.type == "cuda" else 1024
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    a = torch.randn(size, size, device=device, dtype=kind)
    (a @ a).sum().item()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 0.2:
        (a @ a).sum().item()
        count += 1
    return 2 * size**3 * count / (time.perf_counter() - began)
