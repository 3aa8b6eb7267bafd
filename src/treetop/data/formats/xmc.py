"""The Extreme Classification Repository's sparse text format.

The first line is ``examples features labels``; then every example is a line ``label,label feature:value …``
with ids from 0. The data have a feature matrix and labels named "0", "1", …, but no texts.

The native core parses and prints a block of lines at a time, so that the whole file is never in memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ... import _native
from ...errors import DataError
from ...machine import thread_count
from ...sparse import csr_arrays
from ...strings import Strings
from ...units import counted
from ..dataset import Dataset
from ..files import Input, Output
from ..matrices import label_matrix
from .examples import check_labelled
from .options import ReadOptions, WriteOptions

HEADER = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)\s*")
_LARGEST = 2**31 - 1
_ENTRIES = 1 << 20
"""Entries printed at a time."""
_COMPLAINTS = {
    "label list": "{word!r} is not a list of label numbers such as 3,17",
    "feature": "{word!r} is not a feature with a finite value such as 12:0.5",
    "label range": "label {id} is out of range: the header declares labels 0…{last_label}",
    "feature range": "feature {id} is out of range: the header declares features 0…{last_feature}",
}


def read(source: Input, options: ReadOptions) -> Dataset:
    header = HEADER.fullmatch(next(source.lines(), (1, ""))[1])
    if header is None:
        raise DataError(f"{source.name} line 1: the header must be three numbers: examples features labels")
    rows, features, labels = (int(number) for number in header.groups())
    if not rows:
        raise DataError(f"{source.name}: has no examples; choose another file")
    if max(rows, features, labels) > _LARGEST:
        raise DataError(f"{source.name} line 1: no number of the header may be larger than {_LARGEST:,}")
    X, Y = _Rows(features), _Rows(labels)
    line = 2
    for block in source.blocks():
        text = np.frombuffer(block, np.uint8)
        parsed = _native.parse_xmc(text, rows - X.count, features, labels, thread_count(0))
        if isinstance(parsed, _native.XmcFault):
            raise _complaint(source, line, bytes(block), parsed, features, labels)
        X.append(*parsed[:3])
        Y.append(*parsed[3:], np.ones(len(parsed[4]), np.float32))
        line += block.count(b"\n")
    if X.count != rows:
        declared = counted(rows, "example")
        raise DataError(f"{source.name}: the header declares {declared} but the file has {X.count:,}; fix it")
    given = label_matrix(Y.build(), source.name)
    given.data[:] = 1  # a label that is repeated in a line counts once
    check_labelled(source.name, given.nnz, options.need_labels)
    return Dataset(labels=Strings.numbers(labels), X=X.build(), Y=given, source=source.name)


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    X = dataset.X
    if X is None:
        raise DataError("xmc files have features, and this data set has only texts; write jsonl instead")
    if dataset.labels != Strings.numbers(len(dataset.labels)):
        raise DataError(
            f"xmc files number their labels and have no names such as {dataset.labels[0]!r}; write pecos"
        )
    Y = dataset.Y if dataset.Y is not None else sparse.csr_matrix((len(dataset), len(dataset.labels)))
    file = output.binary(path)
    file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
    arrays = (*csr_arrays(X), *csr_arrays(Y)[:2])
    ends = arrays[0] + arrays[3]
    begin = 0
    while begin < len(dataset):
        end = max(int(np.searchsorted(ends, ends[begin] + _ENTRIES, side="right")) - 1, begin + 1)
        file.write(_native.print_xmc(*arrays, begin, end, thread_count(0)))
        begin = end


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
        indptr, indices, data = map(_joined, self._parts)
        return sparse.csr_matrix((data, indices, indptr), shape=(self.count, self._columns))


def _joined(parts: list[npt.NDArray]) -> npt.NDArray:
    """One array. Each part is freed once it is copied, so that the data are not held twice."""
    whole = np.empty(sum(map(len, parts)), parts[0].dtype)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def _complaint(
    source: Input, first: int, block: bytes, fault: _native.XmcFault, features: int, labels: int
) -> DataError:
    """The error for a fault in a block that begins with line ``first`` of the file."""
    number = first + fault.line
    end = block.find(b"\n", fault.end)
    source.decoded(block[block.rfind(b"\n", 0, fault.begin) + 1 : end if end >= 0 else None], number)
    word = block[fault.begin : fault.end].decode()
    message = _COMPLAINTS[fault.kind].format(
        word=word[:40],
        id=word[:40].lstrip("0") or "0",
        last_feature=features - 1,
        last_label=labels - 1,
    )
    return DataError(f"{source.name} line {number}: {message}")
