"""The Extreme Classification Repository's sparse text format.

The first line is ``examples features labels``; then every example is a line ``label,label feature:value …``
with ids from 0. The data have a feature matrix and labels named "0", "1", …, but no texts.

The native core parses and prints a block of lines at a time, so that the whole file is never in memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
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
from .examples import check_labelled, numbered_labels
from .options import ReadOptions, WriteOptions
from .sparse_text import Sizes, check_rows_declared, read_rows

HEADER = re.compile(r"\s*([0-9]{1,30})\s+([0-9]{1,30})\s+([0-9]{1,30})\s*")
_ENTRIES = 1 << 20
"""Entries printed at a time."""
COMPLAINTS = {
    "label list": "{word!r} is not a list of label numbers such as 3,17",
    "feature": "{word!r} is not a feature with a finite value such as 12:0.5",
    "label range": "label {id} is out of range: the header declares labels 0…{last_label}",
    "feature range": "feature {id} is out of range: the header declares features 0…{last_feature}",
}


def read(source: Input, options: ReadOptions) -> Dataset:
    X, Y = read_matrices(source)
    check_labelled(source.name, Y.nnz, options.need_labels)
    return Dataset(labels=numbered_labels(Y, source.name), X=X, Y=Y, source=source.name)


def read_matrices(source: Input) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The features and the labels of a whole file."""
    header = HEADER.fullmatch(next(source.lines(), (1, ""))[1])
    if header is None:
        raise DataError(
            f"{source.name} line 1: the header must be three numbers: examples features labels; if there is"
            " none, give --format libsvm"
        )
    sizes = Sizes(*map(int, header.groups())).checked(source.name)
    X, Y = read_rows(source, sizes, COMPLAINTS, first_line=2)
    check_rows_declared(source.name, counted(sizes.rows, "example"), sizes.rows, X.shape[0])
    given = label_matrix(Y, source.name)
    given.data[:] = 1  # a label that is repeated in a line counts once
    return X, given


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
