"""Public names of the previous version, which still work, with a warning that gives the new name."""

from __future__ import annotations

import importlib
import operator
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parent) + os.sep


class RenamedWarning(FutureWarning):
    """Use of a name from the previous version, which the next version will remove."""


def warn_renamed(old: str, advice: str) -> None:
    """Warns the caller of the package that ``old`` is deprecated."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{old} is deprecated: {advice}", RenamedWarning, stacklevel=level)


def renamed_attribute(old: str, new: str) -> Any:
    """A property with the old name of the attribute ``new``, perhaps a dotted one."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", f"use {new}")
        return operator.attrgetter(new)(self)

    return property(read, doc=f"The old name of `{new}`.")


def renamed_method(old: str, new: str) -> Callable[..., Any]:
    """A method that is a function now; ``new``: its module and name, and the object is its first argument."""
    module, _, name = new.rpartition(".")

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        warn_renamed(old, f"use {new}")
        return getattr(importlib.import_module(module), name)(self, *arguments, **options)

    return call


def renamed_names(old_module: str, new_module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` for its old ``names``, which are now those of ``new_module``."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {old_module!r} has no attribute {name!r}")
        warn_renamed(f"{old_module}.{name}", f"use {new_module}.{names[name]}")
        return getattr(importlib.import_module(new_module), names[name])

    return find
