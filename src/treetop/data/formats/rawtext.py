"""Raw texts as AttentionXML, LightXML and CascadeXML keep them: files with a line for each example.

    train_raw_texts.txt   texts, or ``train_texts.txt``
    train_labels.txt      labels, separated by white space; or PECOS's ``Y.trn.npz``
    train_v1.txt          features, or ``train.txt``: `xmc` or `libsvm`, whose labels are ignored; or PECOS's
                          ``X.trn.npz``

The path is the texts file, or the folder together with a split. Ids and groups are not written. Line breaks
and tabs in a text become spaces.
"""

from __future__ import annotations

import dataclasses
import re
from itertools import zip_longest
from pathlib import Path

from ...errors import DataError
from ...units import counted
from ..compression import SUFFIXES
from ..dataset import Dataset
from ..files import Input, Output, with_any_suffix
from ..matrices import feature_matrix, label_matrix
from . import libsvm, xmc
from .examples import Examples, check_labelled, check_one_word_labels, label_sets, numbered_labels
from .matrix_files import binary_matrix, check_columns, read_matrix
from .options import ReadOptions, WriteOptions
from .parts import SHORT, Part, check_only_none, check_rows
from .splits import choose_split
from .txt import write_texts

_SUFFIX = "|".join(map(re.escape, SUFFIXES))
TEXTS_FILE = re.compile(rf"(?P<split>.+?)_(raw_)?texts\.txt(?P<suffix>{_SUFFIX})?")

LABELS_FILE = re.compile(r"(?!.*filter_).+_labels\.txt")


def read(source: Input, options: ReadOptions) -> Dataset:
    texts_path = _in_folder(source, options.split) if source.is_folder else source.file_path()
    split = _match(texts_path)["split"]
    folder, wanted = texts_path.parent, check_only_none(options.features, source.name)
    labels_path = with_any_suffix(folder / f"{split}_labels.txt")
    Y_path = None if labels_path else binary_matrix(folder, f"Y.{SHORT.get(split, split)}")
    if labels_path is None and Y_path is None and options.need_labels:
        raise DataError(f"{texts_path}: no {split}_labels.txt next to it; labels are needed")
    with Input(texts_path) as texts:
        examples = Examples(texts.name, options.need_labels and labels_path is not None)
        if labels_path is None:
            for line, text in texts.lines():
                examples.append(line, text)
        else:
            with Input(labels_path) as labels:
                _read_pairs(texts, labels, examples)
    dataset = examples.build()
    if Y_path is not None:
        dataset = _with_labels(dataset, Y_path, texts_path, options.need_labels)
    return _with_features(dataset, texts_path, split) if wanted else dataset


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    check_one_word_labels(dataset, "rawtext")
    if path.is_dir() or not path.suffix:
        output.folder(path)
        path /= f"{options.split or 'train'}_raw_texts.txt"
    match = _match(path)
    write_texts(dataset, path, output)
    if dataset.Y is not None:
        labels_file = output.text(path.with_name(f"{match['split']}_labels.txt{match['suffix'] or ''}"))
        for labels in label_sets(dataset):
            labels_file.write(" ".join(labels) + "\n")


def _with_labels(dataset: Dataset, path: Path, texts_path: Path, need_labels: bool) -> Dataset:
    """Labels of a matrix, numbered as its columns."""
    Y = label_matrix(read_matrix(path), str(path))
    check_rows([Part(texts_path, len(dataset), "text"), Part(path, Y.shape[0])])
    check_labelled(str(path), Y.nnz, need_labels)
    return dataclasses.replace(dataset, labels=numbered_labels(Y, str(path)), Y=Y)


def _with_features(dataset: Dataset, texts_path: Path, split: str) -> Dataset:
    """The features of the sparse file next to the texts, if there is one."""
    path = features_file(texts_path.parent, split)
    if path is None:
        return dataset
    open_width = False
    if path.suffix in (".npz", ".npy"):
        X = read_matrix(path)
    else:
        with Input(path) as source:
            open_width = xmc.HEADER.fullmatch(source.first_line()) is None
            X, _ = libsvm.read_matrices(source, len(dataset)) if open_width else xmc.read_matrices(source)
    check_rows([Part(texts_path, len(dataset), "text"), Part(path, X.shape[0])])
    if not open_width:
        others = (features_file(path.parent, other) for other in _text_files(path.parent))
        check_columns(path, X.shape[1], others, "features")
    return dataclasses.replace(dataset, X=feature_matrix(X, str(path)), open_width=open_width)


def features_file(folder: Path, split: str) -> Path | None:
    """``train_v1.txt`` or ``train.txt`` with sparse features, or PECOS's ``X.trn.npz``."""
    for name in (f"{split}_v1.txt", f"{split}.txt"):
        path = with_any_suffix(folder / name)
        if path is not None:
            with Input(path) as source:
                first = source.first_line()
            if xmc.HEADER.fullmatch(first) or libsvm.LINE.fullmatch(first):
                return path
    return binary_matrix(folder, f"X.{SHORT.get(split, split)}")


def _read_pairs(texts: Input, labels: Input, examples: Examples) -> None:
    counts = [0, 0]
    for text, names in zip_longest(texts.lines(), labels.lines()):
        counts[0] += text is not None
        counts[1] += names is not None
        if text is not None and names is not None:
            examples.append(*text)
            examples.labels.append(names[1].split())
    if counts[0] != counts[1]:
        raise DataError(
            f"{texts.name} has {counted(counts[0], 'line')} but {labels.name} has {counts[1]:,};"
            " they must agree"
        )


def _in_folder(source: Input, wanted: str | None) -> Path:
    assert source.path is not None
    files = _text_files(source.path)
    return source.path / files[choose_split(source.name, list(files), wanted)]


def _text_files(folder: Path) -> dict[str, str]:
    """The texts of each split."""
    # Sorted, "x_raw_texts.txt" comes before "x_texts.txt": raw texts win over pre-processed ones.
    files: dict[str, str] = {}
    for name in sorted(entry.name for entry in folder.iterdir() if entry.is_file()):
        if match := TEXTS_FILE.fullmatch(name):
            files.setdefault(match["split"], name)
    return files


def _match(path: Path) -> re.Match[str]:
    match = TEXTS_FILE.fullmatch(path.name)
    if match is None:
        raise DataError(
            f"{path}: rawtext files are named <split>_raw_texts.txt or <split>_texts.txt; rename it"
        )
    return match
