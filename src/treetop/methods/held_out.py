"""Examples that a training holds out, to learn something of a model on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..errors import DataError


def held_out_rows(
    dataset: Dataset, share: float, seed: int, purpose: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows to learn from and rows to hold out: whole groups where the examples have groups.

    Texts of labels are only learned from.
    """
    groups = None if dataset.groups is None else dataset.group_codes()
    try:
        kept, held_out = dataset.hold_out(share, seed, groups)
    except DataError as error:
        raise DataError(f"{dataset.source}: nothing can be held out for the {purpose} ({error})") from None
    assert dataset.Y is not None
    for rows in (kept, held_out):
        if dataset.Y[rows].nnz == 0:
            raise DataError(
                f"{dataset.source}: too few examples have labels to hold some out for the {purpose}"
            )
    return kept, held_out
