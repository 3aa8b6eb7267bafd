"""The TF-IDF of PECOS's text2text models, as its vectorizer saves it:

    config.json                      {"type": "tfidf"}
    meta.json                        num_base_vect, norm_p
    0.base/tokenizer/config.json     token_type: 10 for words between blanks
    0.base/tokenizer/vocab.txt       how many words, then number<TAB>word on each line
    0.base/vectorizer/config.json    kwargs: ngram_range, binary, sublinear_tf, use_idf, norm_p, max_length, …
    0.base/vectorizer/tfidf-model.txt
                                     how many terms, then number<TAB>idf<TAB>length<TAB>numbers of its words

Older folders have neither meta.json nor the level 0.base.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.json_files import COPY_AGAIN, read_object
from ..errors import ModelError, raise_machine_fault
from ..regular_files import read_regular
from ..strings import Strings
from .tfidf import Tfidf, TfidfConfig

_WORDS = 10
_NUMBER = re.compile(r"[0-9]{1,18}")
_ONLY_LINEAR = "load the linear model in xlinear_ensemble/0 by itself, which takes features"
_NORMS = {1: "l1", 2: "l2", "l1": "l1", "l2": "l2"}


def read_pecos_tfidf(folder: Path) -> tuple[Tfidf, npt.NDArray[np.int64]]:
    """The TF-IDF, and the column of each of PECOS's terms in it."""
    base, norm = _base(folder)
    words = _words(base / "tokenizer")
    options = read_object(base / "vectorizer" / "config.json", "kwargs")
    config = _config(options, norm, base / "vectorizer" / "config.json")
    terms, idf = _terms(base / "vectorizer" / "tfidf-model.txt", words)
    if any(not config.ngram_min <= term.count(" ") + 1 <= config.ngram_max for term in terms):
        raise ModelError(f"{base / 'vectorizer'}: a term is longer or shorter than ngram_range; {COPY_AGAIN}")
    # Fitted on the terms themselves; without idf, as a term of all texts would be left out. Words and n-grams
    # that are only parts of other terms get the idf 0, which leaves weights and norms as they are.
    tfidf = Tfidf(dataclasses.replace(config, idf=None)).fit(Strings.of(terms))
    columns = np.array([tfidf.vocabulary.position(term) for term in terms], np.int64)
    if len(np.unique(columns)) < len(columns) or (columns < 0).any():
        raise ModelError(f"{base / 'vectorizer'}: a term occurs twice, or is no term; {COPY_AGAIN}")
    weights = np.zeros(tfidf.n_features, np.float32)
    weights[columns] = idf if options.get("use_idf", True) else 1
    return Tfidf.from_state(config, dict(tfidf.state()) | {"idf": weights}), columns


def _base(folder: Path) -> tuple[Path, Any]:
    """The folder of the only base vectorizer, and the norm of the rows where it is given for the whole."""
    kind = read_object(folder / "config.json").get("type") if (folder / "config.json").exists() else "tfidf"
    if kind != "tfidf":
        raise ModelError(
            f"{folder}: its vectorizer is of PECOS's type {kind}, which treetop does not have (only tfidf):"
            f" {_ONLY_LINEAR}"
        )
    if not (folder / "meta.json").exists():
        return folder, None
    options = read_object(folder / "meta.json", "kwargs")
    if options.get("num_base_vect") != 1:
        raise ModelError(
            f"{folder}: joins {options.get('num_base_vect')} vectorizers, and treetop reads one:"
            f" {_ONLY_LINEAR}"
        )
    return folder / "0.base", options.get("norm_p")


def _config(options: Mapping[str, Any], norm: Any, path: Path) -> TfidfConfig:
    length = options.get("max_length", -1)
    if not isinstance(length, int) or length > 0:
        raise ModelError(
            f"{path}: truncates texts to max_length={length} words, which treetop's TF-IDF does not do:"
            f" {_ONLY_LINEAR}"
        )
    try:
        shortest, longest = options["ngram_range"]
        return TfidfConfig(
            analyzer="blank",
            ngram_min=int(shortest),
            ngram_max=int(longest),
            lowercase=False,
            shortest_word=1,
            idf="pecos",
            smooth_idf=bool(options["smooth_idf"]),
            sublinear_tf=bool(options["sublinear_tf"]),
            binary=bool(options["binary"]),
            norm=_NORMS[options["norm_p"] if norm is None else norm],
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: is damaged ({error}); {COPY_AGAIN}") from None


def _words(folder: Path) -> dict[int, str]:
    kind = read_object(folder / "config.json").get("token_type")
    if kind != _WORDS:
        raise ModelError(
            f"{folder}: cuts texts into characters (token_type {kind}), not as treetop does: {_ONLY_LINEAR}"
        )
    path = folder / "vocab.txt"
    words: dict[int, str] = {}
    for number, line in _lines(path):
        key, tab, word = line.partition("\t")
        if not tab or not _NUMBER.fullmatch(key) or not word or " " in word or int(key) in words:
            raise ModelError(f"{path} line {number}: expected number<TAB>word; {COPY_AGAIN}")
        words[int(key)] = word
    return words


def _terms(path: Path, words: Mapping[int, str]) -> tuple[list[str], npt.NDArray[np.float32]]:
    """The terms in the order of their numbers, words joined by one blank, and their idf."""
    found: dict[int, tuple[str, float]] = {}
    for number, line in _lines(path):
        try:
            key, idf, length, listed = line.split("\t")
            term = [words[int(word)] for word in listed.split(" ")]
            if int(length) != len(term) or int(key) in found or not 0 <= float(idf) < np.inf:
                raise ValueError
            found[int(key)] = " ".join(term), float(idf)
        except (ValueError, LookupError):
            raise ModelError(
                f"{path} line {number}: expected number<TAB>idf<TAB>length<TAB>words; {COPY_AGAIN}"
            ) from None
    if not found or sorted(found) != list(range(len(found))):
        raise ModelError(f"{path}: its terms are not numbered 0, 1, …; {COPY_AGAIN}")
    return [found[key][0] for key in range(len(found))], np.array(
        [found[key][1] for key in range(len(found))], np.float32
    )


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines after the first, which says how many there are, with their line numbers."""
    try:
        *lines, rest = read_regular(path).decode().split("\n")
        if rest or int(lines[0]) != len(lines) - 1:
            raise ValueError("it does not have as many lines as its first line says")
    except (OSError, LookupError, ValueError) as error:
        raise_machine_fault(error, path)
        raise ModelError(f"{path}: cannot be read ({error}); {COPY_AGAIN}") from None
    return list(enumerate(lines[1:], 2))
