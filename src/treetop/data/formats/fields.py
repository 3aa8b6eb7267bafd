"""Fields and columns: which ones hold the text, and the error for a missing one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from typing import Any

from ...errors import DataError
from .options import Column

_SHOWN = 12


def text_fields(text: Column, there: Collection[str]) -> list[str]:
    """``"title,abstract"`` names two fields, unless one field has just that name."""
    name = str(text)
    return [name] if name in there else [part.strip() for part in name.split(",")]


def join_texts(parts: Collection[str]) -> str:
    """Several text fields as one text, each on its own line; empty ones are left out."""
    return "\n".join(part for part in parts if part)


def is_name(value: Any) -> bool:
    """Whether a value can name a label or an example: a string or a finite number."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def weight_of(value: Any, place: str, name: Column) -> float:
    """The weight of an example: a finite number of at least 0, perhaps as text."""
    try:
        weight = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        weight = math.nan
    if isinstance(value, bool) or not 0 <= weight < math.inf:
        raise DataError(f"{place}: the weight in {str(name)!r} must be a number of at least 0, not {value!r}")
    return weight


def missing_field(
    place: str, wanted: Column, there: Collection[str], option: str, kind: str = "field"
) -> DataError:
    """``train.jsonl line 17: no field 'labels' (fields: id, tags, text); name it with --labels``."""
    names = [name if len(name) <= 40 else name[:39] + "…" for name in sorted(there)]
    listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    near = difflib.get_close_matches(str(wanted), [name for name in there if name != str(wanted)], n=1)
    hint = f"did you mean {near[0]!r}? Name it with {option}" if near else f"name it with {option}"
    return DataError(f"{place}: no {kind} {wanted!r} ({kind}s: {listed or 'none'}); {hint}")
