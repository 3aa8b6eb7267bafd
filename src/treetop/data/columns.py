"""Columns of texts and labels as Python has them: lists, arrays, pandas and polars, with missing values.

Neither pandas nor polars is imported: whoever made a frame has imported its library.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError
from ..strings import Strings

_LIBRARIES = ("pandas", "polars")


def is_frame(value: Any) -> bool:
    """A pandas or polars frame; a lazy one is rejected."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(value, polars.LazyFrame):
        raise DataError("a lazy frame has no rows yet: pass frame.collect()")
    return _is_a(value, "DataFrame")


def is_series(value: Any) -> bool:
    """A pandas or polars column."""
    return _is_a(value, "Series")


def is_matrix(value: Any) -> bool:
    """Whether it is sparse, an array of numbers, or a frame of numbers only."""
    if sparse.issparse(value):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    return is_frame(value) and holds_numbers(value)


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or pandas' NA or NaT."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def holds_numbers(frame: Any) -> bool:
    """Whether every column has numbers or Booleans."""
    if _is_polars(frame):
        return all(kind.is_numeric() or str(kind) == "Boolean" for kind in frame.dtypes)
    is_numeric = sys.modules["pandas"].api.types.is_numeric_dtype
    return all(is_numeric(kind) for kind in frame.dtypes)


def numbers_of(frame: Any) -> sparse.coo_matrix | npt.NDArray[np.float32]:
    """A frame of numbers as a matrix; missing values become NaN."""
    if _is_polars(frame):
        found: npt.NDArray[np.float32] = frame.cast(sys.modules["polars"].Float32).to_numpy()
        return found
    sparse_kind = sys.modules["pandas"].SparseDtype
    if len(frame.columns) and all(isinstance(kind, sparse_kind) for kind in frame.dtypes):
        return frame.sparse.to_coo()
    dense: npt.NDArray[np.float32] = frame.to_numpy(dtype=np.float32, na_value=np.nan)
    return dense


def column_names(frame: Any) -> list[str]:
    """The names of a frame's columns; numbers become text."""
    return [str(name) for name in frame.columns]


def column_at(frame: Any, position: int) -> list[Any]:
    """The values of one column."""
    return values_of(frame.get_columns()[position] if _is_polars(frame) else frame.iloc[:, position])


def values_of(series: Any) -> list[Any]:
    """The values of a pandas or polars column; lists stay lists."""
    values: list[Any] = series.to_list()
    return values


def place_of(values: Any, row: int) -> str:
    """``row 3``, or ``row 3 (index 'b17')`` where pandas has an index of its own."""
    index = getattr(values, "index", None)
    if not _is_a(values, "DataFrame", "Series") or index is None or _is_polars(values) or index[row] == row:
        return f"row {row}"
    return f"row {row} (index {index[row]!r})"


def checked_texts(texts: Any, source: str) -> Strings | list[str]:
    """Texts as a list; any other value is rejected, with its row."""
    if isinstance(texts, Strings):
        return texts
    if isinstance(texts, str) or not isinstance(texts, Iterable) or is_frame(texts):
        raise DataError(
            f"{source}: {type(texts).__name__} is not a list of texts or a matrix; pass one of these"
        )
    listed: list[Any] = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            what = f"missing ({text})" if is_missing(text) else f"{type(text).__name__}, not a text"
            raise DataError(f"{source}: {place_of(texts, row)} is {what}; drop it, or make it a string")
    return listed


def _is_polars(value: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(value, (polars.DataFrame, polars.Series))


def _is_a(value: Any, *kinds: str) -> bool:
    modules = (sys.modules.get(library) for library in _LIBRARIES)
    return any(
        module is not None and isinstance(value, getattr(module, kind))
        for module in modules
        for kind in kinds
    )
