"""Holding out a share of the examples: for validation, calibration, tuning and comparisons.

The rules are the same for all: examples of a group stay together, texts of labels stay in the training set,
and examples with labels are on both sides. `Dataset.split` only draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..units import counted

if TYPE_CHECKING:
    from .dataset import Dataset

Rows = npt.NDArray[np.int64]


def hold_out(dataset: Dataset, share: float, seed: int, purpose: str) -> tuple[Dataset, Dataset]:
    """The examples to train on and the held-out ones; ``purpose`` is what they are for, in messages."""
    kept, held_out = held_out_rows(dataset, share, seed, purpose)
    return dataset[kept], dataset[held_out]


def held_out_rows(dataset: Dataset, share: float, seed: int, purpose: str) -> tuple[Rows, Rows]:
    """The rows of the two parts of `hold_out`."""
    try:
        kept, held_out = _drawn(dataset, share, seed, by_group=dataset.groups is not None)
    except DataError as error:
        raise DataError(f"{dataset.source}: cannot hold out examples for the {purpose} ({error})") from None
    for rows in (kept, held_out):
        if dataset.Y is None or dataset.Y[rows].nnz == 0:
            raise DataError(
                f"{dataset.source}: too few examples have labels to hold some out for the {purpose}: add"
                " labelled examples, or give separate ones for it"
            )
    return kept, held_out


def held_out_if_possible(dataset: Dataset, share: float, seed: int) -> tuple[Rows, Rows]:
    """Like `held_out_rows`, but a single example stays; examples of a single group are drawn one by one.

    Whether both sides have labels is left to the caller.
    """
    examples = dataset.example_rows()
    if len(examples) < 2:
        return np.arange(len(dataset)), np.zeros(0, np.int64)
    several_groups = dataset.groups is not None and len(np.unique(dataset.group_codes()[examples])) > 1
    return _drawn(dataset, share, seed, by_group=several_groups)


def _drawn(dataset: Dataset, share: float, seed: int, *, by_group: bool) -> tuple[Rows, Rows]:
    examples = dataset.example_rows()
    groups = dataset.group_codes()[examples] if by_group else None
    _, drawn = split_rows(len(examples), share, seed, groups)
    return np.setdiff1d(np.arange(len(dataset)), examples[drawn]), examples[drawn]


def split_rows(rows: int, fraction: float, seed: int, groups: Rows | None = None) -> tuple[Rows, Rows]:
    """Row numbers of the larger and the smaller part, each in ascending order."""
    if not 0 < fraction < 1:
        raise DataError(f"a split fraction must be between 0 and 1, not {fraction}")
    if rows < 2:
        raise DataError(f"cannot split {counted(rows, 'example')} into two parts; at least two are needed")
    rng = np.random.default_rng(seed)
    wanted = min(max(round(rows * fraction), 1), rows - 1)
    held_out = np.zeros(rows, bool)
    if groups is None:
        held_out[rng.permutation(rows)[:wanted]] = True
    else:
        sizes = np.bincount(groups)
        if len(sizes) < 2:
            raise DataError("cannot split by group: all examples are in one group; split without groups")
        order = rng.permutation(len(sizes))
        before = np.cumsum(sizes[order]) - sizes[order]
        chosen = order[before < wanted]
        chosen = chosen[: len(sizes) - 1]
        held_out = np.isin(groups, chosen)
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
