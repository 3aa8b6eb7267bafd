"""Time and memory of a model's predictions, measured on this machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ..data import Dataset
from ..machine import memory_added_since, watch_memory
from ..predictions import Predictions
from .evidence import Cost

if TYPE_CHECKING:
    from ..methods import Method

SINGLE_TEXTS = 200
"""Largest number of texts timed one at a time."""
SINGLE_SECONDS = 3.0
"""Time limit for them."""


def predict_and_measure(
    model: Method, texts: Dataset, k: int, since: int | None = None
) -> tuple[tuple[Predictions], Cost]:
    """The predictions for all texts, as a single run, and their cost.

    Memory counts from now, or from ``since``: the result of `watch_memory` before the model was loaded.
    """
    since = watch_memory() if since is None else since
    k = min(k, len(model.label_counts))
    model.predict(texts[:1], k)  # exclude what is set up on first use
    started = time.perf_counter()
    predictions = model.predict(texts, k)
    seconds = time.perf_counter() - started
    memory = memory_added_since(since)
    single = _single_milliseconds(model, texts, k)
    spent = model.statistics.get("spent", {})
    training = model.statistics.get("training", {})
    return (predictions,), Cost(
        train_seconds=spent.get("seconds", training.get("seconds")),
        train_peak_bytes=spent.get("peak_bytes"),
        batch_milliseconds=1000 * seconds / len(texts),
        single_milliseconds=float(np.median(single)),
        single_milliseconds_p95=float(np.quantile(single, 0.95)),
        memory_bytes=memory,
        parameters=sum(training["parameters"].values()) if training else None,
    )


def _single_milliseconds(model: Method, texts: Dataset, k: int) -> list[float]:
    """Milliseconds of single texts, evenly spaced in the test data."""
    rows = np.unique(np.linspace(0, len(texts) - 1, min(SINGLE_TEXTS, len(texts))).astype(np.int64))
    taken: list[float] = []
    stop = time.perf_counter() + SINGLE_SECONDS
    for row in rows.tolist():
        text = texts[[row]]
        started = time.perf_counter()
        model.predict(text, k)
        now = time.perf_counter()
        taken.append(1000 * (now - started))
        if now > stop:
            break
    return taken
