"""TF-IDF of words or characters, computed natively on many threads.

    weight(term, text) = tf · idf(term), then each row is divided by its norm

With the same settings the weights are scikit-learn's, tokens included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..config import Config, setting
from ..errors import ConfigError, DataError, ModelError
from ..model_arrays import of_types, restoring
from ..progress import step
from ..sparse import CsrArrays
from ..strings import Strings
from ..units import counted

Progress = Callable[[int, int], object]

_ARRAYS: dict[str, type[np.generic]] = {
    "word_bytes": np.uint8,
    "word_offsets": np.int64,
    "word_slots": np.uint64,
    "word_nodes": np.uint32,
    "gram_slots": np.uint32,
    "idf": np.float32,
}


@dataclass(frozen=True)
class TfidfConfig(Config):
    """How texts are split into terms, which terms are kept, and how they are weighted."""

    analyzer: str = setting(
        "word",
        "units of the terms: words (letters, digits and underscores), words as separated by blanks (blank, "
        "as PECOS), characters (char), or characters within words (char_wb)",
        choices=("word", "blank", "char", "char_wb"),
    )
    ngram_min: int = setting(1, "shortest n-gram that is a term", at_least=1)
    ngram_max: int = setting(1, "longest n-gram that is a term", at_least=1, at_most=255)
    lowercase: bool = setting(True, "convert texts to lower case first")
    shortest_word: int = setting(2, "ignore words of fewer characters", at_least=1)
    first_line: int = setting(
        1, "number of times to count the first of several lines (the title)", at_least=1, at_most=100
    )
    min_df: int | float = setting(
        1, "keep terms that occur in at least this many texts; below 1: a share of the texts", at_least=0
    )
    max_df: int | float = setting(
        1, "keep terms that occur in at most this many texts; up to 1: a share of the texts", above=0
    )
    max_features: int | None = setting(
        None, "maximum vocabulary size; keeps the most frequent terms; none: all terms", at_least=1
    )
    idf: str | None = setting(
        "sklearn",
        "inverse document frequency: ln((1+N)/(1+df)) + 1 (sklearn), max(ln(N/(df+1)), 0) (pecos), or 1 "
        "(none), for N texts, df of them with the term",
        choices=("sklearn", "pecos"),
    )
    smooth_idf: bool = setting(True, "add 1 to N and df, as in the idf formulas (smoothing)")
    sublinear_tf: bool = setting(False, "use 1 + ln(count) instead of the count of a term in a text")
    binary: bool = setting(False, "count each term at most once per text")
    saturation: float | None = setting(
        None,
        "s in tf / (tf + n/s), which replaces tf, for n terms in the text: repeating a word then counts less "
        "in a short text than in a long one; none: plain tf",
        above=0,
    )
    norm: str | None = setting("l2", "norm to divide each row by; none: no norm", choices=("l1", "l2"))

    def check(self) -> None:
        if self.ngram_min > self.ngram_max:
            raise ConfigError(
                f"ngram_min is {self.ngram_min} but ngram_max only {self.ngram_max}: raise ngram_max"
            )
        for name, limit in (("min_df", self.min_df), ("max_df", self.max_df)):
            if limit > 1 and limit != int(limit):
                raise ConfigError(f"{name} must be a share below 1 or a whole number of texts, not {limit!r}")

    def df_limits(self, texts: int) -> tuple[float, float]:
        """The minimum and maximum number of texts that a term may occur in, of ``texts``."""
        fewest = self.min_df * texts if self.min_df < 1 else self.min_df
        most = self.max_df * texts if self.max_df <= 1 else self.max_df
        if most < fewest:
            raise ConfigError(
                f"min_df {self.min_df!r} and max_df {self.max_df!r} leave no terms: they require a"
                f" term to be in at least {fewest:g} and at most {most:g} of {texts:,} texts. Lower min_df or"
                " raise max_df"
            )
        return float(fewest), float(most)


class Tfidf:
    """Learns a vocabulary, then turns texts into rows of weights. Column ``j`` is the term ``vocabulary[j]``.

    Rows and vocabulary are the same for any number of threads.
    """

    def __init__(self, config: TfidfConfig | None = None) -> None:
        self.config = config or TfidfConfig()
        self._arrays: dict[str, npt.NDArray[Any]] | None = None
        self._native: _native.Tfidf | None = None
        self._vocabulary: Strings | None = None

    def __repr__(self) -> str:
        size = f"{self.n_features:,} terms" if self._arrays is not None else "not fitted"
        return f"Tfidf({size}, {self.config})"

    def fit(self, texts: Iterable[str], threads: int = 1, progress: Progress | None = None) -> Tfidf:
        """Learns the vocabulary. ``progress(done, total)`` is called from time to time."""
        self._fit(Strings.of(texts), False, threads, progress)
        return self

    def fit_transform(
        self, texts: Iterable[str], threads: int = 1, progress: Progress | None = None
    ) -> sparse.csr_matrix:
        """Learns the vocabulary and returns the rows of the same texts, in one pass."""
        rows = self._fit(Strings.of(texts), True, threads, progress)
        return self._matrix(*rows)

    def transform(
        self, texts: Iterable[str], threads: int = 1, progress: Progress | None = None
    ) -> sparse.csr_matrix:
        """One row per text; terms outside the vocabulary are ignored."""
        return self._matrix(*self.rows(texts, threads, progress))

    def rows(self, texts: Iterable[str], threads: int = 1, progress: Progress | None = None) -> CsrArrays:
        """`transform` as three arrays."""
        strings = Strings.of(texts)
        native = self._fitted()
        try:
            return native.transform(strings.buffer, strings.offsets, threads, progress)
        except ValueError as error:
            raise ModelError(f"TF-IDF cannot be computed: {error}") from error

    def words(
        self,
        texts: Iterable[str],
        *,
        first: int,
        unknown: int | None,
        longest: int,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """``indptr, ids`` of the words of every text in order, at most ``longest`` words.

        The word of column ``j`` is ``first + j``; other words are ``unknown``, or left out if that is None.
        """
        strings = Strings.of(texts)
        left_out = -1 if unknown is None else unknown
        native = self._fitted()
        try:
            return native.words(strings.buffer, strings.offsets, first, left_out, longest, threads, progress)
        except ValueError as error:
            raise ModelError(f"texts cannot be converted to word ids: {error}") from error

    @property
    def n_features(self) -> int:
        """Number of terms in the vocabulary."""
        return len(self.idf)

    @property
    def idf(self) -> npt.NDArray[np.float32]:
        """The inverse document frequency of every term."""
        return self.state()["idf"]

    @property
    def vocabulary(self) -> Strings:
        """The terms, sorted by code point; words of an n-gram are joined by one blank."""
        if self._vocabulary is None:
            try:
                self._vocabulary = Strings(*self._fitted().terms())
            except ValueError as error:
                raise ModelError(
                    f"the TF-IDF vocabulary cannot be read ({error}): retrain the model"
                ) from None
        return self._vocabulary

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that was learned, as plain arrays, with hash tables, so that loading rebuilds nothing."""
        if self._arrays is None:
            raise ModelError("this TF-IDF is not fitted yet: call fit first")
        return self._arrays

    @classmethod
    def from_state(cls, config: TfidfConfig, arrays: Mapping[str, npt.NDArray[Any]]) -> Tfidf:
        """The inverse of `state`. Arrays, memory-mapped ones too, are used in place."""
        tfidf = cls(config)
        with restoring(arrays, "the TF-IDF cannot be used"):
            tfidf._use(of_types(arrays, _ARRAYS))
        return tfidf

    def _fit(self, texts: Strings, with_rows: bool, threads: int, progress: Progress | None) -> Any:
        if len(texts) == 0:
            raise DataError("TF-IDF needs at least one text: add texts")
        fewest, most = self.config.df_limits(len(texts))
        try:
            arrays, rows = _native.fit_tfidf(
                self._options(),
                texts.buffer,
                texts.offsets,
                min_count=fewest,
                max_count=most,
                max_features=self.config.max_features or 0,
                with_rows=with_rows,
                threads=threads,
                progress=progress,
            )
        except ValueError as error:
            raise DataError(f"TF-IDF cannot be computed: {error}") from error
        if len(arrays["idf"]) == 0:
            raise DataError(
                f"no terms are left from {counted(len(texts), 'text')}: there are no words, or only too short"
                " ones" + self._dropping(fewest > 1, most < len(texts))
            )
        self._use(arrays)
        return rows

    def _dropping(self, rare: bool, frequent: bool) -> str:
        """The settings that drop rare or frequent terms, as the end of a sentence."""
        names = [name for name, drops in (("min_df", rare), ("max_df", frequent)) if drops]
        limits = " and ".join(f"{name} {getattr(self.config, name)!r}" for name in names)
        return limits and f", or {limits} drop{'s' if len(names) == 1 else ''} them all"

    def _use(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._native = _native.Tfidf(self._options(), **arrays)
        self._arrays = arrays
        self._vocabulary = None

    def _fitted(self) -> _native.Tfidf:
        if self._native is None:
            raise ModelError("this TF-IDF is not fitted yet: call fit first")
        return self._native

    def _options(self) -> _native.TfidfOptions:
        config = self.config
        return _native.TfidfOptions(
            analyzer=config.analyzer,
            lowercase=config.lowercase,
            shortest_word=config.shortest_word,
            first_line=config.first_line,
            ngram_min=config.ngram_min,
            ngram_max=config.ngram_max,
            idf=config.idf,
            smooth_idf=config.smooth_idf,
            sublinear_tf=config.sublinear_tf,
            binary=config.binary,
            saturation=config.saturation or 0.0,
            norm=config.norm,
        )

    def _matrix(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        data: npt.NDArray[np.float32],
    ) -> sparse.csr_matrix:
        matrix = sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.n_features))
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix


USUAL_TFIDF = TfidfConfig(ngram_max=2, min_df=2, saturation=15, first_line=4)
"""The TF-IDF defaults of most methods."""


def fitted_tfidf(config: TfidfConfig, texts: Strings, threads: int) -> tuple[Tfidf, sparse.csr_matrix]:
    """The vocabulary of the texts and their features. If no term is in several texts, all terms are kept."""
    with step("TF-IDF") as progress:
        try:
            tfidf = Tfidf(config)
            X = tfidf.fit_transform(texts, threads, progress)
        except (ConfigError, DataError) as error:
            if config.min_df <= 1 or (isinstance(error, ConfigError) and len(texts) > 1):
                raise
            tfidf = Tfidf(config.replace_settings({"min_df": 1}))
            X = tfidf.fit_transform(texts, threads, progress)
    return tfidf, X
