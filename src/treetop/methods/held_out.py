"""Training examples held out for validation, calibration and the like."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
