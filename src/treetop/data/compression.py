"""Compressed streams: recognised by their first bytes on reading, chosen by the file's suffix on writing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

import zstandard

from ..limits import RATIO, check_decompressed, check_lines

SUFFIXES = (".gz", ".xz", ".zst", ".bz2")
DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What decoders raise on damaged input. For a truncated stream they raise `EOFError`; bz2 raises a plain
`OSError` for damage."""

_SMALL, _CHUNK = 1 << 8, 1 << 12
"""Compressed bytes decoded at a time, fewer where a few become many."""


def without_suffix(name: str) -> str:
    """``train.jsonl.xz`` → ``train.jsonl``."""
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def decompressed(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """The decompressed bytes of ``stream``, or the stream itself if it is not compressed.

    Reading raises an error that begins with ``name`` once there are more than `check_decompressed` permits.

    No UTF-8 text begins with one of the four signatures, except for bz2's, of which ten bytes are compared.
    """
    start = stream.peek(10)
    decoder: Callable[[io.BufferedReader], Any]
    if start.startswith(b"\x1f\x8b"):
        decoder = lambda source: gzip.GzipFile(fileobj=source)  # noqa: E731
    elif start.startswith(b"\xfd7zXZ\x00"):
        decoder = lzma.LZMAFile
    elif start.startswith(b"\x28\xb5\x2f\xfd"):
        decoder = _ZstdReader
    elif start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        decoder = bz2.BZ2File
    else:
        return stream
    counted = _Counted(stream)
    return io.BufferedReader(_Bounded(decoder(io.BufferedReader(counted, 1 << 16)), counted, name), 1 << 16)


def compressing(stream: BinaryIO, name: str) -> BinaryIO:
    """A stream that compresses into ``stream`` by the suffix of ``name``; closing it leaves ``stream`` open.

    The same content always results in the same bytes (no time stamp).
    """
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0))
    if name.endswith(".xz"):
        return cast(BinaryIO, lzma.LZMAFile(stream, "wb"))
    if name.endswith(".zst"):
        return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(stream, closefd=False))
    if name.endswith(".bz2"):
        return cast(BinaryIO, bz2.BZ2File(stream, "wb"))
    return stream


class _Counted(io.RawIOBase):
    """Counts the bytes that are read; closing it leaves the stream open."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto1(buffer)
        self.count += count
        return count


class _Bounded(io.RawIOBase):
    """The bytes of a decoder, as long as they and their lines are not too many for what they come from."""

    def __init__(self, decoder: Any, compressed: _Counted, name: str) -> None:
        self._decoder = decoder
        self._compressed = compressed
        self._name = name
        self._count = 0
        self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._decoder.readinto(buffer)
        self._count += count
        check_decompressed(self._count, self._compressed.count, self._name)
        if self._count > RATIO * self._compressed.count:
            self._lines += bytes(buffer[:count]).count(b"\n")
            check_lines(self._lines, self._name)
        return count


class _ZstdReader(io.RawIOBase):
    """Reads frame after frame. Unlike zstandard's own reader, it detects a truncated stream."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")
        self._size = _SMALL

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            compressed = self._frame.unused_data if self._frame.eof else b""
            compressed = compressed or self._stream.read(self._size)
            if not compressed:
                if self._frame.eof:
                    return 0
                raise EOFError("the last frame is not complete")
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(compressed))
            self._size = _SMALL if len(self._ready) > 64 * len(compressed) else _CHUNK
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
