"""Parts of a data set that lie in several files: texts, pairs to exclude, and whether the files agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...errors import DataError
from ...strings import Strings
from ...units import counted
from ..files import Input, read_lines, with_any_suffix

SHORT = {"train": "trn", "test": "tst", "valid": "val", "validation": "val"}
"""The names of splits in PECOS folders and in the Extreme Classification Repository."""
LONG = {"trn": "train", "tst": "test", "val": "valid"}
NO_FEATURES = "none"
"""The value of ``features`` that leaves them out."""


class Part(NamedTuple):
    """A file with a row for each example, or for each label."""

    path: Path
    rows: int
    unit: str = "row"


def first_file(folders: Iterable[Path], *names: str) -> Path | None:
    """The first of some files that exists, perhaps compressed."""
    return next(
        (path for folder in folders for name in names if (path := with_any_suffix(folder / name))), None
    )


def lines_or_latin(path: Path) -> Strings:
    """The lines of a text file in UTF-8, or else in Latin-1."""
    try:
        return read_lines(path)
    except DataError:
        with Input(path) as source:
            lines = b"".join(source.blocks()).decode("latin-1").split("\n")
        return Strings.of(line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1]))


def check_rows(parts: Sequence[Part]) -> None:
    """Checks that all files have a row for each example or label."""
    first = parts[0]
    for part in parts[1:]:
        if part.rows != first.rows:
            raise DataError(
                f"{first.path} has {counted(first.rows, first.unit)} but {part.path} has"
                f" {counted(part.rows, part.unit)}; they must agree"
            )
    if not first.rows:
        raise DataError(f"{first.path}: has no examples; choose another file")


def check_only_none(features: str | None, where: str) -> bool:
    """Whether features are wanted, for layouts that have one kind of them."""
    if features not in (None, NO_FEATURES):
        raise DataError(
            f"{where}: has no features to choose from; leave out --features, or give --features {NO_FEATURES}"
        )
    return features is None


def excluded_pairs(folders: Sequence[Path], split: str, rows: int, labels: int) -> sparse.csr_matrix | None:
    """The pairs of ``filter_labels_test.txt``: a row and a label on each line."""
    name = LONG.get(split, split)
    path = first_file(folders, f"filter_labels_{name}.txt", f"{split}_filter_labels.txt")
    if path is None:
        return None
    found: list[npt.NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
    line = 1
    with Input(path) as source:
        for block in source.blocks():
            found.append(_pairs(source, bytes(block), line, (rows, labels)))
            line += block.count(b"\n")
    pairs = np.concatenate(found)
    matrix = sparse.csr_matrix(
        (np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=(rows, labels)
    )
    matrix.data[:] = 1  # a pair that is listed twice counts once
    return matrix


def _pairs(source: Input, block: bytes, first: int, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """The pairs of whole lines; ``first`` is the number of the first."""
    cells = [words for line in block.split(b"\n") if (words := line.split())]
    if all(len(words) == 2 for words in cells):
        try:
            pairs = np.array(cells, np.bytes_).reshape(-1, 2).astype(np.float64)
        except ValueError:
            pairs = np.full((1, 2), np.nan)
        if ((pairs >= 0) & (pairs < shape) & (pairs == np.floor(pairs))).all():
            return pairs.astype(np.int64)
    for number, line in enumerate(block.split(b"\n"), first):
        words = line.split()
        if words and not (len(words) == 2 and all(map(_is_below, words, shape))):
            raise DataError(
                f"{source.name} line {number}: {source.decoded(line, number)[:40]!r} is not a row below"
                f" {shape[0]:,} and a label below {shape[1]:,}; both count from 0"
            )
    return np.zeros((0, 2), np.int64)


def _is_below(word: bytes, count: int) -> bool:
    try:
        return 0 <= float(word) < count and float(word).is_integer()
    except (ValueError, OverflowError):
        return False
