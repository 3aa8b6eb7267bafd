"""Search spaces as text and as a method's settings take them.

On the command line and in JSON: ``96,192,384,768`` for values, ``0.25..8:log`` for a range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..config import Config, value_text
from ..errors import ConfigError
from ..search_space import Range, Values

_RANGE = re.compile(r"(?P<low>[^,]+?)\.\.(?P<high>[^,:]+)(?P<log>:log)?")


def parse_values(text: str) -> Values:
    """``96,192`` → ``("96", "192")``; ``1..8`` and ``1..8:log`` → a `Range`."""
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return tuple(piece.strip() for piece in text.split(",") if piece.strip())
    return Range(_number(found["low"]), _number(found["high"]), found["log"] is not None)


def space_of(config: Config, named: Mapping[str, Values]) -> dict[str, Values]:
    """``named`` with the full names of the settings, and with values as ``config`` converts them."""
    return {config.full_name(name): _converted(config, name, values) for name, values in named.items()}


def describe(values: Values) -> str | list[str]:
    """A range as text, or values as a list of texts, ready for JSON."""
    return str(values) if isinstance(values, Range) else [value_text(value) for value in values]


def _converted(config: Config, name: str, values: Values) -> Values:
    full = config.full_name(name)

    def convert(value: Any) -> Any:
        try:
            return config.replace_settings({full: value}).value(full)
        except ConfigError as error:
            raise ConfigError(f"{full}={value_text(value)} cannot be tried: {error}") from None

    if not isinstance(values, Range):
        if not values:
            raise ConfigError(f"{full} has no values to try: list some, or give a range")
        return tuple(dict.fromkeys(map(convert, values)))
    ends = convert(values.low), convert(values.high)
    if any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in ends):
        raise ConfigError(f"{full} is not a number, so it has no range: list the values to try")
    return Range(*ends, values.log)


def _number(text: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ConfigError(f"a range needs two numbers, such as 1..8, not {text!r}")
