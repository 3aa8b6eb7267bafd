"""`read`: any supported file or folder → `Dataset`."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ConfigError, DataError
from ..limits import FEATURES, check_declared
from .compression import without_suffix
from .dataset import Dataset
from .files import Input
from .folders import split_files
from .formats import Format, named_format
from .formats.label_cells import URI
from .formats.options import Column, ReadOptions
from .formats.recognise import recognise_input
from .formats.splits import choose_split


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: Column = "text",
    labels: Column = "labels",
    id: Column | None = "id",
    group: Column | None = None,
    weight: Column | None = None,
    label_texts: str | os.PathLike[str] | None = None,
    label_separator: str | None = None,
    need_labels: bool = True,
    split: str | None = None,
    features: str | None = None,
) -> Dataset:
    """Read a file (plain, or compressed with gzip, xz, zstd or bz2), a folder, or ``"-"`` (standard input).

    Args:
        format: a name from `FORMATS`; by default it is recognised from the file's name and first line.
        text: the field or column of the text; ``"title,abstract"`` joins two, each on its own line. Columns
            of a table may be given by number from 0.
        labels: the field or column of the labels.
        id: the field or column of the example's name; optional if it is "id".
        group: the field or column of the group, for splits that keep groups on one side.
        weight: the field or column of the example's weight in training.
        label_texts: a TSV or CSV file of labels and their readable names.
        label_separator: the separator of labels in one string; see `formats.label_cells` for the default.
        need_labels: refuse data without labels. If False, labels are optional.
        split: the split of a folder to read, such as "train" or "test".
        features: the sub-folder of features to read in a PECOS folder, or "none": texts without features.
    """
    if label_separator == "":
        raise ConfigError("the label separator must not be empty: leave it out to detect it")
    named = None if format is None else named_format(format)
    if named is None or not named.is_a_folder:
        path, split = _file_of_split(path, split, named)
    options = ReadOptions(text, labels, id, group, weight, label_separator, need_labels, split, features)
    with Input(path) as source:
        chosen = recognise_input(source) if named is None else named
        _check_options(source, chosen, options)
        dataset: Dataset = chosen.module.read(source, options)
    for X in (dataset.X, dataset.label_features):
        if X is not None:
            check_declared(FEATURES, X.shape[1], X.nnz, source.name)
    return dataset if label_texts is None else _with_label_texts(dataset, label_texts)


def _file_of_split(
    path: str | os.PathLike[str], split: str | None, format: Format | None
) -> tuple[str | os.PathLike[str], str | None]:
    """The file to read from a folder with a file for each split."""
    files = split_files(Path(path), format) if Path(path).is_dir() else {}
    return (files[choose_split(str(path), list(files), split)], None) if files else (path, split)


def _check_options(source: Input, format: Format, options: ReadOptions) -> None:
    if options.group is not None and not format.has_fields:
        raise DataError(f"{source.name}: {format.name} has no groups; leave out --group")
    if options.weight is not None and not format.has_fields:
        raise DataError(f"{source.name}: {format.name} has no field of weights; leave out --weight")
    if options.features is not None and not format.chooses_features:
        raise DataError(f"{source.name}: {format.name} has no features to choose; leave out --features")
    if options.split is not None and (format.is_folder or not source.is_folder):
        what = "data set" if format.is_folder else "file"
        raise DataError(f"{source.name}: is one {what}, not a folder of splits; leave out --split")
    if source.is_folder and not format.is_a_folder:
        raise DataError(f"{source.name}: is a folder, not a file; name a file")


def _with_label_texts(dataset: Dataset, path: str | os.PathLike[str]) -> Dataset:
    """Reads rows of label and readable name; for an empty name, the label is its own.

    A label may be in angle brackets, as in Annif's vocabularies.
    """
    from .formats import csv, tsv

    texts: dict[str, str] = {}
    with Input(path) as source:
        is_csv = Path(without_suffix(source.name)).suffix.lower() == ".csv"
        for line, row in csv.split_rows(source) if is_csv else tsv.split_rows(source):
            if len(row) < 2:
                raise DataError(f"{source.name} line {line}: only one column; give a label and its text")
            if row[1]:
                texts[row[0]] = row[1]
                if uri := URI.fullmatch(row[0].strip()):
                    texts.setdefault(uri[1], row[1])
    if not any(name in texts for name in dataset.labels):
        raise DataError(f"{source.name}: lists none of the labels of {dataset.source}; use the same names")
    return dataset.with_label_texts(texts)
