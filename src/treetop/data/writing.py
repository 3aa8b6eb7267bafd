"""`write`: `Dataset` → a file or folder in any format that can represent it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DataError, not_written
from .columns import is_frame
from .dataset import Dataset
from .files import Output
from .formats import Format, named_format
from .formats.options import WriteOptions
from .formats.recognise import recognise_output


def write(
    dataset: Dataset | Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str = "text",
    labels: str = "labels",
    id: str = "id",
    group: str = "group",
    weight: str = "weight",
    label_separator: str | None = None,
    split: str | None = None,
) -> None:
    """Write a data set; ``.gz``, ``.xz``, ``.zst`` and ``.bz2`` compress. A failed write changes nothing.

    The data set may be a pandas or polars frame with the columns "text" and, if it is labelled, "labels".

    Args:
        format: a name from `FORMATS`; by default it follows from the file's name.
        text: the name of the text field, in formats with named fields.
        labels: the name of the label field.
        id: the name of the id field.
        group: the name of the group field.
        weight: the name of the field of the examples' weights.
        label_separator: the separator of labels in one cell of a csv or tsv file.
        split: the split to write in a folder of splits (pecos, rawtext); "train" by default.
    """
    path = Path(path)
    if label_separator == "":
        raise ConfigError("the label separator must not be empty: leave it out for the default")
    if is_frame(dataset):
        dataset = Dataset.from_frame(dataset, need_labels=False)
    chosen = recognise_output(path, dataset.Y is not None) if format is None else named_format(format)
    _check_holds(chosen, dataset)
    options = WriteOptions(text, labels, id, group, weight, label_separator, split)
    try:
        with Output() as output:
            chosen.module.write(dataset, path, options, output)
    except OSError as error:
        raise not_written(path, error) from None


def left_out(dataset: Dataset, path: Path, format: str | None = None) -> list[str]:
    """The parts of a data set that `write` leaves out, because the format does not have them."""
    chosen = recognise_output(path, dataset.Y is not None) if format is None else named_format(format)
    parts = (
        ("texts", dataset.texts is not None and chosen.name == "xmc"),
        ("features", dataset.X is not None and not chosen.has_matrices),
        ("label texts", dataset.label_texts is not None and not chosen.has_label_texts),
        ("label features", dataset.label_features is not None and not chosen.has_everything),
        ("excluded pairs", dataset.excluded_pairs > 0 and not chosen.has_everything),
    )
    return [name for name, is_left_out in parts if is_left_out]


def _check_holds(format: Format, dataset: Dataset) -> None:
    if not format.can_write:
        raise DataError(f"{format.name} can only be read; write jsonl, xmc, pecos or arrays")
    if dataset.texts is None and not format.has_matrices:
        raise DataError(
            f"{format.name} needs texts, and {dataset.source} has only features; write xmc, pecos or arrays"
        )
    if (dataset.labels.lengths == 0).any():
        raise DataError(f"{dataset.source}: a label with an empty name cannot be written; rename it")
    if dataset.relevance is not None and not format.has_relevance:
        raise DataError(
            f"{format.name} cannot store the relevances of {dataset.source}; write pecos or arrays instead"
        )
    if dataset.weights is not None and not (format.has_everything or format.has_fields):
        raise DataError(
            f"{format.name} cannot store the weights of {dataset.source}; write arrays, or jsonl, csv, tsv or"
            " parquet"
        )
