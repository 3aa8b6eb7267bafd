"""The model card: how a model was trained, and its metrics as measured by ``treetop evaluate --card``.

    model/card.json      the metrics and the model version they belong to

Metrics of another version of the model are not shown, nor those of a damaged file.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data.statistics import frequency_buckets
from ..methods import METHODS
from ..regular_files import read_regular
from .schemas import StoredEvaluation
from .served_model import ServedModel, version_of

if TYPE_CHECKING:
    from ..data import Dataset
    from ..methods import Method

log = logging.getLogger("treetop.serve")
FILE = "card.json"
MAX_BYTES = 1_000_000
KS = (1, 3, 5)
POINTS = 100
"""Points of the long-tail curve."""


def card_of(served: ServedModel) -> dict[str, Any]:
    """The whole card; ``evaluation`` is null where nothing was measured."""
    model = served.model
    data = dict(model.statistics)
    data["source"] = Path(str(data["source"])).name  # keeps the server's folders private
    if "calibration" in data:
        data["calibration"] = {name: data["calibration"][name] for name in ("kind", "examples")}
    return {
        "model": served.name,
        "version": served.version,
        "method": model.name,
        "description": METHODS[model.name].summary if model.name in METHODS else None,
        "settings": {setting.name: setting.value for setting in model.config.settings()},
        "data": _without_nan(data),
        "long_tail": long_tail(model.training_counts.get("train_counts", np.zeros(0, np.int64))),
        "evaluation": _read_evaluation(served.folder, served.version),
    }


def _without_nan(value: Any) -> Any:
    """Statistics as JSON has them: the loss of a training that diverged is NaN."""
    if isinstance(value, dict):
        return {name: _without_nan(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [_without_nan(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def long_tail(counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Training texts per label: a few frequency buckets, and points of the curve from rank to texts."""
    used = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.rint(len(used) ** np.linspace(0, 1, POINTS)).astype(np.int64))[: len(used)]
    return {
        "points": [[int(rank), int(used[rank - 1])] for rank in ranks],
        "buckets": [dataclasses.asdict(bucket) for bucket in frequency_buckets(used)],
    }


def measure(model: Method, truth: Dataset, folder: Path) -> None:
    """Evaluates a loaded model on held-out texts and writes the metrics to its folder."""
    from ..data.files import Output
    from ..errors import DataError, not_written
    from ..metrics import by_frequency, reliability

    predictions = model.predict(truth, min(max(KS), len(model.label_counts)))
    try:
        bins = [item._asdict() for item in reliability(predictions, truth, k=max(KS))]
    except DataError:  # the scores are not probabilities
        bins = None
    counts = model.training_counts.get("train_counts")
    buckets = [] if counts is None else by_frequency(predictions, truth, train_counts=counts, ks=KS)
    content = {
        "version": version_of(folder),
        "source": Path(truth.source).name,
        "examples": len(truth),
        "metrics": {name: round(value, 4) for name, value in model.evaluate(truth, ks=KS).items()},
        "by_frequency": [bucket._asdict() for bucket in buckets],
        "calibration": bins,
    }
    try:
        with Output() as output:
            output.text(folder / FILE).write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise not_written(folder / FILE, error) from None


def _read_evaluation(folder: Path, version: str) -> dict[str, Any] | None:
    """The stored metrics, if they belong to this version."""
    path = folder / FILE
    try:
        stored = StoredEvaluation.model_validate_json(read_regular(path, MAX_BYTES))
        content = stored.model_dump()
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()  # what a response can hold
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        _warn(path, version)
        return None
    return content if content.pop("version") == version else None


@functools.lru_cache(maxsize=1000)
def _warn(path: Path, version: str) -> None:
    """Once per version of a model: clients decide how often the card is read."""
    log.warning("%s of version %s is damaged; write it again with treetop evaluate --card", path, version)
