"""PECOS folders, also as distributed (``xmc-base``), and X-Transformer's.

    X.trn.txt  Y.trn.npz                 texts and labels; the same for ``tst``
    X.trn.npz  tfidf-attnxml/X.trn.npz   features, in the folder or in sub-folders; ``.npy`` if they are dense
    R.trn.npz                            relevances of the labels in Y.trn.npz
    labels.txt                           names of the labels; without it "0", "1", …
    output-items.txt                     texts of the labels
    train_raw_texts.txt  label_map.txt   X-Transformer's names of X.trn.txt and output-items.txt
    filter_labels_train.txt              pairs of a row and a label to exclude

The path is the folder together with a split ("train" means ``trn``, "test" ``tst``), a sub-folder of
features, or an ``X.*.npz`` file; labels and texts are next to it or one folder up. There may be features,
texts or both. Ids and groups are not written. Line breaks and tabs in a text become spaces.
"""

from __future__ import annotations

import re
from pathlib import Path

from scipy import sparse

from ...errors import DataError
from ...strings import Strings
from ...units import counted
from ..dataset import Dataset
from ..files import Input, Output, read_lines
from ..labels import distinct_names
from ..matrices import feature_matrix, label_matrix
from .examples import check_labelled, numbered_labels, one_line
from .matrix_files import binary_matrix, check_columns, read_matrix
from .options import ReadOptions, WriteOptions
from .parts import (
    LONG,
    NO_FEATURES,
    SHORT,
    Part,
    check_rows,
    excluded_pairs,
    first_file,
    lines_or_latin,
)
from .splits import choose_split
from .txt import write_texts

FEATURES_FILE = re.compile(r"X\.(?P<split>[^.]+)\.np[zy]")
LABELS_FILE = re.compile(r"Y\.(?P<split>[^.]+)\.np[zy]")
TEXTS_FILE = re.compile(r"X\.(?P<split>[^.]+)\.txt")
SPLIT_FILE = re.compile(r"[XY]\.(?P<split>[^.]+)\.(npz|npy|txt)")
LABEL_MAP = "label_map.txt"
_NAMES, _LABEL_TEXTS = "labels.txt", "output-items.txt"
_USUAL_FEATURES = "tfidf-attnxml"
"""The sub-folder with the features that most publications use."""


def read(source: Input, options: ReadOptions) -> Dataset:
    if source.is_folder:
        assert source.path is not None
        folder = source.path
        wanted = None if options.split is None else _short(options.split)
        split = choose_split(source.name, splits_in(folder), wanted)
        X_path = _features_file(folder, split, options.features)
        places = [folder] if _has_labels_or_texts(folder) else [folder, folder.parent]
    else:
        X_path = source.file_path()
        if options.features is not None:
            raise DataError(f"{source.name}: is a file of features; leave out --features, or name the folder")
        folder, split = X_path.parent, _split_of(X_path)
        places = [folder, folder.parent]
    Y_path = binary_matrix(places[0], f"Y.{split}") or binary_matrix(places[-1], f"Y.{split}")
    home = places[:1] if Y_path is None else [Y_path.parent]
    R_path = None if Y_path is None else binary_matrix(Y_path.parent, f"R.{split}")
    long = LONG.get(split, split)
    texts_path = first_file(places, f"X.{split}.txt", f"{long}_raw_texts.txt", f"{long}_raw_text.txt")
    if Y_path is None and options.need_labels:
        raise DataError(f"{source.name}: no Y.{split}.npz next to X.{split}; labels are needed")

    X = None if X_path is None else feature_matrix(read_matrix(X_path), str(X_path))
    Y = None if Y_path is None else label_matrix(read_matrix(Y_path), str(Y_path))
    texts = None if texts_path is None else read_lines(texts_path)
    parts = []
    if texts is not None and texts_path is not None:
        parts.append(Part(texts_path, len(texts), "text"))
    if X is not None and X_path is not None:
        parts.append(Part(X_path, X.shape[0]))
        others = (binary_matrix(X_path.parent, f"X.{other}") for other in splits_in(X_path.parent))
        check_columns(X_path, X.shape[1], others, "features")
    if Y is not None and Y_path is not None:
        parts.append(Part(Y_path, Y.shape[0]))
        others = (binary_matrix(home[0], f"Y.{other}") for other in splits_in(home[0]))
        check_columns(Y_path, Y.shape[1], others, "labels")
    if not parts:
        raise DataError(f"{source.name}: has no texts or features of the split {split!r}; add X.{split}.txt")
    check_rows(parts)
    columns = 0 if Y is None else Y.shape[1]
    if Y is not None:
        check_labelled(str(Y_path), Y.nnz, options.need_labels)
    names = None if Y is None else _label_lines(home, columns, _NAMES)
    if names is not None:
        labels = distinct_names(names, source.name)
    else:
        labels = Strings.of([]) if Y is None else numbered_labels(Y, str(Y_path))
    return Dataset(
        labels=labels,
        texts=texts,
        X=X,
        Y=Y,
        relevance=None if R_path is None else read_matrix(R_path),
        label_texts=None if Y is None else _label_lines(home, columns, _LABEL_TEXTS, LABEL_MAP),
        excluded=None if Y is None else excluded_pairs(home, split, Y.shape[0], columns),
        source=source.name,
    )


def _has_labels_or_texts(folder: Path) -> bool:
    names = [entry.name for entry in folder.iterdir()]
    return any(SPLIT_FILE.fullmatch(name) and not FEATURES_FILE.fullmatch(name) for name in names)


def splits_in(folder: Path) -> list[str]:
    """The splits of which there are files."""
    matches = (SPLIT_FILE.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted({match["split"] for match in matches if match})


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    if path.suffix == ".npz":
        folder, split = path.parent, _split_of(path)
    else:
        folder, split = path, _short(options.split or "train")
    _check_same_labels(dataset, folder)
    output.folder(folder)
    if dataset.X is not None:
        sparse.save_npz(output.binary(folder / f"X.{split}.npz"), dataset.X)
    if dataset.texts is not None:
        write_texts(dataset, folder / f"X.{split}.txt", output)
    if dataset.Y is None:
        return
    sparse.save_npz(output.binary(folder / f"Y.{split}.npz"), dataset.Y)
    relevances = folder / f"R.{split}.npz"
    if dataset.relevance is not None or relevances.exists():  # else those of older data would be read
        R = dataset.Y if dataset.relevance is None else dataset.relevance
        sparse.save_npz(output.binary(relevances), R)
    if dataset.labels != Strings.numbers(len(dataset.labels)):
        _write_lines(dataset.labels, folder / _NAMES, output)
    if dataset.label_texts is not None:
        _write_lines(Strings.of(map(one_line, dataset.label_texts)), folder / _LABEL_TEXTS, output)


def _features_file(folder: Path, split: str, wanted: str | None) -> Path | None:
    """The features of a folder: its own, or those of a sub-folder."""
    if wanted == NO_FEATURES:
        return None
    own = binary_matrix(folder, f"X.{split}")
    if own is not None and wanted is None:
        return own
    found = {
        entry.name: path
        for entry in sorted(folder.iterdir())
        if entry.is_dir() and (path := binary_matrix(entry, f"X.{split}"))
    }
    if wanted is None and (_USUAL_FEATURES in found or len(found) < 2):
        return found.get(_USUAL_FEATURES, next(iter(found.values()), None))
    if wanted not in found:
        listed = ", ".join(found) or "no sub-folder"
        what = "has features" if wanted is None else f"has no features {wanted!r} of {split}, but"
        raise DataError(f"{folder}: {what} in {listed}; choose with --features NAME")
    return found[wanted]


def _check_same_labels(dataset: Dataset, folder: Path) -> None:
    """The splits of a folder share their label columns."""
    for name in dataset.labels:
        if one_line(name) != name:
            raise DataError(
                f"the label {name!r} cannot be written as pecos: it contains a tab or line break; rename it"
            )
    there = first_file([folder], _NAMES)
    if dataset.Y is not None and there is not None and read_lines(there) != dataset.labels:
        raise DataError(
            f"{there} already lists other labels: give both splits the same ones with Dataset.aligned_to"
        )


def _short(split: str) -> str:
    return SHORT.get(split, split)


def _split_of(path: Path) -> str:
    match = FEATURES_FILE.fullmatch(path.name)
    if match is None:
        raise DataError(f"{path}: PECOS feature files are named X.<split>.npz; rename it")
    return match["split"]


def _label_lines(folders: list[Path], count: int, *names: str) -> Strings | None:
    """A file with a line for each label."""
    path = first_file(folders, *names)
    if path is None:
        return None
    lines = lines_or_latin(path) if path.name == LABEL_MAP else read_lines(path)
    if len(lines) != count:
        raise DataError(
            f"{path} has {counted(len(lines), 'line')} for {counted(count, 'label')}; each label needs one"
        )
    return lines


def _write_lines(lines: Strings, path: Path, output: Output) -> None:
    file = output.text(path)
    for line in lines:
        file.write(line + "\n")
