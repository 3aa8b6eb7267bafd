"""The settings that tuning searches, with values to try or a range. Each method names its own.

    {"cnn.filters": (96, 192, 384, 768), "linear.cost_positive": Range(0.25, 8, log=True)}

`treetop.tuning.space` reads and writes them as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import ConfigError


@dataclass(frozen=True)
class Range:
    """Any number from ``low`` to ``high``; with ``log``, drawn evenly on a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"a range must go from a lower to a higher number, not {self}")
        if self.log and self.low <= 0:
            raise ConfigError(f"a logarithmic range must be above 0, not {self}: raise its lower end")

    def __str__(self) -> str:
        return f"{self.low}..{self.high}{':log' if self.log else ''}"


Values: TypeAlias = "tuple[Any, ...] | Range"
SearchSpace: TypeAlias = "dict[str, Values]"
