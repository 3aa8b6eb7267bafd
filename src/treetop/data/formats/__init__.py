"""The formats data is read from and written to: one module each, loaded on first use.

A format's module has ``read(source, options) -> Dataset`` and ``write(dataset, path, options, output)``.
A new format is one such module and one row here; `recognise` tells the format of a file from its name.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError


@dataclass(frozen=True)
class Format:
    """One row of the table of formats."""

    name: str
    help: str
    suffixes: tuple[str, ...] = ()
    has_fields: bool = False
    """Fields or columns by name: text, labels, id, group."""
    has_splits: bool = False
    """A folder with several splits."""
    is_folder: bool = False
    """Always a folder; it may be that of a single data set."""
    has_matrices: bool = False
    """Features, besides or instead of texts."""
    has_weights: bool = False
    """Labels with weights."""

    @property
    def is_a_folder(self) -> bool:
        """Of one data set or of several."""
        return self.is_folder or self.has_splits

    @property
    def module(self) -> Any:
        return importlib.import_module(f".{self.name}", __name__)


_ROWS = (
    Format("jsonl", "a JSON object a line: text, labels", (".jsonl", ".ndjson", ".json"), has_fields=True),
    Format("csv", "comma-separated table", (".csv",), has_fields=True),
    Format("tsv", "tab-separated table", (".tsv", ".tab"), has_fields=True),
    Format("parquet", "Parquet table (extra: parquet)", (".parquet", ".pq"), has_fields=True),
    Format("fasttext", "__label__x __label__y text", (".fasttext", ".ft")),
    Format("xmc", "Extreme Classification Repository: sparse features", (".xmc", ".svm"), has_matrices=True),
    Format(
        "pecos",
        "folder of X.trn.npz, Y.trn.npz, X.trn.txt",
        has_splits=True,
        has_matrices=True,
        has_weights=True,
    ),
    Format(
        "arrays",
        "folder of plain arrays, used where they lie on disk",
        (".arrays",),
        is_folder=True,
        has_matrices=True,
        has_weights=True,
    ),
    Format("rawtext", "train_raw_texts.txt with train_labels.txt", has_splits=True),
    Format("annif", "text<TAB><uri> <uri>", (".annif",)),
    Format("txt", "a text a line, no labels", (".txt",)),
)

FORMATS = {row.name: row for row in _ROWS}


def named_format(name: str) -> Format:
    if name in FORMATS:
        return FORMATS[name]
    near = difflib.get_close_matches(name, FORMATS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"there is no format {name!r} (there are: {', '.join(FORMATS)}){hint}")
