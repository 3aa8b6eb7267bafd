"""Named arrays of models and checkpoints: prefixes of names, ``.npy`` files."""

from __future__ import annotations

import lzma
import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .regular_files import open_regular

UNREADABLE = (
    *(OSError, EOFError, MemoryError, OverflowError, RuntimeError),
    *(ValueError, TypeError, LookupError, AttributeError, SyntaxError),
    *(tokenize.TokenError, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)
"""What numpy and scipy raise for a file of arrays that is damaged, or is none."""


def read_array(path: Path, *, mapped: bool = False) -> npt.NDArray[Any]:
    """The array of an ``.npy`` file, as a read-only memory map if ``mapped``; raises one of `UNREADABLE`."""
    with warnings.catch_warnings(), open_regular(path) as file:
        warnings.simplefilter("ignore", RuntimeWarning)  # a shape whose size overflows
        array: npt.NDArray[Any] = np.load(
            path if mapped else file, "r" if mapped else None, allow_pickle=False
        )
    if not isinstance(array, np.ndarray) or not array.dtype.itemsize:
        raise ValueError("it is not an array of numbers")
    return array


def why(error: BaseException) -> str:
    """What one of `UNREADABLE` says, without names of objects in memory."""
    said = error.strerror if isinstance(error, OSError) else None
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "…", said or str(error) or type(error).__name__)


def with_prefix(prefix: str, arrays: Mapping[str, npt.NDArray]) -> dict[str, npt.NDArray]:
    """Names a part's arrays ``prefix.name``."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


class PartArrays(dict[str, npt.NDArray]):
    """The arrays of a part, which know what their names in the model begin with."""

    prefix = ""


def under_prefix(prefix: str, arrays: Mapping[str, npt.NDArray]) -> PartArrays:
    """The arrays named ``prefix.name``, as ``name``."""
    start = f"{prefix}."
    part = PartArrays((name[len(start) :], array) for name, array in arrays.items() if name.startswith(start))
    part.prefix = getattr(arrays, "prefix", "") + start
    return part


def write_array(file: BinaryIO, array: npt.NDArray) -> None:
    """Writes a contiguous array as ``.npy``. `np.save` would not report a full disk."""
    if array.dtype.hasobject:
        raise ValueError("a model holds arrays of numbers only")
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    file.write(array.reshape(-1).view(np.uint8).data)
