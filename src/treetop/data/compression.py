"""Compressed streams: recognised by their first bytes when read, by the file's suffix when written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import Any, BinaryIO, cast

import zstandard

SUFFIXES = (".gz", ".xz", ".zst", ".bz2")
DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What a decoder raises on damaged input. A stream that is cut short raises `EOFError` instead; bz2 raises a
plain `OSError` for damage."""

_CHUNK = 1 << 14


def without_suffix(name: str) -> str:
    """``train.jsonl.xz`` → ``train.jsonl``."""
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def decompressed(stream: io.BufferedReader) -> io.BufferedReader:
    """The plain bytes of ``stream``; the stream itself where it is not compressed.

    None of the four signatures is the beginning of a UTF-8 text, save bz2's, of which ten bytes are compared.
    """
    start = stream.peek(10)
    decoder: Any
    if start.startswith(b"\x1f\x8b"):
        decoder = gzip.GzipFile(fileobj=stream)
    elif start.startswith(b"\xfd7zXZ\x00"):
        decoder = lzma.LZMAFile(stream)  # noqa: SIM115
    elif start.startswith(b"\x28\xb5\x2f\xfd"):
        decoder = _ZstdReader(stream)
    elif start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        decoder = bz2.BZ2File(stream)
    else:
        return stream
    return io.BufferedReader(decoder, buffer_size=1 << 16)


def compressing(stream: BinaryIO, name: str) -> BinaryIO:
    """A stream that compresses into ``stream`` as the suffix of ``name`` says, and closes without closing it.

    The same content always gives the same bytes (no time stamp).
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


class _ZstdReader(io.RawIOBase):
    """Frames one after the other. Unlike zstandard's own reader it tells a cut stream from a finished one."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            compressed = self._frame.unused_data if self._frame.eof else b""
            compressed = compressed or self._stream.read(_CHUNK)
            if not compressed:
                if self._frame.eof:
                    return 0
                raise EOFError("the last frame is not complete")
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(compressed))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
