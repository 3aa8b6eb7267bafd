"""`LabelSearch`: labels by a part of their name, quick also among millions.

Names are lower case without accents, joined to one buffer in order of falling frequency, so that the smaller
of two numbers is always the better hit. Two indexes lie over the buffer:

- where words begin, sorted by what follows: a prefix of a word is a range, found by bisection;
- every three bytes (the end of a name counts as bytes too), sorted: a piece of a name lies in the lists of
  all its threes, and a piece of one or two bytes in a range of them.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..strings import Strings

END = 0
KEY = 32
"""Bytes of a word's beginning by which words are sorted; what is longer is compared one by one."""
CHECKED = 20_000
"""Candidates that are compared one by one at most."""
LONGEST = 200
"""Characters of a query."""

Ids = npt.NDArray[np.int64]


class Found(NamedTuple):
    """A label that a query finds."""

    label: str
    texts: int
    """Training texts that have it."""
    text: str | None
    """Its readable name, where it has another."""


class LabelSearch:
    """Prefix of any word first, then anywhere in the name; the more frequent first in each."""

    def __init__(self, labels: Strings, texts: Strings | None, counts: npt.NDArray[np.int64]) -> None:
        self._labels, self._texts, self._counts = labels, texts, counts
        self._order = np.argsort(-counts, kind="stable")
        """Place in the index → label."""
        names = _joined(labels, texts, self._order)
        self._buffer, self._starts = names.buffer.tobytes(), names.offsets
        bytes_ = np.frombuffer(self._buffer, np.uint8)
        place = np.repeat(np.arange(len(labels), dtype=np.int32), np.diff(names.offsets))
        self._words, self._word_keys, self._word_place = _words(bytes_, place)
        self._threes, self._three_place = _threes(bytes_, place)

    def find(self, query: str, limit: int) -> list[Found]:
        """The best labels for what was typed so far; for nothing the most frequent."""
        wanted = normalised(query[:LONGEST]).strip().encode("utf-8", "replace")
        if not wanted:
            return [self._found(place) for place in range(min(limit, len(self._order)))]
        places = self._prefixed(wanted, limit)
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

    def _prefixed(self, wanted: bytes, limit: int) -> list[int]:
        """Places of names in which a word begins with ``wanted``."""
        key = wanted[:KEY]
        low = int(np.searchsorted(self._word_keys, np.bytes_(key), "left"))
        high = int(np.searchsorted(self._word_keys, np.bytes_(key + b"\xff" * (KEY - len(key))), "right"))
        if len(wanted) <= KEY:
            return _smallest(self._word_place[low:high], limit)
        rows = [
            row
            for row in range(low, min(high, low + CHECKED))
            if self._buffer.startswith(wanted, int(self._words[row]))
        ]
        return _smallest(self._word_place[rows], limit)

    def _containing(self, wanted: bytes, limit: int) -> list[int]:
        """Places of names that have ``wanted`` anywhere."""
        if len(wanted) < 3:
            return _smallest(self._three_place[self._three_range(wanted)], limit)
        spans = [self._three_range(wanted[at : at + 3]) for at in range(len(wanted) - 2)]
        spans.sort(key=lambda span: span.stop - span.start)
        places: npt.NDArray[np.int32] = self._three_place[spans[0]]  # sorted within one three
        for span in spans[1:3]:
            if len(places) <= limit:
                break
            places = np.intersect1d(places, self._three_place[span], assume_unique=True)
        found: list[int] = []
        for place in places[:CHECKED].tolist():
            if self._buffer.find(wanted, int(self._starts[place]), int(self._starts[place + 1])) >= 0:
                found.append(place)
                if len(found) == limit:
                    break
        return found

    def _three_range(self, piece: bytes) -> slice:
        """Rows of the threes that begin with ``piece``."""
        low = int.from_bytes(piece.ljust(3, b"\x00"), "big")
        high = int.from_bytes(piece.ljust(3, b"\xff"), "big")
        return slice(
            int(np.searchsorted(self._threes, low, "left")), int(np.searchsorted(self._threes, high, "right"))
        )


def normalised(text: str) -> str:
    """Lower case, without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char)).replace("\0", " ")


def _joined(labels: Strings, texts: Strings | None, order: Ids) -> Strings:
    """Normalised names in the given order, each with two END bytes behind; a label's text counts as name."""
    names = labels.take(order)
    readable = None if texts is None else texts.take(order)
    builder = []
    for place, name in enumerate(names):
        text = "" if readable is None or readable[place] == name else readable[place]
        builder.append(f"{normalised(name)}\n{normalised(text)}\0\0" if text else f"{normalised(name)}\0\0")
    return Strings.of(builder)


def _words(
    bytes_: npt.NDArray[np.uint8], place: npt.NDArray[np.int32]
) -> tuple[Ids, npt.NDArray[np.bytes_], npt.NDArray[np.int32]]:
    """Where words begin, sorted by their next `KEY` bytes; those bytes; the names they stand in."""
    inside = _WORD_BYTES[bytes_]
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    # A name that begins with another sign is found by that, too.
    first = np.flatnonzero(np.diff(place, prepend=-1))
    begins[first] = bytes_[first] != END
    starts = np.flatnonzero(begins)
    padded = np.concatenate([bytes_, np.zeros(KEY, np.uint8)])
    keys = np.empty((len(starts), KEY), np.uint8)
    for at in range(KEY):
        keys[:, at] = padded[starts + at]
    ended = np.maximum.accumulate(keys == END, axis=1)
    keys[ended] = END
    flat = keys.view(f"S{KEY}").ravel()
    order = np.argsort(flat, kind="stable")
    return starts[order], flat[order], place[starts[order]]


def _threes(
    bytes_: npt.NDArray[np.uint8], place: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Every three bytes of a name once, sorted, and within that by place."""
    if len(bytes_) < 3:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    wide = bytes_.astype(np.int64)
    three = (wide[:-2] << 16) | (wide[1:-1] << 8) | wide[2:]
    same_name = place[:-2] == place[2:]
    pairs = np.unique((three[same_name] << 32) | place[:-2][same_name])
    return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


def _smallest(places: npt.NDArray[np.int32], limit: int) -> list[int]:
    """The smallest ``limit`` of them, each once."""
    several = 8 * limit
    if len(places) > several:
        few = np.unique(np.partition(places, several)[:several])
        if len(few) >= limit:
            return few[:limit].tolist()  # type: ignore[no-any-return]
    return np.unique(places)[:limit].tolist()  # type: ignore[no-any-return]


_WORD_BYTES = np.array([byte >= 0x80 or chr(byte).isalnum() for byte in range(256)])
