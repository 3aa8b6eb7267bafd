"""The formats that data are read from and written to: a module each, loaded on first use.

A format's module has ``read(source, options) -> Dataset`` and, if it is written too,
``write(dataset, path, options, output)``.
A new format is one such module and one row here; `recognise` finds the format of a file from its name.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError


@dataclass(frozen=True)
class Format:
    """A row of the table of formats."""

    name: str
    help: str
    suffixes: tuple[str, ...] = ()
    has_fields: bool = False
    """It has named fields or columns: text, labels, id, group."""
    has_splits: bool = False
    """It is a folder with several splits."""
    is_folder: bool = False
    """It is a folder of a single data set."""
    has_matrices: bool = False
    """It has features, in addition to texts or instead of them."""
    has_relevance: bool = True
    """It can have labels with relevances."""
    has_label_texts: bool = False
    """It has texts of labels."""
    has_everything: bool = False
    """It has all parts of a data set."""
    chooses_features: bool = False
    """It has features next to texts, which can be chosen or left out."""
    can_write: bool = True
    numbers_labels: bool = False
    """Its labels are numbered columns; other formats sort them by name."""

    @property
    def is_a_folder(self) -> bool:
        """Whether it is a folder, of one data set or of several splits."""
        return self.is_folder or self.has_splits

    @property
    def module(self) -> Any:
        return importlib.import_module(f".{self.name}", __name__)


_ROWS = (
    Format(
        "jsonl", "one JSON object per line: text, labels", (".jsonl", ".ndjson", ".json"), has_fields=True
    ),
    Format("csv", "comma-separated table", (".csv",), has_fields=True),
    Format("tsv", "tab-separated table", (".tsv", ".tab"), has_fields=True),
    Format("parquet", "Parquet table (extra: parquet)", (".parquet", ".pq"), has_fields=True),
    Format("fasttext", "__label__x __label__y text", (".fasttext", ".ft")),
    Format(
        "xmc",
        "Extreme Classification Repository: sparse features",
        (".xmc", ".svm"),
        has_matrices=True,
        has_relevance=False,
        numbers_labels=True,
    ),
    Format("libsvm", "sparse features without a header", (".libsvm",), has_matrices=True, can_write=False),
    Format("libmultilabel", "id<TAB>label label<TAB>text", can_write=False),
    Format(
        "repository",
        "folder of trn_X_Xf.txt, trn_X_Y.txt, lbl_X_Xf.txt, or trn.json.gz, lbl.json.gz",
        has_splits=True,
        has_matrices=True,
        chooses_features=True,
        can_write=False,
        numbers_labels=True,
    ),
    Format(
        "pecos",
        "folder of X.trn.npz, Y.trn.npz, X.trn.txt",
        has_splits=True,
        has_matrices=True,
        has_label_texts=True,
        chooses_features=True,
        numbers_labels=True,
    ),
    Format(
        "arrays",
        "folder of plain arrays, memory-mapped",
        (".arrays",),
        is_folder=True,
        has_matrices=True,
        has_label_texts=True,
        has_everything=True,
    ),
    Format(
        "rawtext",
        "train_raw_texts.txt with train_labels.txt, train.txt",
        has_splits=True,
        chooses_features=True,
    ),
    Format("annif", "text<TAB><uri> <uri>", (".annif",)),
    Format("txt", "one text per line, no labels", (".txt",)),
)

FORMATS = {row.name: row for row in _ROWS}


def named_format(name: str) -> Format:
    if name in FORMATS:
        return FORMATS[name]
    near = difflib.get_close_matches(name, FORMATS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(FORMATS)}"
    raise ConfigError(f"there is no format {name!r}; {hint}")
