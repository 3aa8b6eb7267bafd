"""Words of texts as ids, and their vectors.

0            padding
1            words outside the vocabulary, where they are kept
2, 3, …      the words of the vocabulary, in alphabetical order
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ..config import Config, setting
from ..data.files import read_lines
from ..errors import ConfigError, DataError
from ..features import Tfidf, TfidfConfig
from ..model_arrays import Numbers, checked
from ..strings import Strings
from .batches import PADDING
from .word_vectors import read_vectors

UNKNOWN = 1
FIRST = 2


@dataclass(frozen=True)
class WordsConfig(Config):
    """The vocabulary and its word vectors."""

    lowercase: bool = setting(True, "convert texts to lower case first")
    shortest_word: int = setting(1, "ignore words of fewer characters", at_least=1)
    min_df: int | float = setting(
        2, "keep words that occur in at least this many texts; below 1: a share of the texts", at_least=0
    )
    max_df: int | float = setting(
        1, "keep words that occur in at most this many texts; up to 1: a share of the texts", above=0
    )
    max_words: int | None = setting(
        None, "maximum vocabulary size; keeps the most frequent words; none: all words", at_least=1
    )
    vocabulary: str | None = setting(
        None, "vocabulary file with one word per line; all other words are ignored", names_file=True
    )
    unknown: str = setting(
        "mark", "treatment of words outside the vocabulary: one shared vector (mark), or left out (drop)",
        choices=("mark", "drop"),
    )  # fmt: skip
    dimension: int = setting(300, "dimension of the word vectors", at_least=1)
    vectors: str | None = setting(
        None,
        "file of pretrained word vectors: GloVe or word2vec text, or .safetensors; none: random",
        names_file=True,
    )
    spread: float = setting(0.1, "standard deviation of random word vectors", above=0)
    trainable: bool = setting(True, "train the word vectors too; false: freeze them")

    def tfidf(self) -> TfidfConfig:
        """The settings under which the vocabulary is counted."""
        return TfidfConfig(
            lowercase=self.lowercase,
            shortest_word=self.shortest_word,
            min_df=self.min_df,
            max_df=self.max_df,
            max_features=self.max_words,
        )


class Words:
    """A vocabulary. The native TF-IDF finds and counts the words."""

    def __init__(self, config: WordsConfig, tfidf: Tfidf, kept: npt.NDArray[np.int32] | None = None) -> None:
        self.config = config
        self.tfidf = tfidf
        self.kept = kept
        """Terms that are in the vocabulary file, if there is one."""

    @classmethod
    def fit(cls, texts: Strings, config: WordsConfig, threads: int) -> Words:
        settings = config.tfidf()
        try:
            tfidf = Tfidf(settings).fit(texts, threads)
        except (DataError, ConfigError):
            if (config.min_df, config.max_df) != (WordsConfig.min_df, WordsConfig.max_df):
                raise
            # With so few texts that they share no word, all words are kept, unless min_df or max_df is set.
            tfidf = Tfidf(settings.replace_settings({"min_df": 1})).fit(texts, threads)
        kept = None
        if config.vocabulary is not None:
            kept = _terms_in_file(Path(config.vocabulary), tfidf)
        return cls(config, tfidf, kept)

    def __len__(self) -> int:
        """Number of ids, those of padding and unknown words included."""
        return FIRST + (self.tfidf.n_features if self.kept is None else len(self.kept))

    def names(self) -> list[str]:
        """The words with the ids `FIRST`, `FIRST` + 1, …"""
        vocabulary = self.tfidf.vocabulary
        return list(vocabulary if self.kept is None else vocabulary.take(self.kept))

    def numbers(
        self, texts: Strings, longest: int, threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """``indptr, ids`` of the words of each text, at most ``longest``."""
        unknown = UNKNOWN if self.config.unknown == "mark" else None
        if self.kept is None:
            return self.tfidf.words(texts, first=FIRST, unknown=unknown, longest=longest, threads=threads)
        everything = int(texts.lengths.max(initial=0))
        indptr, numbers = self.tfidf.words(
            texts, first=FIRST, unknown=unknown, longest=everything, threads=threads
        )
        table = np.full(FIRST + self.tfidf.n_features, -1 if unknown is None else UNKNOWN, np.int32)
        table[FIRST + self.kept] = FIRST + np.arange(len(self.kept), dtype=np.int32)
        table[UNKNOWN] = UNKNOWN
        return _cut(indptr, table[numbers], longest)

    def embedding(self) -> nn.Embedding:
        """Initial vectors: pretrained where available, the others random with the same standard deviation."""
        layer = nn.Embedding(len(self), self.config.dimension, padding_idx=PADDING)
        spread = self.config.spread
        if self.config.vectors is not None:
            places, vectors = read_vectors(Path(self.config.vectors), self.names(), self.config.dimension)
            spread = float(vectors.std()) or spread
        nn.init.normal_(layer.weight, std=spread)
        with torch.no_grad():
            if self.config.vectors is not None:
                layer.weight[FIRST + torch.from_numpy(places)] = torch.from_numpy(vectors)
            layer.weight[PADDING] = 0
        layer.weight.requires_grad = self.config.trainable
        return layer

    def state(self) -> dict[str, npt.NDArray]:
        arrays = dict(self.tfidf.state())
        return arrays if self.kept is None else arrays | {"kept": self.kept}

    @classmethod
    def from_state(cls, config: WordsConfig, arrays: Mapping[str, npt.NDArray]) -> Words:
        tfidf = Tfidf.from_state(config.tfidf(), arrays)
        kept = None
        if "kept" in arrays:
            words = Numbers(np.int32, least=0, most=tfidf.n_features - 1, rising=True)
            kept = checked(arrays, {"kept": words})["kept"]
        return cls(config, tfidf, kept)


def _terms_in_file(path: Path, tfidf: Tfidf) -> npt.NDArray[np.int32]:
    words: set[str] = set()
    for line in read_lines(path):
        words.update(line.split())
    kept = [place for place, word in enumerate(tfidf.vocabulary) if word in words]
    if not kept:
        raise DataError(f"{path}: lists none of the words of the texts: list some, one per line")
    return np.array(kept, np.int32)


def _cut(
    indptr: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32], longest: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Drops negative ids, and all after the first ``longest`` of a row."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    row, numbers = row[numbers >= 0], numbers[numbers >= 0]
    starts = np.searchsorted(row, np.arange(len(indptr)))
    near = np.arange(len(row)) - starts[row] < longest
    counts = np.bincount(row[near], minlength=len(indptr) - 1)
    return np.append(0, np.cumsum(counts)), numbers[near]
