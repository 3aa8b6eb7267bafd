"""The former name of `treetop.ablations`, kept for one version."""

from __future__ import annotations

from typing import Any

from . import ablations
from .deprecation import warn_renamed

_RENAMED = {"Study": "Ablation", "load_study": "load_ablation", "study_names": "ablation_names"}


def __getattr__(name: str) -> Any:
    new = _RENAMED.get(name, name)
    if new.startswith("_") or not hasattr(ablations, new):
        raise AttributeError(f"module 'treetop.studies' has no attribute {name!r}")
    warn_renamed(f"treetop.studies.{name}", f"treetop.ablations.{new}")
    return getattr(ablations, new)
