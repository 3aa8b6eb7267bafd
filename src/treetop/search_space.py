"""What tuning tries: for every setting that matters some values, or a range. Each method names its own.

    {"cnn.filters": (96, 192, 384, 768), "linear.cost_positive": Range(0.25, 8, log=True)}

As text, for the command line: ``96,192,384,768`` and ``0.25..8:log``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .config import Config, value_text
from .errors import ConfigError

_RANGE = re.compile(r"(?P<low>[^,]+?)\.\.(?P<high>[^,:]+)(?P<log>:log)?")


@dataclass(frozen=True)
class Range:
    """Any number from ``low`` to ``high``; with ``log`` each factor is as likely as any other."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"a range must rise, not {self}")
        if self.log and self.low <= 0:
            raise ConfigError(f"a range of logarithms must lie above 0, not {self}")

    def __str__(self) -> str:
        return f"{self.low}..{self.high}{':log' if self.log else ''}"


Values: TypeAlias = "tuple[Any, ...] | Range"
SearchSpace: TypeAlias = "dict[str, Values]"


def parse_values(text: str) -> Values:
    """``96,192`` → ``("96", "192")``; ``1..8`` and ``1..8:log`` → a `Range`."""
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return tuple(piece.strip() for piece in text.split(",") if piece.strip())
    return Range(_number(found["low"]), _number(found["high"]), found["log"] is not None)


def space_of(config: Config, named: Mapping[str, Values]) -> dict[str, Values]:
    """``named`` with full names, and with values as ``config`` takes them."""
    return {config.full_name(name): _taken(config, name, values) for name, values in named.items()}


def describe(values: Values) -> str | list[str]:
    """Plain text, or a list of texts, ready for JSON."""
    return str(values) if isinstance(values, Range) else [value_text(value) for value in values]


def _taken(config: Config, name: str, values: Values) -> Values:
    full = config.full_name(name)

    def taken(value: Any) -> Any:
        try:
            return config.replace_settings({full: value}).value(full)
        except ConfigError as error:
            raise ConfigError(f"{full} cannot be tried with {value_text(value)}: {error}") from None

    if not isinstance(values, Range):
        if not values:
            raise ConfigError(f"{full} needs values to try")
        return tuple(dict.fromkeys(map(taken, values)))
    ends = taken(values.low), taken(values.high)
    if any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in ends):
        raise ConfigError(f"{full} is not a number: name the values to try")
    return Range(*ends, values.log)


def _number(text: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ConfigError(f"a range wants two numbers, as 1..8, not {text!r}")
