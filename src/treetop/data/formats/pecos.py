"""PECOS folders: ``X.trn.npz``, ``Y.trn.npz``, ``X.trn.txt`` and the same for ``tst``.

The path is the folder together with a split ("train" means ``trn``, "test" ``tst``), or the ``X.*.npz`` file;
its labels and texts are next to it or one folder up. There may be features, texts or both. ``R.trn.npz`` has
the relevances of the labels. Labels are named "0", "1", … unless ``labels.txt`` names them, one per line;
``output-items.txt`` has the texts of the labels.
Ids and groups are not written. Line breaks and tabs in a text become spaces.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from scipy import sparse

from ...errors import DataError
from ...strings import Strings
from ...units import counted
from ..dataset import Dataset, distinct_names, feature_matrix, label_matrix
from ..files import Input, Output, with_any_suffix
from .examples import check_labelled, one_line
from .options import ReadOptions, WriteOptions
from .splits import choose_split
from .txt import write_texts

SPLIT_FILE = re.compile(r"X\.(?P<split>[^.]+)\.(npz|txt)")
FEATURES_FILE = re.compile(r"X\.(?P<split>[^.]+)\.npz")
_NAMES, _LABEL_TEXTS = "labels.txt", "output-items.txt"
_SHORT = {"train": "trn", "test": "tst", "valid": "val", "validation": "val"}


def read(source: Input, options: ReadOptions) -> Dataset:
    if source.is_folder:
        assert source.path is not None
        folder = source.path
        matches = (SPLIT_FILE.fullmatch(entry.name) for entry in folder.iterdir())
        found = sorted({match["split"] for match in matches if match})
        split = choose_split(source.name, found, None if options.split is None else _short(options.split))
        places = [folder]
    else:
        path = source.file_path()
        folder, split = path.parent, _split_of(path)
        places = [folder, folder.parent]
    X_path = _first(places[:1], f"X.{split}.npz")
    Y_path = _first(places, f"Y.{split}.npz")
    R_path = None if Y_path is None else _first([Y_path.parent], f"R.{split}.npz")
    texts_path = _first(places, f"X.{split}.txt")
    if Y_path is None and options.need_labels:
        raise DataError(f"{source.name}: no Y.{split}.npz next to X.{split}; labels are needed")
    X = None if X_path is None else feature_matrix(_load(X_path), str(X_path))
    Y = None if Y_path is None else label_matrix(_load(Y_path), str(Y_path))
    texts = None if texts_path is None else _read_lines(texts_path)
    parts = [(X_path, X), (Y_path, Y), (texts_path, texts)]
    _check_rows([(path, _rows(part)) for path, part in parts if part is not None])
    columns = 0 if Y is None else Y.shape[1]
    if Y is not None:
        check_labelled(str(Y_path), Y.nnz, options.need_labels)
    names = _read_beside(Y_path, _NAMES, columns)
    return Dataset(
        labels=Strings.numbers(columns) if names is None else distinct_names(names, source.name),
        texts=texts,
        X=X,
        Y=Y,
        relevance=None if R_path is None else _load(R_path),
        label_texts=_read_beside(Y_path, _LABEL_TEXTS, columns),
        source=source.name,
    )


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


def _check_same_labels(dataset: Dataset, folder: Path) -> None:
    """The splits of a folder share their label columns."""
    for name in dataset.labels:
        if one_line(name) != name:
            raise DataError(
                f"the label {name!r} cannot be written as pecos: it contains a tab or line break; rename it"
            )
    there = _first([folder], _NAMES)
    if dataset.Y is not None and there is not None and _read_lines(there) != dataset.labels:
        raise DataError(
            f"{there} already lists other labels: give both splits the same ones with Dataset.aligned_to"
        )


def _short(split: str) -> str:
    return _SHORT.get(split, split)


def _split_of(path: Path) -> str:
    match = FEATURES_FILE.fullmatch(path.name)
    if match is None:
        raise DataError(f"{path}: PECOS feature files are named X.<split>.npz; rename it")
    return match["split"]


def _first(folders: list[Path], name: str) -> Path | None:
    return next((found for folder in folders if (found := with_any_suffix(folder / name))), None)


def _load(path: Path) -> Any:
    try:
        return sparse.load_npz(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not a sparse matrix saved by scipy ({error})") from None


def _rows(part: Any) -> int:
    return len(part) if isinstance(part, Strings) else int(part.shape[0])


def _check_rows(parts: list[tuple[Path | None, int]]) -> None:
    first, rows = parts[0]
    for path, count in parts[1:]:
        if count != rows:
            raise DataError(f"{first} has {counted(rows, 'row')} but {path} has {count:,}; they must agree")
    if not rows:
        raise DataError(f"{first}: has no examples; choose another file")


def _read_lines(path: Path) -> Strings:
    with Input(path) as source:
        return Strings.of(text for _, text in source.lines())


def _read_beside(Y_path: Path | None, name: str, count: int) -> Strings | None:
    path = None if Y_path is None else _first([Y_path.parent], name)
    if path is None:
        return None
    lines = _read_lines(path)
    if len(lines) != count:
        raise DataError(
            f"{path} has {counted(len(lines), 'line')} for {counted(count, 'label')}; each label needs one"
        )
    return lines


def _write_lines(lines: Strings, path: Path, output: Output) -> None:
    file = output.text(path)
    for line in lines:
        file.write(line + "\n")
