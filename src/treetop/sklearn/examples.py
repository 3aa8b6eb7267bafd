"""The kinds of ``X`` that `TreetopClassifier` takes: texts, or rows of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..data import Dataset
from ..data.columns import checked_texts, column_names, holds_numbers, is_frame, is_series
from ..data.formats.fields import text_fields
from ..errors import DataError
from ..strings import Strings

_X = "X"


def read_examples(estimator: Any, X: Any, text: str | Sequence[str], *, reset: bool) -> Dataset:
    """Texts, or features that scikit-learn has checked; ``reset``: whether ``X`` is the training data."""
    if isinstance(X, str):
        raise DataError("X: a single text; pass a list of texts")
    no_labels = Strings.of([])
    if is_frame(X) and _names_texts(X, text):
        return Dataset.from_frame(X, text=text, labels=None, id=None, source=_X)
    if _are_texts(X, estimator, reset):
        if isinstance(X, np.ndarray):
            X = X.ravel()
        return Dataset(labels=no_labels, texts=Strings.of(checked_texts(X, _X)), source=_X)
    features = validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, reset=reset)
    return Dataset(labels=no_labels, X=features, source=_X)


def _names_texts(frame: Any, text: str | Sequence[str]) -> bool:
    """Whether the frame has the text columns, or must have them because it has other columns than numbers."""
    names = column_names(frame)
    wanted = text_fields(text, names) if isinstance(text, str) else text
    return all(name in names for name in wanted) or not holds_numbers(frame)


def _are_texts(X: Any, estimator: Any, reset: bool) -> bool:
    if isinstance(X, Strings):
        return True
    if sparse.issparse(X) or is_frame(X):
        return False
    if isinstance(X, np.ndarray):
        column = X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1)
        return column and (
            X.dtype.kind in "UT" or (X.dtype == object and any(isinstance(x, str) for x in X.flat))
        )
    if not is_series(X) and not isinstance(X, (list, tuple)):
        return False
    if len(X) == 0:
        return not reset and not hasattr(estimator, "n_features_in_")
    return any(isinstance(text, str) for text in X)
