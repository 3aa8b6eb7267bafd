"""One run: a variant trained with one seed, and what was measured."""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..errors import TreetopError, UserError
from ..machine import thread_count
from ..metrics import DEFAULT_PROPENSITY, evaluate
from ..predictions import Predictions
from ..strings import Strings
from .variants import Variant


@dataclass(frozen=True)
class Conditions:
    """What all runs of a comparison share."""

    ks: tuple[int, ...] = (1, 3, 5)
    propensity: tuple[float, float] = DEFAULT_PROPENSITY
    threads: int | None = None
    device: str | None = None
    jobs: int = 1
    """Number of parallel runs."""


@dataclass(frozen=True, eq=False)
class Run:
    """A variant with one seed: its metrics, size and speed."""

    method: str
    config: dict[str, Any]
    seed: int
    metrics: dict[str, float]
    """Metrics on the test texts, in percent."""
    train_seconds: float
    """Training alone, without reading or saving."""
    predict_milliseconds: float
    """Milliseconds per test text, all texts in one call."""
    bytes: int
    """Size of the arrays in the stored model."""
    gpu_bytes: int
    """Peak memory of tensors on the GPU; 0 without one."""
    parameters: dict[str, int] | None
    """A network's parameters by part; None for other methods."""
    epochs: list[dict[str, Any]]
    """A network's training log, one entry per epoch."""
    best_epoch: int | None
    device: str | None
    precision: str | None
    threads: int
    jobs: int
    treetop: str
    ranked: npt.NDArray[np.int32] = dataclasses.field(repr=False)
    """Texts × k: label ids of the training data, best first; -1 if there are fewer."""

    def value(self, name: str) -> float:
        """A metric, or another number of the run such as ``train_seconds``."""
        return float(self.metrics[name] if name in self.metrics else getattr(self, name))

    figure = renamed_attribute("figure", "value")

    def predictions(self, labels: Strings) -> Predictions:
        """The ranked labels as predictions; scores only encode the order."""
        found = self.ranked >= 0
        indptr = np.append(0, np.cumsum(found.sum(axis=1)))
        return Predictions(indptr, self.ranked[found], -np.nonzero(found)[1].astype(np.float32), labels)

    def to_dict(self) -> dict[str, Any]:
        """All fields except `ranked`, ready for JSON."""
        return {
            item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "ranked"
        }


def measure(variant: Variant, seed: int, train: Dataset, test: Dataset, conditions: Conditions) -> Run:
    """Trains and evaluates; errors name the run."""
    try:
        return _measured(variant, seed, train, test, conditions)
    except TreetopError as error:
        kind = UserError if isinstance(error, UserError) else TreetopError
        raise kind(f"{variant.name}, seed {seed}: {error}") from error
    except MemoryError as error:
        raise TreetopError(
            f"{variant.name}, seed {seed}: not enough memory; use fewer jobs or a smaller model"
        ) from error
    finally:
        gc.collect()  # a network and its recorded steps form reference cycles that hold device memory


def _measured(variant: Variant, seed: int, train: Dataset, test: Dataset, conditions: Conditions) -> Run:
    model = variant.make(seed, conditions.threads, conditions.device)
    depth = max(conditions.ks)
    _peak_gpu_bytes(reset=True)
    started = time.perf_counter()
    model.fit(train)
    trained = time.perf_counter()
    predictions = model.predict(test, min(depth, len(train.labels)))
    predicted = time.perf_counter()
    metrics = evaluate(predictions, test, train=train, ks=conditions.ks, propensity=conditions.propensity)
    arrays = {id(array): array.nbytes for array in model.to_stored().arrays.values()}
    training = model.statistics.get("training", {})
    return Run(
        method=model.name,
        config=model.config.to_dict(),
        seed=seed,
        metrics=metrics.to_dict(),
        train_seconds=trained - started,
        predict_milliseconds=1000 * (predicted - trained) / len(test),
        bytes=sum(arrays.values()),
        gpu_bytes=_peak_gpu_bytes(),
        parameters=training.get("parameters"),
        epochs=training.get("epochs", []),
        best_epoch=training.get("best_epoch"),
        device=training.get("device"),
        precision=training.get("precision"),
        threads=model.threads,
        jobs=conditions.jobs,
        treetop=__version__,
        ranked=predictions.aligned_to(train.labels).ranked(depth),
    )


def _peak_gpu_bytes(*, reset: bool = False) -> int:
    """Peak GPU memory since the last ``reset``. Methods without a network never load torch."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return 0
    peak = max(torch.cuda.max_memory_allocated(number) for number in range(torch.cuda.device_count()))
    if reset:
        for number in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(number)
    return int(peak)


def threads_per_run(wanted: int | None, jobs: int) -> int | None:
    """The given number of threads, or an equal share of the cores for each parallel run."""
    return wanted if wanted is not None or jobs == 1 else max(thread_count(0) // jobs, 1)
