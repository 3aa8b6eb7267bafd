"""Checks the statistics in a manifest: complete, and of the right types."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from ..errors import ModelError

_STATISTICS: dict[str, Any] = {
    "examples": (int, NoneType),  # None: unknown, of a model that was imported
    "labels": int,
    "labels_used": int,
    "labels_per_example": (int, float, NoneType),
    "input": str,
    "source": str,
}
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


def checked_statistics(data: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics from a manifest, complete and of the right types."""
    expected = [(data, _STATISTICS, "training data")]
    expected += [(data[part], kinds, part) for part, kinds in _OF_PARTS.items() if part in data]
    for given, kinds, what in expected:
        for name, kind in kinds.items():
            if not isinstance(given, Mapping) or not isinstance(given.get(name, ...), kind):
                raise ModelError(f"the manifest has no valid {name!r} for the {what}: retrain the model")
    if data["examples"] is not None and data["examples"] < 1:
        raise ModelError(
            f"the manifest says the model was trained on {data['examples']} examples: retrain the model"
        )
    return dict(data)
