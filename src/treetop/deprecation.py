"""Public names of one version ago, which still work and say what they are called now."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """The next version removes the old name."""
    warnings.warn(f"{old} is deprecated: use {new}", FutureWarning, stacklevel=stacklevel)


def renamed_method(old: str, new: str) -> Callable[..., Any]:
    """A method that is a function now; ``new``: its module and name, and the object is its first argument."""
    module, _, name = new.rpartition(".")

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        warn_renamed(old, new)
        return getattr(importlib.import_module(module), name)(self, *arguments, **options)

    return call
