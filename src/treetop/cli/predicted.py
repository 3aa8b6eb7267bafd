"""Files of predictions: JSON Lines of `treetop predict`, or PECOS's ``.npz`` of scores, texts × labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from ..progress import step
from ..units import counted
from .options import LabelledReading, numbers_labels

if TYPE_CHECKING:
    from ..data import Dataset
    from ..predictions import Predictions
    from ..strings import Strings


def read_predictions(
    path: Path, truth: Dataset, test: Path, reading: LabelledReading, label_names: Path | None = None
) -> Predictions:
    """``truth`` was read from ``test``; ``label_names``: a file with the names of the columns of a matrix."""
    from ..data.files import read_lines
    from ..predictions import Predictions
    from ..sparse import read_npz

    with step(f"Reading {path.name}"):
        if path.suffix != ".npz":
            return Predictions.read(path)
        matrix = read_npz(path)
        if label_names is None:
            names = _names_in(truth, test, reading, path, matrix.shape[1])
        else:
            names = read_lines(label_names)
            if len(names) != matrix.shape[1]:
                raise DataError(
                    f"{label_names}: {counted(len(names), 'name')}, but {path} has"
                    f" {counted(matrix.shape[1], 'label column')}; each needs one name"
                )
        return Predictions.from_csr(matrix, names)


def _names_in(truth: Dataset, test: Path, reading: LabelledReading, path: Path, columns: int) -> Strings:
    """The names of the columns of a matrix without names: those of the test set."""
    from ..strings import Strings

    if numbers_labels(test, reading.format):
        if len(truth.labels) == columns:
            return truth.labels
        raise DataError(
            f"{path}: has {counted(columns, 'label column')}, but {truth.source} has"
            f" {counted(len(truth.labels), 'label')}; evaluate on the test set that was predicted"
        )
    numbers = Strings.numbers(columns)
    if all(name in numbers.positions for name in truth.labels):
        return numbers
    raise DataError(
        f"{path}: has {counted(columns, 'label column')} without names, and the labels of {truth.source} are"
        " in the order of their names; evaluate on PECOS's folder (Y.tst.npz), or name the columns with"
        " treetop evaluate --label-names FILE"
    )
