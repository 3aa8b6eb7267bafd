"""Recognises the format of a path: by its name, and where that is not enough, by its first lines."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import DataError
from ..compression import without_suffix
from ..files import Input
from . import FORMATS, Format, libmultilabel, libsvm, matrix_files, pecos, rawtext, repository, xmc
from .annif import LINE as ANNIF_LINE
from .arrays import MANIFEST as ARRAYS_MANIFEST
from .fasttext import PREFIX as FASTTEXT_PREFIX
from .repository_json import LABEL_NUMBERS

SPLITS = ("train", "test", "valid", "validation", "val", "dev")
"""The names of splits that have a file each."""
_LOOKED_AT = 20
"""Lines of sparse text looked at."""


def recognise_input(source: Input) -> Format:
    """The format of an existing file or folder, or of standard input."""
    if source.path is None:
        return FORMATS["jsonl" if source.first_line().lstrip().startswith("{") else "txt"]
    if source.path.is_dir():
        found = folder_format(source.path)
        if found is None:
            raise DataError(
                f"{source.name}: is a folder, not a file, and has no train.jsonl (or .csv, .txt, …), X.*.npz,"
                f" *_raw_texts.txt, trn_X_Xf.txt, trn.json or {ARRAYS_MANIFEST}; name a file, or another"
                " folder"
            )
        return found
    by_name = named_by(source.path)
    if by_name is None or by_name.name in ("txt", "tsv"):
        return _by_content(source, by_name)
    first = source.first_line() if by_name.name in ("jsonl", "xmc") else ""
    if by_name.name == "jsonl" and repository.JSON_FILE.fullmatch(without_suffix(source.path.name)):
        return FORMATS["repository"] if f'"{LABEL_NUMBERS}"' in first else by_name
    if by_name.name == "xmc" and libsvm.LINE.fullmatch(first):
        return FORMATS["libsvm"]
    return by_name


def _by_content(source: Input, by_name: Format | None) -> Format:
    """The format of a file whose name does not show it: without a known suffix, ``.txt`` or ``.tsv``."""
    first = source.first_line()
    if ANNIF_LINE.fullmatch(first):
        return FORMATS["annif"]
    if by_name is not None and by_name.name == "tsv":
        return by_name
    if first.lstrip().startswith("{"):
        return FORMATS["jsonl"]
    if xmc.HEADER.fullmatch(first):
        return FORMATS["xmc"]
    if libsvm.LINE.fullmatch(first):
        return FORMATS["libsvm"]
    if matrix_files.HEADER.fullmatch(first) and matrix_files.are_entries(source.head(_LOOKED_AT)[1:]):
        return FORMATS["repository"]
    if FASTTEXT_PREFIX in first:
        return FORMATS["fasttext"]
    if by_name is not None:
        return _by_tabs(source, by_name)
    if not first:
        raise DataError(f"{source.name}: has no examples; choose another file")
    raise _unknown(source.name)


def _by_tabs(source: Input, txt: Format) -> Format:
    """LibMultiLabel's format or plain text, in a ``.txt`` file named like a split.

    Without ids, a line may also be a text with a tab in it, unless other splits are next to the file.
    """
    assert source.path is not None
    if _split_in(source.path) is None:
        return txt
    columns = libmultilabel.columns_in(source)
    siblings = (entry for entry in source.path.parent.iterdir() if entry != source.path)
    if columns == 2 and not any(_split_in(entry) for entry in siblings):
        raise DataError(
            f"{source.name}: every line has one tab, between labels and text or inside a text; choose with"
            " --format libmultilabel or --format txt"
        )
    return FORMATS["libmultilabel"] if columns else txt


def _split_in(path: Path) -> str | None:
    """``train`` for ``train.txt`` and ``eurlex_raw_texts_train.txt.xz``."""
    name = Path(without_suffix(path.name))
    split = name.stem.rpartition("_")[2]
    return split if name.suffix.lower() == ".txt" and split in SPLITS else None


def recognise_output(path: Path, labelled: bool) -> Format:
    """The format of a new file, from its name; ``.txt`` only for unlabelled data, since it has no labels."""
    format = named_by(path)
    if format is None or (format.name == "txt" and labelled):
        suffixes = ", ".join(
            row.suffixes[0]
            for row in FORMATS.values()
            if row.suffixes and row.can_write and row is not format
        )
        raise DataError(f"{path}: its name does not show the format; end it in one of {suffixes}")
    return format


def named_by(path: Path) -> Format | None:
    """The format that a file's name shows, if any."""
    if pecos.FEATURES_FILE.fullmatch(path.name):
        return FORMATS["pecos"]
    if rawtext.TEXTS_FILE.fullmatch(path.name):
        return FORMATS["rawtext"]
    name = without_suffix(path.name)
    if _named([name], repository.SPLIT_FILE, re.compile(r"lbl_X_Xf\.txt"), repository.EXCLUDED_FILE):
        return FORMATS["repository"]
    suffix = Path(name).suffix.lower()
    return next((format for format in FORMATS.values() if suffix in format.suffixes), None)


def folder_format(folder: Path) -> Format | None:
    """The format of a folder whose files belong together, if it has one."""
    names = sorted(entry.name for entry in folder.iterdir())
    found = _layouts(names)
    if len(found) > 1:
        listed = " and ".join(f"{name} (of {format})" for format, name in found.items())
        raise DataError(f"{folder}: has {listed}; choose with --format {' or '.join(found)}")
    if not found:
        return None
    format = next(iter(found))
    if format == "pecos" and _named(names, rawtext.TEXTS_FILE) and pecos.LABEL_MAP not in names:
        raise DataError(
            f"{folder}: has texts, features and labels as X-Transformer's data sets, but no {pecos.LABEL_MAP}"
            " with a line for each label; add it, or read the folder without it by --format pecos"
        )
    return FORMATS[format]


def _layouts(names: list[str]) -> dict[str, str]:
    """The formats that the names of files in a folder can be of, each with a file that shows it."""
    if ARRAYS_MANIFEST in names:
        return {"arrays": ARRAYS_MANIFEST}
    features, labels = _named(names, pecos.FEATURES_FILE), _named(names, pecos.LABELS_FILE)
    texts, raw_texts = _named(names, pecos.TEXTS_FILE), _named(names, rawtext.TEXTS_FILE)
    raw_labels = _named(names, rawtext.LABELS_FILE)
    found = {"repository": _named(names, *repository.MAIN_FILES)}
    if texts or (features and labels) or (not raw_texts and (features or labels)):
        found["pecos"] = labels or texts or features
    if raw_texts and (raw_labels or not (features and labels)):
        found["rawtext"] = raw_labels or raw_texts
    shown = {format: name for format, name in found.items() if name is not None}
    if not shown and (name := _named(names, repository.EXCLUDED_FILE)):
        return {"repository": name}
    return shown


def _named(names: list[str], *kinds: re.Pattern[str]) -> str | None:
    """The first file with a name of some kinds, perhaps compressed."""
    return next((name for name in names if any(kind.fullmatch(without_suffix(name)) for kind in kinds)), None)


def _unknown(name: str) -> DataError:
    return DataError(
        f"{name}: its name does not show the format; choose one with --format ({', '.join(FORMATS)})"
    )
