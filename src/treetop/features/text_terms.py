"""`TextTerms`: the features of one text by name, and the positions of its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..explanation import Span, Term
from ..sparse import CsrArrays
from .tfidf import Tfidf, TfidfConfig


@dataclass(frozen=True, eq=False)
class TextTerms:
    """One row of features, named by the terms of the vocabulary, or by number without one."""

    X: CsrArrays
    vocabulary: Sequence[str] | None = None
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    @classmethod
    def of_text(cls, text: str, X: CsrArrays, tfidf: Tfidf) -> TextTerms:
        """``X`` is the row of ``text``."""
        return cls(X, tfidf.vocabulary, word_spans(text, tfidf.config))

    def weighted_terms(
        self, features: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]
    ) -> tuple[Term, ...]:
        """The contribution of each feature with a weight to Σ value · weight, largest first."""
        order = np.argsort(features)
        features, weights = features[order], weights[order].astype(np.float64)
        _, ids, row = self.X
        values = row.astype(np.float64)
        at = np.searchsorted(features, ids)
        weighted = at < len(features)
        weighted[weighted] = features[at[weighted]] == ids[weighted]
        terms = [
            self._term(int(feature), float(value), float(weight))
            for feature, value, weight in zip(
                ids[weighted], values[weighted], weights[at[weighted]], strict=True
            )
        ]
        return tuple(sorted(terms, key=lambda term: (-abs(term.contribution), term.name)))

    def _term(self, feature: int, value: float, weight: float) -> Term:
        name = f"feature {feature}" if self.vocabulary is None else self.vocabulary[feature]
        return Term(name, value, weight, value * weight, self.spans.get(name, ()))


_WORD_CHARACTERS = {"word": r"\w", "blank": "[^ ]"}
"""Characters of words, by analyzer."""


def word_spans(text: str, config: TfidfConfig) -> dict[str, tuple[Span, ...]]:
    """Every word n-gram of the text and its positions; nothing where terms are not words.

    The words are those of cpp/tokens.hpp: the longest runs of enough characters that make words.
    """
    if config.analyzer not in _WORD_CHARACTERS:
        return {}
    lowered = text.lower() if config.lowercase else text
    origin = _origins(text, lowered)
    pattern = re.compile(rf"{_WORD_CHARACTERS[config.analyzer]}{{{config.shortest_word},}}")
    words = [(match[0], match.start(), match.end()) for match in pattern.finditer(lowered)]
    spans: dict[str, list[Span]] = {}
    for length in range(config.ngram_min, config.ngram_max + 1):
        for first in range(len(words) - length + 1):
            gram = words[first : first + length]
            span = origin[gram[0][1]], origin[gram[-1][2] - 1] + 1
            spans.setdefault(" ".join(word for word, _, _ in gram), []).append(span)
    return {name: tuple(places) for name, places in spans.items()}


def _origins(text: str, lowered: str) -> Sequence[int]:
    """The position in ``text`` of every character of its lower-case form, which may be longer."""
    if len(lowered) == len(text):
        return range(len(text))
    return [at for at, character in enumerate(text) for _ in character.lower()]
