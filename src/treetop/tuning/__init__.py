"""A method, its search space and a `Dataset` → `Tuning`, trials and the best settings."""

from __future__ import annotations

from .outcome import Trial, Tuning
from .search import tune

__all__ = ["Trial", "Tuning", "tune"]
