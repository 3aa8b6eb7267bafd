"""Pretrained word vectors.

Text, as of GloVe and word2vec: a word and its numbers on each line, for word2vec after a first line
``words numbers``; also compressed. Safetensors: one table, and its words in ``vocab.txt`` (one per line) or
``tokenizer.json`` next to it.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import takewhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..data.files import Input, read_lines
from ..errors import ConfigError, DataError, raise_machine_fault
from ..regular_files import open_regular, read_regular

LARGEST = 1e18
"""Larger numbers are errors: the standard deviation of such vectors would exceed float32."""

FIRST_LINES = 100
"""Lines whose width counts even if their words are not in the vocabulary."""

Vectors = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


def read_vectors(path: Path, words: list[str], dimension: int) -> Vectors:
    """``places, vectors``: the words among ``words`` that have a vector, and those vectors."""
    places = {word: place for place, word in enumerate(words)}
    is_table = path.suffix == ".safetensors"
    found = _of_tensors(path, places) if is_table else _of_text(path, places, dimension)
    if not len(found[0]):
        raise DataError(
            f"{path}: has no vector for any of the {len(words):,} words in the texts: choose other vectors"
        )
    if found[1].shape[1] != dimension:
        raise ConfigError(
            f"{path}: its vectors have {found[1].shape[1]} dimensions: set dimension={found[1].shape[1]}"
        )
    return found


def _of_text(path: Path, places: dict[str, int], dimension: int) -> Vectors:
    lines: list[tuple[int, int, int, npt.NDArray[np.float32] | None]] = []
    widths: Counter[int] = Counter()
    with Input(path) as source:
        for number, line in source.lines():
            word, _, rest = line.replace("\t", " ").partition(" ")
            if word not in places and number > FIRST_LINES:
                continue
            pieces = rest.split()
            if number == 1 and word.isdecimal() and len(pieces) == 1 and pieces[0].isdecimal():
                continue  # the header of word2vec
            row = _numbers(pieces)
            width = _numbers_at_end(pieces) if row is None else len(row)
            if width:
                widths[width] += 1
            if word in places:
                lines.append((number, places[word], width, row))
    # the width of most lines: single lines may be damaged, or have spaces in the word
    usual = max(widths, key=lambda width: (widths[width], width == dimension), default=dimension)
    kept: list[int] = []
    rows: list[npt.NDArray[np.float32]] = []
    for number, place, width, row in lines:
        if row is None and width >= usual:
            continue  # a word with spaces, as in GloVe 840B: not a word of a text
        if row is None or width != usual:
            raise DataError(f"{path}: line {number} is not a word followed by its numbers: fix or remove it")
        kept.append(place)
        rows.append(row)
    return np.array(kept, np.int64), np.array(rows, np.float32)


def _numbers_at_end(pieces: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda piece: _numbers([piece]) is not None, reversed(pieces)))


def _numbers(pieces: list[str]) -> npt.NDArray[np.float32] | None:
    """The row; None unless all pieces are finite numbers of a sensible size."""
    try:
        row = np.array(pieces, np.float64)  # finds numbers beyond float32 without a warning
    except ValueError:
        return None
    return row.astype(np.float32) if len(row) and (np.abs(row) <= LARGEST).all() else None


def _of_tensors(path: Path, places: dict[str, int]) -> Vectors:
    from safetensors import SafetensorError
    from safetensors.torch import load_file  # numpy has no bf16

    try:
        open_regular(path).close()
        tables = [table for table in load_file(path).values() if table.ndim == 2]
    except (OSError, SafetensorError) as error:
        raise_machine_fault(error, path)
        raise DataError(f"{path}: the vectors cannot be read ({error}): choose another file") from None
    names = _words_of_table(path)
    if len(tables) != 1 or len(tables[0]) != len(names):
        raise DataError(
            f"{path}: must hold one table with a row for each of its {len(names):,} words:"
            " choose another file"
        )
    if not tables[0].shape[1]:
        raise DataError(f"{path}: its vectors are empty: choose another file")
    pairs = [(places[word], row) for row, word in enumerate(names) if word in places]
    at = np.array(pairs, np.int64).reshape(-1, 2)
    vectors = tables[0][at[:, 1]].float()
    if not (vectors.abs() <= LARGEST).all():
        raise DataError(f"{path}: has numbers that are not finite or too large: choose another file")
    return at[:, 0], vectors.numpy()


def _words_of_table(path: Path) -> list[str]:
    plain, tokenizer = path.with_name("vocab.txt"), path.with_name("tokenizer.json")
    if plain.is_file():
        return list(read_lines(plain))
    try:
        numbers = json.loads(read_regular(tokenizer))["model"]["vocab"]
        return sorted(numbers, key=numbers.__getitem__)
    except OSError as error:
        raise_machine_fault(error, tokenizer)
        raise DataError(
            f"{path}: no vocab.txt or tokenizer.json next to it: add the file that lists its words"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(
            f"{tokenizer}: is not a tokenizer with a vocabulary: add a vocab.txt instead"
        ) from None
