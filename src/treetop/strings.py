"""`Strings`: an immutable list of strings as one UTF-8 buffer and offsets.

A million short texts are two arrays instead of a million objects: they are sliced, memory-mapped, saved and
passed to the native core without a copy of each string.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .errors import ModelError
from .model_arrays import RETRAIN, ascends, full_name, of_types


class Strings(Sequence[str]):
    """String ``i`` is ``buffer[offsets[i]:offsets[i + 1]]`` decoded as UTF-8."""

    __slots__ = ("_positions", "buffer", "offsets")

    def __init__(self, buffer: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self.buffer = buffer
        self.offsets = offsets
        self._positions: dict[str, int] | None = None

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """The strings of any iterable; `Strings` are returned as they are."""
        if isinstance(strings, Strings):
            return strings
        builder = StringsBuilder()
        for string in strings:
            builder.append(string)
        return builder.build()

    @classmethod
    def numbers(cls, count: int) -> Strings:
        """The numbers "0", "1", …, as names of ``count`` items without names."""
        lengths = np.ones(count, np.int8)
        power = 10
        while power < count:
            lengths[power:] += 1
            power *= 10
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
        buffer = np.empty(int(offsets[-1]), np.uint8)
        first = 0
        while first < count:  # a block of numbers with as many digits
            digits = int(lengths[first])
            last = min(first + (1 << 16), 10**digits, count)
            numbers = np.arange(first, last)[:, None] // 10 ** np.arange(digits)[::-1] % 10
            buffer[offsets[first] : offsets[last]] = (numbers + ord("0")).ravel()
            first = last
        return cls(buffer, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Strings: ...
    def __getitem__(self, index: int | slice) -> str | Strings:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return Strings(self.buffer, self.offsets[start : max(start, stop) + 1])
            return self.take(np.arange(start, stop, step))
        index = range(len(self))[index]
        return bytes(self.buffer[self.offsets[index] : self.offsets[index + 1]]).decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        buffer, offsets = self.buffer.data, self.offsets.tolist()
        for start, stop in itertools.pairwise(offsets):
            yield str(buffer[start:stop], "utf-8", "replace")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Strings):
            return NotImplemented
        mine, theirs = self.compact(), other.compact()
        return np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(mine.buffer, theirs.buffer)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = ", ".join(repr(string) for string in self[:3])
        return f"Strings([{head}{', …' if len(self) > 3 else ''}], {len(self):,} strings)"

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The length of each string in bytes."""
        return np.diff(self.offsets)

    def take(self, rows: npt.ArrayLike) -> Strings:
        """The strings at the given positions, in that order; negative positions count from the end."""
        rows = np.asarray(rows, np.int64)
        rows = np.where(rows < 0, rows + len(self), rows)
        lengths = self.lengths[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        buffer = np.empty(int(offsets[-1]), np.uint8)
        # Byte j of output row r comes from starts[r] + (j - offsets[r]); a few megabytes at a time.
        starts = self.offsets[rows]
        first = 0
        while first < len(rows):
            last = max(int(np.searchsorted(offsets, offsets[first] + (1 << 22), side="right")) - 1, first + 1)
            piece = slice(int(offsets[first]), int(offsets[last]))
            shift = np.repeat(starts[first:last] - offsets[first:last], lengths[first:last])
            buffer[piece] = self.buffer[shift + np.arange(piece.start, piece.stop)]
            first = last
        return Strings(buffer, offsets)

    def compact(self) -> Strings:
        """The same strings in a buffer with nothing else in it (a slice shares its parent's buffer)."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first == 0 and last == len(self.buffer):
            return self
        return Strings(self.buffer[first:last], self.offsets - first)

    def position(self, string: str) -> int:
        """The position of ``string``, or -1. The lookup table is built on first use."""
        return self.positions.get(string, -1)

    @property
    def positions(self) -> dict[str, int]:
        """Every string and its position."""
        if self._positions is None:
            self._positions = {string: index for index, string in enumerate(self)}
        return self._positions

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Plain arrays for the store."""
        compact = self.compact()
        return {"buffer": compact.buffer, "offsets": compact.offsets}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Strings:
        """The inverse of `state`; the offsets must lie within the buffer."""
        plain = of_types(arrays, {"buffer": np.uint8, "offsets": np.int64})
        buffer, offsets = plain["buffer"], plain["offsets"]
        if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > len(buffer) or not ascends(offsets):
            raise ModelError(
                f"{full_name(arrays, 'offsets')} do not match the buffer of the strings: {RETRAIN}"
            )
        return cls(buffer, offsets)


class StringsBuilder:
    """Appends strings one by one into the two arrays of a `Strings`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._offsets: Any = array("q", [0])

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def append(self, string: str) -> None:
        """Appends a string. Lone surrogates (from broken input) become U+FFFD, so that UTF-8 can hold it."""
        try:
            self._buffer += string.encode()
        except UnicodeEncodeError:
            self._buffer += string.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        self._offsets.append(len(self._buffer))

    def build(self) -> Strings:
        """The finished `Strings`; the builder hands over its memory and is empty again."""
        buffer, offsets = self._buffer, self._offsets
        self.__init__()  # type: ignore[misc]
        return Strings(np.frombuffer(buffer, np.uint8), np.frombuffer(offsets, np.int64))
