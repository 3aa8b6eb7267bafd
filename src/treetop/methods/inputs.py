"""Inputs of `fit`, `predict` and `evaluate` as a `Dataset`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..data.columns import checked_texts, is_frame, is_matrix
from ..data.frame_columns import TextColumns
from ..errors import DataError
from ..strings import Strings

Inputs: TypeAlias = "str | Sequence[str] | Dataset | np.ndarray | Any"
"""One text, texts, a `Dataset`, a feature matrix (dense or sparse), or a pandas or polars frame or column."""

_NO_LABELS = Strings.of([])
_HERE = "the input"


def as_dataset(inputs: Inputs, text: TextColumns | None = None) -> Dataset:
    """Inputs without labels; ``text`` names the text columns of a frame."""
    if _holds_texts(inputs, text):
        return Dataset.from_frame(inputs, text=text or "text", labels=None, source=_HERE)
    if isinstance(inputs, Dataset):
        return inputs
    if isinstance(inputs, str):
        inputs = [inputs]
    if is_matrix(inputs):
        return Dataset(labels=_NO_LABELS, X=inputs, source=_HERE)
    return Dataset(labels=_NO_LABELS, texts=Strings.of(checked_texts(inputs, _HERE)), source=_HERE)


def training_set(data: Dataset | Inputs, labels: Any, text: TextColumns | None = None) -> Dataset:
    """Training examples; raises an error without examples or labels."""
    dataset = labelled_set(data, labels, text)
    if len(dataset) == 0:
        raise DataError(f"{dataset.source}: there are no training examples: add some")
    if dataset.Y is None or dataset.Y.nnz == 0:
        raise DataError(f"{dataset.source}: none of the {len(dataset):,} examples has a label: add labels")
    return dataset


def weighted_rows(dataset: Dataset) -> npt.NDArray[np.int64] | None:
    """The training examples with a weight above 0; None: all."""
    if dataset.weights is None or dataset.weights.all():
        return None
    assert dataset.Y is not None
    rows = np.flatnonzero(dataset.weights)
    if dataset.Y[rows].nnz == 0:
        raise DataError(f"{dataset.source}: the weights of all labelled examples are zero: raise some")
    return rows


def labelled_set(data: Dataset | Inputs, labels: Any, text: TextColumns | None = None) -> Dataset:
    """Examples with their labels: in the data, given next to it, or in the column that ``labels`` names."""
    if _holds_texts(data, text):
        if labels is None or isinstance(labels, str):
            return Dataset.from_frame(data, text=text or "text", labels=labels or "labels")
        return Dataset.from_texts(as_dataset(data, text).texts or (), labels)
    if isinstance(data, Dataset):
        if labels is not None:
            raise DataError("give labels inside the Dataset or next to plain texts, not both")
        return data
    if labels is None:
        raise DataError("the examples have no labels: give their labels too")
    return Dataset.from_matrices(data, labels) if is_matrix(data) else Dataset.from_texts(data, labels)


def _holds_texts(data: Any, text: TextColumns | None) -> bool:
    """Whether it is a frame with texts; a frame of numbers only counts if ``text`` names its columns."""
    if text is not None and not is_frame(data):
        raise DataError("text= names columns of a frame, but the input is not one: leave it out")
    return is_frame(data) and (text is not None or "text" in data.columns or not is_matrix(data))
