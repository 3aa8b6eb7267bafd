"""treetop: the few right labels out of thousands to millions.

Names are loaded on first use, so that ``import treetop`` and ``treetop --help`` stay instant.
"""

from __future__ import annotations

import importlib
from typing import Any

from .registry import METHODS

__version__ = "0.1.0"

_HOMES = {
    "ConfigError": ".errors",
    "DataError": ".errors",
    "Dataset": ".data",
    "Explanation": ".explanation",
    "LabelTree": ".tree",
    "ModelError": ".errors",
    "Predictions": ".predictions",
    "Strings": ".strings",
    "TreetopError": ".errors",
    "Variant": ".comparison",
    "compare": ".comparison",
    "evaluate": ".metrics",
    "load": ".methods",
    "load_pecos": ".methods.pecos",
    "make": ".methods",
    "read": ".data",
    "tune": ".tuning",
    "write": ".data",
}
"""Where each name is. The stub ``__init__.pyi`` is made from here: ``make stub``."""
_HOMES |= {entry.class_name: f".methods.{entry.module}" for entry in METHODS.values()}

__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(importlib.import_module(_HOMES[name], __name__), name)
        except ModuleNotFoundError as error:
            from .errors import explain_missing

            raise explain_missing(error, name) from None
    raise AttributeError(f"module 'treetop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
