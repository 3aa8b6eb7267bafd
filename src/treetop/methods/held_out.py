"""Training examples held out for validation, calibration and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..data import Dataset
from ..errors import DataError

Rows = npt.NDArray[np.int64]


def held_out_rows(dataset: Dataset, share: float, seed: int, purpose: str) -> tuple[Rows, Rows]:
    """Rows to train on and rows to hold out: whole groups where the examples have groups.

    Label texts stay in the training set.
    """
    groups = None if dataset.groups is None else dataset.group_codes()
    try:
        kept, held_out = dataset.hold_out(share, seed, groups)
    except DataError as error:
        raise DataError(f"{dataset.source}: cannot hold out examples for the {purpose} ({error})") from None
    assert dataset.Y is not None
    for rows in (kept, held_out):
        if dataset.Y[rows].nnz == 0:
            raise DataError(
                f"{dataset.source}: too few examples have labels to hold some out for the {purpose}: add"
                " labelled examples, or turn it off"
            )
    return kept, held_out


def rows_of(options: Mapping[str, Any], rows: Rows, count: int) -> dict[str, Any]:
    """Options of a training on some ``rows`` of ``count`` examples: their matrices are split likewise."""
    return {
        name: value[rows] if sparse.issparse(value) and value.shape[0] == count else value
        for name, value in options.items()
    }


def with_weight(dataset: Dataset, options: Mapping[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """Leaves out the examples with weight 0."""
    if dataset.weights is None or dataset.weights.all():
        return dataset, dict(options)
    assert dataset.Y is not None
    rows = np.flatnonzero(dataset.weights)
    if dataset.Y[rows].nnz == 0:
        raise DataError(f"{dataset.source}: the weights of all labelled examples are zero: raise some")
    return dataset[rows], rows_of(options, rows, len(dataset))


def held_out_if_possible(dataset: Dataset, share: float, seed: int) -> tuple[Rows, Rows]:
    """Like `held_out_rows`, but a single example stays; examples of a single group are drawn one by one."""
    examples = dataset.example_rows()
    if len(examples) < 2:
        return np.arange(len(dataset)), np.zeros(0, np.int64)
    groups = None
    if dataset.groups is not None:
        codes = dataset.group_codes()
        groups = codes if codes[examples].max() > 0 else None
    return dataset.hold_out(share, seed, groups)
