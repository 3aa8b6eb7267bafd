"""Options that differ between methods, taken from their signatures."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ConfigError


def keywords(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters with a default."""
    parameters = inspect.signature(function).parameters.values()
    return [item.name for item in parameters if item.default is not inspect.Parameter.empty]


def check_options(options: Iterable[str], known: list[str], what: str) -> None:
    """Raises an error for options that are not ``known``."""
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its options: {', '.join(known) or 'none'}"
            raise ConfigError(f"{what} has no option {name!r}; {hint}")
