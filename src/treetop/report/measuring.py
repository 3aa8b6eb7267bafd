"""What a model costs to ask: seconds and memory, measured here and now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ..data import Dataset
from ..machine import memory_added_since, watch_memory
from ..predictions import Predictions
from .subject import Cost

if TYPE_CHECKING:
    from ..methods import Method

ALONE = 200
"""Texts asked one at a time at most."""
SECONDS_ALONE = 3.0
"""No further text is asked alone after these."""


def ask(model: Method, texts: Dataset, k: int, since: int | None = None) -> tuple[tuple[Predictions], Cost]:
    """The answers to all texts, one run of them, and what they took.

    Memory counts from here, or from before the model was loaded: ``since`` is what `watch` gave then.
    """
    since = watch_memory() if since is None else since
    k = min(k, len(model.label_counts))
    model.predict(texts[:1], k)  # what is set up on first use is not counted
    began = time.perf_counter()
    predictions = model.predict(texts, k)
    seconds = time.perf_counter() - began
    added = memory_added_since(since)
    alone = _alone(model, texts, k)
    spent = model.statistics.get("spent", {})
    training = model.statistics.get("training", {})
    return (predictions,), Cost(
        train_seconds=spent.get("seconds", training.get("seconds")),
        train_peak=spent.get("peak_bytes"),
        many=1000 * seconds / len(texts),
        one=float(np.median(alone)),
        slow=float(np.quantile(alone, 0.95)),
        added=added,
        parameters=sum(training["parameters"].values()) if training else None,
    )


def _alone(model: Method, texts: Dataset, k: int) -> list[float]:
    """Milliseconds of texts spread over the test data."""
    rows = np.unique(np.linspace(0, len(texts) - 1, min(ALONE, len(texts))).astype(np.int64))
    taken: list[float] = []
    stop = time.perf_counter() + SECONDS_ALONE
    for row in rows.tolist():
        one = texts[[row]]
        began = time.perf_counter()
        model.predict(one, k)
        now = time.perf_counter()
        taken.append(1000 * (now - began))
        if now > stop:
            break
    return taken
