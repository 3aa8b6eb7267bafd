"""Folders of the Extreme Classification Repository, with the files of its data sets with label features.

    trn_X_Xf.txt  trn_X_Y.txt   features and labels as sparse text (`matrix_files`); the same for ``tst``
    train.txt                   both in one file (`xmc`), where trn_X_Xf.txt is missing
    trn.json.gz                 texts and labels (`repository_json`)
    trn_X.txt                   texts, one per line, also in a folder ``raw``
    lbl.json.gz  Y.txt          titles of the labels
    lbl_X_Xf.txt                features of the labels; used if they have the columns of trn_X_Xf.txt
    filter_labels_train.txt     pairs of a row and a label to exclude

The path is the folder together with a split ("train" means ``trn``, "test" ``tst``), or a file of a split.
Any file may be missing, and may be compressed. Labels are named "0", "1", …; ids are the uids. A text is
title and content, or in data sets with "Titles" in the name of the folder the title alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from scipy import sparse

from ...errors import DataError
from ...sparse import frozen
from ...strings import Strings
from ..compression import without_suffix
from ..dataset import Dataset
from ..files import Input, read_lines
from ..matrices import feature_matrix, label_matrix
from . import xmc
from .examples import check_labelled, numbered_labels
from .fields import text_fields
from .matrix_files import check_columns, read_matrix
from .options import ReadOptions
from .parts import LONG, SHORT, Part, check_only_none, check_rows, excluded_pairs, first_file
from .repository_json import CONTENT, TITLE, JsonExamples, read_titles
from .splits import choose_split

SPLIT_FILE = re.compile(r"(?P<split>trn|tst|val)_X(_Xf|_Y)?\.txt")
JSON_FILE = re.compile(r"(?P<split>trn|tst|val)\.json")
LABEL_FILE = re.compile(r"lbl_X_Xf\.txt|lbl\.json")
EXCLUDED_FILE = re.compile(r"filter_labels_\w+\.txt|\w+_filter_labels\.txt")
MAIN_FILES = SPLIT_FILE, JSON_FILE, LABEL_FILE
"""The files that show the format of a folder."""


def read(source: Input, options: ReadOptions) -> Dataset:
    if source.is_folder:
        assert source.path is not None
        wanted = None if options.split is None else SHORT.get(options.split, options.split)
        split = choose_split(source.name, splits_in(source.path), wanted)
        return _Reader(_Files(source.path, split), source.name, options).dataset()
    path = source.file_path()
    name = without_suffix(path.name)
    match = SPLIT_FILE.fullmatch(name) or JSON_FILE.fullmatch(name)
    if match is not None:
        return _Reader(_Files(path.parent, match["split"]), source.name, options).dataset()
    if LABEL_FILE.fullmatch(name) or EXCLUDED_FILE.fullmatch(name):
        raise DataError(f"{path}: has no examples; name the folder {path.parent}, or its trn_X_Xf.txt")
    check_labelled(source.name, 0, options.need_labels)
    return Dataset(labels=Strings.of([]), X=read_matrix(path), source=source.name)


def splits_in(folder: Path) -> list[str]:
    """The splits of which there are examples."""
    return [split for split in LONG if (files := _Files(folder, split)).X or files.texts or files.json]


class _Files:
    """The files of one split, None where there is none."""

    def __init__(self, folder: Path, split: str) -> None:
        self.folder = folder
        self.split = split
        places = [folder, folder / "raw"]
        self.json = first_file([folder], f"{split}.json")
        self.texts = first_file(places, f"{split}_X.txt")
        self.both = None
        self.X = first_file([folder], f"{split}_X_Xf.txt")
        if self.X is None:
            self.X = self.both = _with_header(folder, f"{LONG[split]}.txt")
        self.Y = first_file([folder], f"{split}_X_Y.txt")
        self.label_json = first_file([folder], "lbl.json")
        self.label_texts = first_file(places, "Y.txt")
        self.label_features = first_file([folder], "lbl_X_Xf.txt")

    def others(self) -> Iterable[_Files]:
        """The other splits."""
        return (_Files(self.folder, split) for split in LONG if split != self.split)


def _with_header(folder: Path, name: str) -> Path | None:
    found = first_file([folder], name)
    if found is None:
        return None
    with Input(found) as source:
        return found if xmc.HEADER.fullmatch(source.first_line()) else None


class _Reader:
    """Reads the parts of one split, and notes which file has how many examples and labels."""

    def __init__(self, files: _Files, name: str, options: ReadOptions) -> None:
        self._files = files
        self._name = name
        self._options = options
        self._examples: list[Part] = []
        self._labels: list[Part] = []

    def dataset(self) -> Dataset:
        files, options = self._files, self._options
        with_features = check_only_none(options.features, self._name)
        X = Y = None
        if files.both is not None:
            with Input(files.both) as source:
                X, Y = xmc.read_matrices(source)
        elif files.X is not None and with_features:
            X = read_matrix(files.X)
        X = self._features(X) if with_features else None
        label_texts = self._label_texts()
        found = self._json_examples()
        texts = self._lines() if found is None else found.texts
        Y = self._label_matrix(Y, found, label_texts)
        if not self._examples:
            raise DataError(f"{self._name}: has no texts or features of {files.split}; add them")
        check_rows(self._examples)
        if Y is None:
            return Dataset(labels=Strings.of([]), texts=texts, X=X, source=self._name)
        label_features = self._label_features(X)
        check_rows(self._labels)
        return Dataset(
            labels=numbered_labels(Y, self._name),
            texts=texts,
            X=X,
            Y=Y,
            ids=None if found is None or options.id is None else found.ids,
            label_texts=label_texts,
            label_features=label_features,
            excluded=excluded_pairs([files.folder], files.split, *Y.shape),
            source=self._name,
        )

    def _features(self, X: sparse.csr_matrix | None) -> sparse.csr_matrix | None:
        path = self._files.X
        if X is None or path is None:
            return None
        self._examples.append(Part(path, X.shape[0]))
        check_columns(path, X.shape[1], (other.X for other in self._files.others()), "features")
        return feature_matrix(X, str(path))

    def _json_examples(self) -> JsonExamples | None:
        files, options = self._files, self._options
        if files.json is None:
            return None
        fields = text_fields(options.text, ())
        if options.text == ReadOptions.text:
            fields = [TITLE] if "titles" in files.folder.resolve().name.lower() else [TITLE, CONTENT]
        with_labels = files.Y is None and files.both is None
        found = JsonExamples(files.json, fields, with_labels=with_labels, need_labels=options.need_labels)
        self._examples.append(Part(files.json, len(found.texts), "text"))
        return found

    def _lines(self) -> Strings | None:
        path = self._files.texts
        if path is None:
            return None
        texts = read_lines(path)
        self._examples.append(Part(path, len(texts), "text"))
        return texts

    def _label_texts(self) -> Strings | None:
        path = self._files.label_json or self._files.label_texts
        if path is None:
            return None
        texts = read_lines(path) if self._files.label_json is None else read_titles(path)
        self._labels.append(Part(path, len(texts), "label"))
        return texts

    def _label_matrix(
        self, Y: sparse.csr_matrix | None, found: JsonExamples | None, label_texts: Strings | None
    ) -> sparse.csr_matrix | None:
        """The labels of trn_X_Y.txt, else of train.txt (``Y``), else of trn.json."""
        files = self._files
        path = files.Y or files.both or files.json
        if files.Y is not None:
            Y = label_matrix(read_matrix(files.Y), str(files.Y))
            check_columns(files.Y, Y.shape[1], (other.Y for other in files.others()), "labels")
        elif Y is None and found is not None and found.labelled:
            if label_texts is None:
                raise DataError(
                    f"{path}: numbers its labels, and no file says how many there are; put lbl.json.gz or"
                    f" {files.split}_X_Y.txt next to it"
                )
            Y = found.label_matrix(len(label_texts))
        if Y is None and self._options.need_labels:
            raise DataError(f"{self._name}: has no {files.split}_X_Y.txt with the labels; add it")
        if Y is not None and path is not None:
            check_labelled(str(path), Y.nnz, self._options.need_labels)
            self._examples.append(Part(path, Y.shape[0]))
            self._labels.insert(0, Part(path, Y.shape[1], "label"))
        return Y

    def _label_features(self, X: sparse.csr_matrix | None) -> sparse.csr_matrix | None:
        """The features of the labels, if they are in the space of the texts' features."""
        path = self._files.label_features
        if path is None or X is None:
            return None
        matrix = feature_matrix(read_matrix(path), str(path))
        self._labels.append(Part(path, matrix.shape[0], "label"))
        return frozen(matrix) if matrix.shape[1] == X.shape[1] else None
