"""`LabelSearch`: labels by a part of their name, quick also among millions.

Names, in lower case and without accents, are numbered by falling frequency: the smaller of two numbers is
the better hit. Names share words, so it is the distinct words that are searched, and each has the list of its
names. Words are numbered as they first occur, hence by their best name: reading them in that order, a search
may stop as soon as enough names are found that are better than the next word's best.

- A word's beginning is a range of the words in alphabetical order, found by bisection.
- A piece of a word is looked for in all words, joined to one buffer.
- A query of several words, or with other signs, is compared with the best names that have one of its words,
  or a word that ends or begins as it does.
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

CHECKED = 4000
"""Names that are compared one by one at most."""
LONGEST = 200
"""Characters of a query."""
CHUNK = 1 << 20
"""Bytes that are searched at a time: other threads get their turn in between."""
_WORD = re.compile("[a-z0-9\x80-\U0010ffff]+")
_IN_WORD = [byte >= 0x80 or chr(byte).isalnum() for byte in range(256)]
_END = b"\0"

Places = npt.NDArray[np.int32]


class Found(NamedTuple):
    """A label that a query finds."""

    label: str
    texts: int
    """Training texts that have it."""
    text: str | None
    """Its readable name, where it has another."""


class LabelSearch:
    """Where a word begins with the query first, then anywhere in the name; frequent ones first in each."""

    def __init__(self, labels: Strings, texts: Strings | None, counts: npt.NDArray[np.int64]) -> None:
        self._labels, self._texts, self._counts = labels, texts, counts
        self._order = np.argsort(-counts, kind="stable")
        """Place → label."""
        numbers: dict[str, int] = {}
        words, places, names = array("i"), array("i"), []
        for place, name in enumerate(_names(labels, texts, self._order)):
            names.append(name)
            for word in _WORD.findall(name):
                words.append(numbers.setdefault(word, len(numbers)))
                places.append(place)
        joined = Strings.of(names)
        self._names, self._name_begins = joined.buffer.tobytes(), joined.offsets
        self._listed, self._lists = _lists(
            np.array(words, np.int64), np.array(places, np.int64), len(numbers)
        )
        self._words = Strings.of(numbers)
        self._joined = _END + _END.join(word.encode("utf-8", "replace") for word in numbers) + _END
        self._begins = self._words.offsets + np.arange(1, len(self._words) + 2)
        """Where each word begins in the joined buffer."""
        keys = list(numbers)
        self._alphabet = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int32)

    def find(self, query: str, limit: int) -> list[Found]:
        """The best labels for what was typed so far; for nothing the most frequent."""
        wanted = normalised(query[:LONGEST]).strip()
        if not wanted:
            return [self._found(place) for place in range(min(limit, len(self._order)))]
        places = self._beginning(wanted, limit)
        if len(places) < limit:
            known = set(places)
            inside = self._containing(wanted, limit + len(places))
            places += [place for place in inside if place not in known][: limit - len(places)]
        return [self._found(place) for place in places]

    def _found(self, place: int) -> Found:
        label = int(self._order[place])
        name = self._labels[label]
        text = None if self._texts is None else self._texts[label]
        return Found(name, int(self._counts[label]), None if text == name else text)

    def _beginning(self, wanted: str, limit: int) -> list[int]:
        """Places of names in which a word begins with ``wanted``."""
        first = _WORD.match(wanted)
        if first is None:
            return []
        if first.end() == len(wanted):
            return self._best(self._words_beginning(wanted, limit), limit)
        number = self._number_of(first[0])
        if number is None:
            return []
        return self._checked(self._places_of(number), wanted, limit, at_word=True)

    def _containing(self, wanted: str, limit: int) -> list[int]:
        """Places of names that have ``wanted`` anywhere."""
        words = list(_WORD.finditer(wanted))
        if not words:
            return self._checked(np.arange(min(CHECKED, len(self._order)), dtype=np.int32), wanted, limit)
        if words[0].end() - words[0].start() == len(wanted):
            return self._best(self._words_with(wanted.encode("utf-8", "replace")), limit)
        whole = [word[0] for word in words if word.start() > 0 and word.end() < len(wanted)]
        cut = max(words[0], words[-1], key=lambda word: word.end() - word.start())
        numbers: Iterable[int]
        if whole:
            number = self._number_of(max(whole, key=len))
            numbers = () if number is None else (number,)
        elif cut.start() > 0:
            numbers = self._words_beginning(cut[0], limit)
        else:
            numbers = self._words_with(cut[0].encode("utf-8", "replace") + _END)
        return self._checked(np.array(self._best(numbers, CHECKED), np.int32), wanted, limit)

    # -- words -----------------------------------------------------------------------------------------------

    def _words_beginning(self, start: str, limit: int) -> Iterator[int]:
        """Numbers, rising, of the words that begin so."""
        low, high = self._bisect(start), self._bisect(start + chr(0x10FFFF))
        numbers = self._alphabet[low:high]
        several = 4 * limit
        if len(numbers) > several:
            numbers = np.partition(numbers, several)
            yield from np.sort(numbers[:several]).tolist()
            numbers = numbers[several:]
        yield from np.sort(numbers).tolist()

    def _words_with(self, piece: bytes) -> Iterator[int]:
        """Numbers, rising, of the words with this piece; END behind it stands for the end of a word."""
        at, size = 0, len(self._joined)
        while at < size:
            hit = self._joined.find(piece, at, at + CHUNK + len(piece))
            if hit < 0:
                at += CHUNK
                continue
            number = int(np.searchsorted(self._begins, hit, "right")) - 1
            yield number
            at = int(self._begins[number + 1]) - 1

    def _number_of(self, word: str) -> int | None:
        at = self._bisect(word)
        if at < len(self._alphabet) and self._words[int(self._alphabet[at])] == word:
            return int(self._alphabet[at])
        return None

    def _bisect(self, start: str) -> int:
        """How many words come before ``start`` in the alphabet."""
        low, high = 0, len(self._alphabet)
        while low < high:
            middle = (low + high) // 2
            if self._words[int(self._alphabet[middle])] < start:
                low = middle + 1
            else:
                high = middle
        return low

    # -- names -----------------------------------------------------------------------------------------------

    def _places_of(self, number: int) -> Places:
        """Of the names that have the word, rising."""
        return self._lists[self._listed[number] : self._listed[number + 1]]

    def _best(self, numbers: Iterable[int], limit: int) -> list[int]:
        """The smallest ``limit`` places of the names that have any of the words."""
        numbers, size = iter(numbers), 16
        best = np.zeros(0, np.int32)
        while block := list(islice(numbers, size)):
            lists = [self._places_of(number)[:limit] for number in block]
            if len(best) == limit:
                if best[-1] <= lists[0][0]:
                    break
                lists = [places[: np.searchsorted(places, best[-1])] for places in lists]
            best = np.unique(np.concatenate([best, *lists]))[:limit]
            size = 256
        return best.tolist()

    def _checked(self, places: Places, wanted: str, limit: int, *, at_word: bool = False) -> list[int]:
        """The first ``limit`` of the places whose names have ``wanted``, perhaps only where a word begins."""
        piece, names = wanted.encode("utf-8", "replace"), self._names
        places = places[:CHECKED]
        starts, ends = self._name_begins[places].tolist(), self._name_begins[places + 1].tolist()
        found: list[int] = []
        for place, start, end in zip(places.tolist(), starts, ends, strict=True):
            at = names.find(piece, start, end)
            while at_word and at > start and _IN_WORD[names[at - 1]]:
                at = names.find(piece, at + 1, end)
            if at >= 0:
                found.append(place)
                if len(found) == limit:
                    break
        return found


def normalised(text: str) -> str:
    """Lower case, without accents."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(char for char in parts if not unicodedata.combining(char))
    return text.lower().replace("\0", " ")


def _names(labels: Strings, texts: Strings | None, order: npt.NDArray[np.int64]) -> Iterator[str]:
    """Normalised names in the given order; a label's text is part of its name."""
    readable: Iterable[Any] = iter(str, None) if texts is None else texts.take(order)
    for name, text in zip(labels.take(order), readable, strict=False):
        plain = normalised(name)
        yield f"{plain}\n{normalised(text)}" if text and text != name else plain


def _lists(
    words: npt.NDArray[np.int64], places: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.int64], Places]:
    """The names of each word, one list after the other, and where the lists begin."""
    pairs = np.unique((words << 32) | places)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(pairs >> 32, minlength=count), out=starts[1:])
    return starts, (pairs & 0xFFFFFFFF).astype(np.int32)
