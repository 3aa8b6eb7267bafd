"""`LabelSearch`: labels by a part of their name, fast even among millions.

Names, in lower case and without accents, are ranked by decreasing frequency: the name of the lower rank is
the better match. Names share words, so the search runs over the distinct words, each with a list of the ranks
of its names. Words are numbered by first occurrence, hence by their best name: in this order a search may
stop once it has enough names that rank before the next word's best.

- A prefix of a word is a range of the words in alphabetical order, found by bisection.
- A substring of a word is searched for in one buffer of all words.
- A query of several words, or with punctuation, is compared with the best names that contain one of its
  words, or a word that begins or ends like it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..strings import Strings

MAX_CHECKED = 4000
"""Names compared one by one."""
MAX_QUERY = 200
"""Characters of a query."""
CHUNK = 1 << 20
"""Bytes searched at a time; other threads may run in between."""
_WORD = re.compile("[a-z0-9\x80-\U0010ffff]+")
_IN_WORD = [byte >= 0x80 or chr(byte).isalnum() for byte in range(256)]
_END = b"\0"

Ranks = npt.NDArray[np.int32]


class LabelMatch(NamedTuple):
    """A label that matches a query."""

    label: str
    texts: int | None
    """Training texts with this label, if known."""
    text: str | None
    """Its readable name, if it differs from the label."""


class LabelSearch:
    """Finds matches at the start of a word first, then anywhere in the name; each by decreasing frequency."""

    def __init__(self, labels: Strings, texts: Strings | None, counts: npt.NDArray[np.int64] | None) -> None:
        self._labels, self._texts, self._counts = labels, texts, counts
        self._order = np.arange(len(labels)) if counts is None else np.argsort(-counts, kind="stable")
        """Rank → label."""
        numbers: dict[str, int] = {}
        words, ranks, names = array("i"), array("i"), []
        for rank, name in enumerate(_names(labels, texts, self._order)):
            names.append(name)
            for word in _WORD.findall(name):
                words.append(numbers.setdefault(word, len(numbers)))
                ranks.append(rank)
        joined = Strings.of(names)
        self._names, self._name_starts = joined.buffer.tobytes(), joined.offsets
        self._list_starts, self._lists = _rank_lists(
            np.array(words, np.int64), np.array(ranks, np.int64), len(numbers)
        )
        self._words = Strings.of(numbers)
        self._joined = _END + _END.join(word.encode("utf-8", "replace") for word in numbers) + _END
        self._word_starts = self._words.offsets + np.arange(1, len(self._words) + 2)
        """Start of each word in the joined buffer."""
        keys = list(numbers)
        self._alphabetical = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int32)

    def find(self, query: str, limit: int) -> list[LabelMatch]:
        """The best matches for what was typed so far; the most frequent labels for an empty query."""
        wanted = normalised(query[:MAX_QUERY]).strip()
        if not wanted:
            return [self._match(rank) for rank in range(min(limit, len(self._order)))]
        ranks = self._with_prefix(wanted, limit)
        if len(ranks) < limit:
            known = set(ranks)
            inside = self._containing(wanted, limit + len(ranks))
            ranks += [rank for rank in inside if rank not in known][: limit - len(ranks)]
        return [self._match(rank) for rank in ranks]

    def _match(self, rank: int) -> LabelMatch:
        label = int(self._order[rank])
        name = self._labels[label]
        text = None if self._texts is None else self._texts[label]
        count = None if self._counts is None else int(self._counts[label])
        return LabelMatch(name, count, None if text == name else text)

    def _with_prefix(self, wanted: str, limit: int) -> list[int]:
        """Ranks of names in which a word begins with ``wanted``."""
        first = _WORD.match(wanted)
        if first is None:
            return []
        if first.end() == len(wanted):
            return self._best(self._words_with_prefix(wanted, limit), limit)
        number = self._number_of(first[0])
        if number is None:
            return []
        return self._checked(self._ranks_of(number), wanted, limit, at_word=True)

    def _containing(self, wanted: str, limit: int) -> list[int]:
        """Ranks of names that contain ``wanted``."""
        words = list(_WORD.finditer(wanted))
        if not words:
            return self._checked(np.arange(min(MAX_CHECKED, len(self._order)), dtype=np.int32), wanted, limit)
        if words[0].end() - words[0].start() == len(wanted):
            return self._best(self._words_containing(wanted.encode("utf-8", "replace")), limit)
        whole = [word[0] for word in words if word.start() > 0 and word.end() < len(wanted)]
        cut = max(words[0], words[-1], key=lambda word: word.end() - word.start())
        numbers: Iterable[int]
        if whole:
            number = self._number_of(max(whole, key=len))
            numbers = () if number is None else (number,)
        elif cut.start() > 0:
            numbers = self._words_with_prefix(cut[0], limit)
        else:
            numbers = self._words_containing(cut[0].encode("utf-8", "replace") + _END)
        return self._checked(np.array(self._best(numbers, MAX_CHECKED), np.int32), wanted, limit)

    # -- words -----------------------------------------------------------------------------------------------

    def _words_with_prefix(self, prefix: str, limit: int) -> Iterator[int]:
        """Numbers of the words with this prefix, ascending."""
        low, high = self._bisect(prefix), self._bisect(prefix + chr(0x10FFFF))
        numbers = self._alphabetical[low:high]
        several = 4 * limit
        if len(numbers) > several:
            numbers = np.partition(numbers, several)
            yield from np.sort(numbers[:several]).tolist()
            numbers = numbers[several:]
        yield from np.sort(numbers).tolist()

    def _words_containing(self, piece: bytes) -> Iterator[int]:
        """Numbers of the words that contain ``piece``, ascending. A final _END matches the end of a word."""
        at, size = 0, len(self._joined)
        while at < size:
            hit = self._joined.find(piece, at, at + CHUNK + len(piece))
            if hit < 0:
                at += CHUNK
                continue
            number = int(np.searchsorted(self._word_starts, hit, "right")) - 1
            yield number
            at = int(self._word_starts[number + 1]) - 1

    def _number_of(self, word: str) -> int | None:
        at = self._bisect(word)
        if at < len(self._alphabetical) and self._words[int(self._alphabetical[at])] == word:
            return int(self._alphabetical[at])
        return None

    def _bisect(self, text: str) -> int:
        """Number of words before ``text`` in alphabetical order."""
        low, high = 0, len(self._alphabetical)
        while low < high:
            middle = (low + high) // 2
            if self._words[int(self._alphabetical[middle])] < text:
                low = middle + 1
            else:
                high = middle
        return low

    # -- names -----------------------------------------------------------------------------------------------

    def _ranks_of(self, number: int) -> Ranks:
        """Ranks of the names with this word, ascending."""
        return self._lists[self._list_starts[number] : self._list_starts[number + 1]]

    def _best(self, numbers: Iterable[int], limit: int) -> list[int]:
        """The lowest ``limit`` ranks of the names with any of the words."""
        numbers, size = iter(numbers), 16
        best = np.zeros(0, np.int32)
        while block := list(islice(numbers, size)):
            lists = [self._ranks_of(number)[:limit] for number in block]
            if len(best) == limit:
                if best[-1] <= lists[0][0]:
                    break
                lists = [ranks[: np.searchsorted(ranks, best[-1])] for ranks in lists]
            best = np.unique(np.concatenate([best, *lists]))[:limit]
            size = 256
        return best.tolist()

    def _checked(self, ranks: Ranks, wanted: str, limit: int, *, at_word: bool = False) -> list[int]:
        """The first ``limit`` ranks whose names contain ``wanted``; ``at_word``: at the start of a word."""
        piece, names = wanted.encode("utf-8", "replace"), self._names
        ranks = ranks[:MAX_CHECKED]
        starts, ends = self._name_starts[ranks].tolist(), self._name_starts[ranks + 1].tolist()
        found: list[int] = []
        for rank, start, end in zip(ranks.tolist(), starts, ends, strict=True):
            at = names.find(piece, start, end)
            while at_word and at > start and _IN_WORD[names[at - 1]]:
                at = names.find(piece, at + 1, end)
            if at >= 0:
                found.append(rank)
                if len(found) == limit:
                    break
        return found


def normalised(text: str) -> str:
    """The text in lower case, without accents."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(char for char in parts if not unicodedata.combining(char))
    return text.lower().replace("\0", " ")


def _names(labels: Strings, texts: Strings | None, order: npt.NDArray[np.int64]) -> Iterator[str]:
    """Normalised names in the given order. A label's readable name is part of its name."""
    readable: Iterable[Any] = iter(str, None) if texts is None else texts.take(order)
    for name, text in zip(labels.take(order), readable, strict=False):
        plain = normalised(name)
        yield f"{plain}\n{normalised(text)}" if text and text != name else plain


def _rank_lists(
    words: npt.NDArray[np.int64], ranks: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.int64], Ranks]:
    """Start of each word's list, and the concatenated lists of the ranks of its names."""
    pairs = np.unique((words << 32) | ranks)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(pairs >> 32, minlength=count), out=starts[1:])
    return starts, (pairs & 0xFFFFFFFF).astype(np.int32)
