"""The model card: what a model is made of, and figures that ``treetop evaluate --card`` measured and kept.

    model/card.json      the figures, and the version of the model they were measured with

A model that was saved again has another version: figures of an older one are not shown.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data.statistics import frequency_buckets
from .served_model import ServedModel, version_of

if TYPE_CHECKING:
    from ..data import Dataset
    from ..methods import Method

FILE = "card.json"
KS = (1, 3, 5)
POINTS = 60
"""Of the long-tail curve."""


def card_of(served: ServedModel) -> dict[str, Any]:
    """Everything that is known; null where nothing was measured."""
    model = served.model
    measured = _kept(served.folder, served.version)
    data = dict(model.statistics)
    data["source"] = Path(str(data["source"])).name  # folders of the server are nobody's business
    learned = data.pop("calibration", None)
    return {
        "name": served.name,
        "version": served.version,
        "method": model.name,
        "settings": model.config.to_dict(),
        "loaded_at": served.loaded_at,
        "data": data,
        "long_tail": long_tail(model.label_counts),
        "calibration": None
        if learned is None
        else {"kind": learned["kind"], "examples": learned["examples"]},
        "measured_on": measured.get("measured_on"),
        "metrics": measured.get("metrics"),
        "by_frequency": measured.get("by_frequency"),
        "reliability": measured.get("reliability"),
    }


def long_tail(counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Labels by how many training texts they have: a few buckets, and points of the curve rank → texts."""
    used = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.rint(len(used) ** np.linspace(0, 1, POINTS)).astype(np.int64))
    return {
        "labels": len(counts),
        "labels_used": len(used),
        "buckets": [
            {
                "texts": bucket.texts,
                "labels": bucket.labels,
                "share_of_occurrences": bucket.share_of_occurrences,
            }
            for bucket in frequency_buckets(used)
        ],
        "curve": [{"rank": int(rank), "texts": int(used[rank - 1])} for rank in ranks[: len(used)]],
    }


def measure(model: Method, truth: Dataset, folder: Path) -> None:
    """Measures a loaded model on held-out texts and keeps the figures in its folder."""
    from ..data.files import Output
    from ..errors import DataError, TreetopError
    from ..metrics import by_frequency, reliability

    predictions = model.predict(truth, min(max(KS), len(model.label_counts)))
    try:
        bins = [item._asdict() for item in reliability(predictions, truth, k=max(KS))]
    except DataError:  # scores are no probabilities
        bins = None
    buckets = by_frequency(predictions, truth, train_counts=model.label_counts, ks=KS)
    content = {
        "version": version_of(folder),
        "measured_on": {"source": Path(truth.source).name, "examples": len(truth)},
        "metrics": {name: round(value, 4) for name, value in model.evaluate(truth, ks=KS).items()},
        "by_frequency": [bucket._asdict() for bucket in buckets],
        "reliability": bins,
    }
    try:
        with Output() as output:
            output.text(folder / FILE).write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise TreetopError(f"{folder / FILE}: cannot be written ({error.strerror or error})") from None


def _kept(folder: Path, version: str) -> dict[str, Any]:
    """Figures of this very version; nothing where there are none."""
    try:
        content = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) and content.get("version") == version else {}
