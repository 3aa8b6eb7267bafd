"""One run: a variant trained with one seed and measured; and the folder where finished runs are kept.

    RUN.json    everything that a report says of the run
    RUN.npy     texts × k: the labels it gave to each test text, best first, for paired differences

RUN is named after a hash of the data, the method, its settings and the files that they name, the seed, and
the version of treetop: a run with anything changed has another name, and one that is there already is not
made again.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..arrays import write_array
from ..data import Dataset
from ..data.files import Output
from ..digests import digest_of, files_digest
from ..errors import TreetopError, UserError
from ..machine import thread_count
from ..metrics import DEFAULT_PROPENSITY, evaluate
from ..predictions import Predictions
from ..strings import Strings
from .variants import Variant

RankedIds = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Conditions:
    """What all runs of a comparison share."""

    ks: tuple[int, ...] = (1, 3, 5)
    propensity: tuple[float, float] = DEFAULT_PROPENSITY
    threads: int | None = None
    device: str | None = None
    jobs: int = 1
    """Runs at a time."""


@dataclass(frozen=True, eq=False)
class Run:
    """A variant with one seed: how good, how large, how fast."""

    method: str
    config: dict[str, Any]
    seed: int
    metrics: dict[str, float]
    """In percent, on the test texts."""
    train_seconds: float
    """Of the training alone: nothing is read or saved in them."""
    predict_milliseconds: float
    """For each test text, all of them asked at once."""
    bytes: int
    """Of the arrays that the model is stored in."""
    gpu_bytes: int
    """Most that tensors took on the GPU at a time; 0 where none was used."""
    parameters: dict[str, int] | None
    """Of a network, by part."""
    epochs: list[dict[str, Any]]
    """What a network's log says of each epoch."""
    best_epoch: int | None
    device: str | None
    precision: str | None
    threads: int
    jobs: int
    treetop: str
    ranked: RankedIds = dataclasses.field(repr=False)
    """Texts × k, label numbers of the training data, best first; -1 where there are fewer."""

    def figure(self, name: str) -> float:
        """A metric, or one of the plain numbers of a run."""
        return float(self.metrics[name] if name in self.metrics else getattr(self, name))

    def predictions(self, labels: Strings) -> Predictions:
        """The ranked labels again; their scores only fall."""
        found = self.ranked >= 0
        indptr = np.append(0, np.cumsum(found.sum(axis=1)))
        return Predictions(indptr, self.ranked[found], -np.nonzero(found)[1].astype(np.float32), labels)

    def to_dict(self) -> dict[str, Any]:
        """Everything but `ranked`, ready for JSON."""
        return {
            item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "ranked"
        }


def measure(variant: Variant, seed: int, train: Dataset, test: Dataset, conditions: Conditions) -> Run:
    """Trains and measures; what goes wrong is told with the name of the run."""
    try:
        return _measured(variant, seed, train, test, conditions)
    except TreetopError as error:
        kind = UserError if isinstance(error, UserError) else TreetopError
        raise kind(f"{variant.name}, seed {seed}: {error}") from error
    except MemoryError as error:
        raise TreetopError(f"{variant.name}, seed {seed}: there is not enough memory") from error
    finally:
        gc.collect()  # a network and its recorded steps name each other, and hold on to memory of the device


def _measured(variant: Variant, seed: int, train: Dataset, test: Dataset, conditions: Conditions) -> Run:
    model = variant.make(seed, conditions.threads, conditions.device)
    depth = max(conditions.ks)
    _most_on_gpu(anew=True)
    began = time.perf_counter()
    model.fit(train)
    trained = time.perf_counter()
    predictions = model.predict(test, min(depth, len(train.labels)))
    predicted = time.perf_counter()
    metrics = evaluate(predictions, test, train=train, ks=conditions.ks, propensity=conditions.propensity)
    arrays = {id(array): array.nbytes for array in model.to_stored().arrays.values()}
    course = model.statistics.get("training", {})
    return Run(
        method=model.name,
        config=model.config.to_dict(),
        seed=seed,
        metrics=metrics.to_dict(),
        train_seconds=trained - began,
        predict_milliseconds=1000 * (predicted - trained) / len(test),
        bytes=sum(arrays.values()),
        gpu_bytes=_most_on_gpu(),
        parameters=course.get("parameters"),
        epochs=course.get("epochs", []),
        best_epoch=course.get("best_epoch"),
        device=course.get("device"),
        precision=course.get("precision"),
        threads=model.threads,
        jobs=conditions.jobs,
        treetop=__version__,
        ranked=predictions.aligned_to(train.labels).ranked(depth),
    )


def _most_on_gpu(*, anew: bool = False) -> int:
    """Bytes since the last call with ``anew``; a method without a network never loads torch."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return 0
    most = max(torch.cuda.max_memory_allocated(number) for number in range(torch.cuda.device_count()))
    if anew:
        for number in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(number)
    return int(most)


def run_name(variant: Variant, seed: int, data: str, conditions: Conditions) -> str:
    """The same for the same run, whatever the variant is called and however many threads there are."""
    model = variant.make(seed, device=conditions.device)
    config = model.config.to_dict() | {"threads": None}
    asked = conditions.ks, conditions.propensity
    digest = digest_of(data, files_digest(model.config), model.name, config, *asked, __version__)
    return f"{model.name}-{seed}-{digest[:16]}"


class Kept:
    """Finished runs in a folder; None: nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def find(self, name: str, texts: int) -> Run | None:
        """The run of that name; None where it is missing, damaged, or of another number of ``texts``."""
        if self.folder is None:
            return None
        try:
            record = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
            ranked = np.load(self.folder / f"{name}.npy", allow_pickle=False)
            run = Run(**record, ranked=ranked)
        except (OSError, ValueError, EOFError, TypeError):
            return None
        return run if ranked.ndim == 2 and ranked.dtype == np.int32 and len(ranked) == texts else None

    def keep(self, name: str, run: Run) -> None:
        """Writes both files; the one that `find` reads first appears last."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with Output() as output:
                write_array(output.binary(self.folder / f"{name}.npy"), run.ranked)
                output.text(self.folder / f"{name}.json").write(json.dumps(run.to_dict(), indent=1) + "\n")
        except OSError as error:
            raise TreetopError(f"could not write to {self.folder}: {error.strerror or error}") from error


def threads_of_one(wanted: int | None, jobs: int) -> int | None:
    """Runs that go on beside each other share the cores, unless they are told otherwise."""
    return wanted if wanted is not None or jobs == 1 else max(thread_count(0) // jobs, 1)
