"""pandas and polars frames → `Dataset`."""

from __future__ import annotations

from typing import Any

from ..errors import DataError
from .columns import is_frame
from .dataset import Dataset
from .frame_columns import TextColumns


def labelled(data: Any, what: str, *, text: TextColumns | None = None, labels: str | None = None) -> Dataset:
    """A `Dataset`, or a frame as one; ``what`` begins the error for anything else."""
    if is_frame(data):
        return Dataset.from_frame(data, text=text or "text", labels=labels or "labels")
    if not isinstance(data, Dataset):
        raise DataError(f"{what} a labelled Dataset, or a frame of texts and labels")
    if text is not None or labels is not None:
        raise DataError("text= and labels= name the columns of a frame; leave them out for a Dataset")
    return data
