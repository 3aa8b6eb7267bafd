"""LIBSVM's format for several labels: ``label,label index:value index:value`` on each line, without a header.

Indices are columns as they are: LIBSVM counts from 1, so column 0 is then empty; files that count from 0 are
read just so. The file does not say how many columns there are: a model takes as many as in its training
examples (`Dataset.open_width`). Empty lines are skipped.
"""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse

from ...errors import DataError
from ...strings import Strings
from ..dataset import Dataset
from ..files import Input
from ..matrices import label_matrix
from .examples import check_labelled
from .options import ReadOptions
from .sparse_text import Sizes, read_rows
from .xmc import COMPLAINTS

LINE = re.compile(r"([0-9]+(,[0-9]+)*)?(\s+[0-9]+:[-+.0-9eE]+)+\s*")
"""A line with features that can only be in this format."""
_COMPLAINTS = COMPLAINTS | {
    "label range": "label {id} is too large",
    "feature range": "feature {id} is too large",
}


def read(source: Input, options: ReadOptions) -> Dataset:
    X, Y = read_matrices(source)
    if not X.shape[0]:
        raise DataError(f"{source.name}: has no examples; choose another file")
    check_labelled(source.name, Y.nnz, options.need_labels)
    used, codes = np.unique(Y.indices, return_inverse=True)
    Y = sparse.csr_matrix((Y.data, codes, Y.indptr), shape=(X.shape[0], len(used)))
    given = label_matrix(Y, source.name)
    given.data[:] = 1  # a label that is repeated in a line counts once
    labels = Strings.of(map(str, used.tolist()))
    return Dataset(labels=labels, X=X, Y=given, source=source.name, open_width=True)


def read_matrices(source: Input, rows: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Features up to the last column that is used, and labels; the first ``rows`` lines may be empty."""
    X, Y = read_rows(source, Sizes(rows), _COMPLAINTS, first_line=1)
    columns = int(X.indices.max(initial=-1)) + 1
    return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], columns)), Y
