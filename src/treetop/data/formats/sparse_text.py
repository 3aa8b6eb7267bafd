"""Rows of ``label,label column:value column:value``, as several formats write sparse matrices.

The native core parses a block of lines at a time, so that the whole file is never in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ... import _native
from ...errors import DataError
from ...machine import thread_count
from ..files import Input

LARGEST = 2**31 - 1
"""The largest number of rows or columns."""


@dataclass(frozen=True)
class Sizes:
    """What a header declares. Without one, `rows` is 0 and the columns are as many as can be."""

    rows: int = 0
    """Empty lines after so many rows are skipped."""
    features: int = LARGEST
    labels: int = LARGEST

    def checked(self, name: str) -> Sizes:
        """Raises an error for a header that no file can have."""
        if not self.rows:
            raise DataError(f"{name}: has no examples; choose another file")
        if max(self.rows, self.features, self.labels) > LARGEST:
            raise DataError(f"{name} line 1: no number of the header may be larger than {LARGEST:,}")
        return self


def read_rows(
    source: Input, sizes: Sizes, complaints: Mapping[str, str], *, first_line: int
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The features and the labels of all lines that `Input.lines` has not yielded.

    ``complaints``: the message for each kind of fault; ``first_line``: the number of the first line.
    """
    X, Y = _Rows(sizes.features), _Rows(sizes.labels)
    line = first_line
    for block in source.blocks():
        text = np.frombuffer(block, np.uint8)
        expected = max(sizes.rows - X.count, 0)
        parsed = _native.parse_xmc(text, expected, sizes.features, sizes.labels, thread_count(0))
        if isinstance(parsed, _native.XmcFault):
            raise _complaint(source, line, bytes(block), parsed, sizes, complaints)
        X.append(*parsed[:3])
        Y.append(*parsed[3:], np.ones(len(parsed[4]), np.float32))
        line += block.count(b"\n")
    return X.build(), Y.build()


def check_rows_declared(name: str, declared: str, rows: int, found: int) -> None:
    """Checks the number of rows in a header."""
    if rows != found:
        raise DataError(f"{name}: the header declares {declared} but the file has {found:,}; fix it")


class _Rows:
    """A CSR matrix that grows a block of rows at a time."""

    def __init__(self, columns: int) -> None:
        self.count = 0
        self._columns = columns
        self._entries = 0
        self._parts: tuple[list[npt.NDArray], ...] = ([np.zeros(1, np.int64)], [], [])

    def append(self, indptr: npt.NDArray, indices: npt.NDArray, data: npt.NDArray) -> None:
        for parts, part in zip(self._parts, (indptr[1:] + self._entries, indices, data), strict=True):
            parts.append(part)
        self.count += len(indptr) - 1
        self._entries += len(indices)

    def build(self) -> sparse.csr_matrix:
        kinds: tuple[type[np.generic], ...] = (np.int64, np.int32, np.float32)
        indptr, indices, data = map(_joined, self._parts, kinds)
        return sparse.csr_matrix((data, indices, indptr), shape=(self.count, self._columns))


def _joined(parts: list[npt.NDArray], kind: type[np.generic]) -> npt.NDArray:
    """One array. Each part is freed once it is copied, so that the data are not held twice."""
    whole = np.empty(sum(map(len, parts)), kind)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def _complaint(
    source: Input,
    first: int,
    block: bytes,
    fault: _native.XmcFault,
    sizes: Sizes,
    complaints: Mapping[str, str],
) -> DataError:
    """The error for a fault in a block that begins with line ``first`` of the file."""
    number = first + fault.line
    end = block.find(b"\n", fault.end)
    source.decoded(block[block.rfind(b"\n", 0, fault.begin) + 1 : end if end >= 0 else None], number)
    word = block[fault.begin : fault.end].decode()
    message = complaints[fault.kind].format(
        word=word[:40],
        id=word[:40].lstrip("0") or "0",
        last_feature=sizes.features - 1,
        last_label=sizes.labels - 1,
    )
    return DataError(f"{source.name} line {number}: {message}")
