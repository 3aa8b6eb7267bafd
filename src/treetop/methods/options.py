"""Options that differ between methods, taken from their signatures."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

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


def rows_of(options: Mapping[str, Any], rows: npt.NDArray[np.int64], count: int) -> dict[str, Any]:
    """Options of a training on some ``rows`` of ``count`` examples: their matrices are split likewise."""
    return {
        name: value[rows] if sparse.issparse(value) and value.shape[0] == count else value
        for name, value in options.items()
    }
