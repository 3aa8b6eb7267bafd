"""treetop: the few right labels out of thousands to millions.

Names are loaded on first use, so that ``import treetop`` and ``treetop --help`` stay instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .data import Dataset as Dataset
    from .methods import load as load
    from .methods import make as make
    from .methods.xr_linear import XRLinear as XRLinear
    from .strings import Strings as Strings
    from .tree import LabelTree as LabelTree

_HOMES = {
    "Dataset": ".data",
    "LabelTree": ".tree",
    "XRLinear": ".methods.xr_linear",
    "load": ".methods",
    "make": ".methods",
    "Strings": ".strings",
}

__all__ = ["Dataset", "LabelTree", "Strings", "XRLinear", "__version__", "load", "make"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'treetop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
