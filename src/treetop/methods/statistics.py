"""Checks the statistics in a manifest: complete, and of the right types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any

from ..errors import ModelError
from ..model_arrays import RETRAIN, check_equal

_STATISTICS: dict[str, Any] = {
    "examples": (int, NoneType),  # None: unknown, of a model that was imported
    "labels": int,
    "labels_used": int,
    "labels_per_example": (int, float, NoneType),
    "input": str,
    "source": str,
}
_OF_SOME: dict[str, Any] = {"features": int, "weighted": bool, "recipe": str, "recipe_member": str}
_OF_PARTS: dict[str, dict[str, Any]] = {
    "calibration": {"kind": str, "examples": int, "source": str},
    "spent": {"seconds": (int, float), "peak_bytes": (int, NoneType)},
    "updates": {"times": int, "examples": int, "labels": int},
    "training": {
        "parameters": dict,
        "device": str,
        "precision": str,
        "seconds": (int, float),
        "best_epoch": int,
        "epochs": list,
    },
}


def checked_statistics(data: Mapping[str, Any], labels: int) -> dict[str, Any]:
    """Statistics from a manifest, complete and of the right types; ``labels``: those of the model."""
    _check(data, _STATISTICS, "training data")
    _check(data, {name: kind for name, kind in _OF_SOME.items() if name in data}, "training data")
    for part, kinds in _OF_PARTS.items():
        if part in data:
            _check(data[part], kinds, part)
    if data["examples"] is not None:
        if data["examples"] < 1:
            raise ModelError(
                f"the manifest says the model was trained on {data['examples']} examples: {RETRAIN}"
            )
        _check(data, {"labels_per_example": (int, float)}, "training data")
    check_equal("labels", labels, "its manifest says", data["labels"])
    if "training" in data:
        training = data["training"]
        _check(training, {name: (int, float) for name in ("clipped",) if name in training}, "training")
        _check(training["parameters"], dict.fromkeys(training["parameters"], int), "training")
        for entry in training["epochs"]:
            _check(entry, {}, "training")
    return dict(data)


def _check(given: Any, kinds: Mapping[str, Any], what: str) -> None:
    if not isinstance(given, Mapping):
        raise ModelError(f"the manifest has no valid statistics for the {what}: {RETRAIN}")
    for name, kind in kinds.items():
        value = given.get(name, ...)
        if not isinstance(value, kind) or (isinstance(value, (int, float)) and not 0 <= value < math.inf):
            raise ModelError(f"the manifest has no valid {name!r} for the {what}: {RETRAIN}")
