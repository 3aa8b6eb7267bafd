"""What `fit` and `predict` may be given, as a `Dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..data import Dataset
from ..errors import DataError
from ..strings import Strings

Inputs: TypeAlias = "str | Sequence[str] | Dataset | np.ndarray | Any"
"""One text, texts, a `Dataset`, or a feature matrix (dense or sparse)."""

_NO_LABELS = Strings.of([])


def as_dataset(inputs: Inputs) -> Dataset:
    """What is to be labelled."""
    if isinstance(inputs, Dataset):
        return inputs
    if isinstance(inputs, str):
        inputs = [inputs]
    if sparse.issparse(inputs) or (isinstance(inputs, np.ndarray) and inputs.dtype.kind in "fiub"):
        return Dataset(labels=_NO_LABELS, X=inputs, source="the input")
    texts = Strings.of(_checked_texts(inputs))
    return Dataset(labels=_NO_LABELS, texts=texts, source="the input")


def _checked_texts(texts: Any) -> Strings | list[str]:
    if isinstance(texts, Strings):
        return texts
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise DataError(f"the input: a {type(texts).__name__} is not a list of texts or a matrix")
    listed: list[str] = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(f"the input: row {row} is a {type(text).__name__}, not a text")
    return listed


def training_set(data: Dataset | Inputs, labels: Any) -> Dataset:
    """What is to be learned from; refused where there is nothing."""
    if isinstance(data, Dataset):
        if labels is not None:
            raise DataError("give labels inside the Dataset or beside plain texts, not both")
        dataset = data
    elif labels is None:
        raise DataError("texts alone cannot be learned from: give their labels too")
    elif sparse.issparse(data) or (isinstance(data, np.ndarray) and data.dtype.kind in "fiub"):
        dataset = Dataset.from_matrices(data, labels)
    else:
        dataset = Dataset.from_texts(_checked_texts(data), labels)
    if len(dataset) == 0:
        raise DataError(f"{dataset.source}: there are no examples to learn from")
    if dataset.Y is None or dataset.Y.nnz == 0:
        raise DataError(f"{dataset.source}: none of the {len(dataset):,} examples has a label")
    return dataset
