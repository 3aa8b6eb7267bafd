"""``label::2.0``: a label and its relevance, as in PECOS's text2text, wherever labels are text.

Whatever ends in ``::`` and a number of at least 0 is a label with its relevance; any other ``::`` belongs to
the label, whose relevance is 1. So a label whose own name ends in that way, such as ``iso::9001``, is written
``iso::9001::1``.
"""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse

from ...errors import DataError
from ...sparse import binarize
from ...strings import Strings

_LABEL = re.compile(r"(?s)(?P<name>.+)::(?P<relevance>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)")
NUMERALS = frozenset(":.+-e0123456789")
"""Characters behind a name."""


def split_relevances(
    names: Strings, Y: sparse.csr_matrix, source: str
) -> tuple[Strings, sparse.csr_matrix, sparse.csr_matrix | None]:
    """The labels, the label matrix and the relevances of labels as they were read, if they have any."""
    matches = {
        column: match
        for column, name in enumerate(names)
        if "::" in name and (match := _LABEL.fullmatch(name)) is not None
    }
    if not matches:
        return names, Y, None
    alone = [matches[column]["name"] if column in matches else name for column, name in enumerate(names)]
    relevance = np.ones(len(alone), np.float32)
    with np.errstate(over="ignore"):  # infinity, which is an error in a `Dataset`
        relevance[list(matches)] = [float(match["relevance"]) for match in matches.values()]
    labels = sorted(set(alone))
    place = {name: number for number, name in enumerate(labels)}
    columns = np.array([place[name] for name in alone], np.int32)
    R = sparse.csr_matrix(
        (relevance[Y.indices], columns[Y.indices], Y.indptr), shape=(Y.shape[0], len(labels))
    )
    R.sort_indices()
    rows = np.repeat(np.arange(R.shape[0]), np.diff(R.indptr))
    twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(R.indices) == 0))
    if len(twice):
        raise DataError(
            f"{source}: example {rows[twice[0]] + 1} has the label {labels[R.indices[twice[0]]]!r} with two"
            " relevances; give one"
        )
    return Strings.of(labels), binarize(R), R


def with_relevance(name: str, relevance: np.float32) -> str:
    """The label as it is written with its relevance."""
    return f"{name}::{relevance}"


def as_written(name: str) -> str:
    """The label as it is written without a relevance."""
    return f"{name}::1" if "::" in name and _LABEL.fullmatch(name) else name
