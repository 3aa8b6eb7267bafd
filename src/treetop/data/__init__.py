"""Files → `Dataset`. Names are loaded on first use, so listing the formats imports nothing heavy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dataset import Dataset as Dataset
    from .formats import FORMATS as FORMATS
    from .reading import read as read
    from .statistics import Statistics as Statistics
    from .statistics import describe as describe
    from .statistics import long_tail_plot as long_tail_plot
    from .writing import write as write

_HOMES = {
    "FORMATS": ".formats",
    "Dataset": ".dataset",
    "Statistics": ".statistics",
    "describe": ".statistics",
    "long_tail_plot": ".statistics",
    "read": ".reading",
    "write": ".writing",
}

__all__ = ["FORMATS", "Dataset", "Statistics", "describe", "long_tail_plot", "read", "write"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'treetop.data' has no attribute {name!r}")
