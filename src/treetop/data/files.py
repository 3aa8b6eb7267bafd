"""`Input` reads numbered UTF-8 lines; `Output` writes files that appear only when they are complete."""

from __future__ import annotations

import difflib
import io
import itertools
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TextIO, cast

from .. import durable
from ..durable import NewFile
from ..errors import DataError, raise_machine_fault
from ..limits import LINE
from ..strings import Strings
from .compression import DAMAGED, SUFFIXES, compressing, decompressed

_MARK = "\ufeff"
_BOM = _MARK.encode()


class Input:
    """A file, a folder, or (``"-"``) standard input, opened on first use.

    ``name`` is its name in messages; ``path`` is None for standard input.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = None if str(path) == "-" else Path(path)
        self.name = "standard input" if self.path is None else str(path)
        self._file: io.BufferedReader | None = None
        self._stream: io.BufferedReader | None = None
        self._seen: deque[bytes] = deque()
        if self.path is not None and not self.path.exists():
            raise DataError(f"{self.name}: no such file{_similar_file(self.path)}")

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    def file_path(self) -> Path:
        """The path, for formats that need a real file."""
        if self.path is None:
            raise DataError("this format cannot be read from standard input: name a file")
        if self.path.is_dir():
            raise DataError(f"{self.name}: is a folder, not a file; name a file")
        return self.path

    def unpacked(self) -> Path | io.BytesIO:
        """For libraries that read files themselves: the path, or the content of a compressed file."""
        path = self.file_path()
        if not path.is_file() and not path.is_fifo():
            raise DataError(f"{self.name}: is neither a file nor a pipe; name a file")
        plain = self._opened() is self._file and path.is_file()
        return path if plain else io.BytesIO(b"".join(self._pieces(-1)))

    def first_line(self) -> str:
        """The first line that is not blank, for recognising the format; `lines` still yields it."""
        return next((line for line in self._peeked() if line.strip()), "")

    def head(self, count: int) -> list[str]:
        """The first lines, for recognising the format; `lines` still yields them."""
        return list(islice(self._peeked(), count))

    def _peeked(self) -> Iterator[str]:
        """Lines without their ends, which are kept for `lines`."""
        for number in itertools.count():
            if number == len(self._seen):
                line = next(self._pieces(), b"")
                if not line:
                    return
                self._check_length(len(line), number + 1)
                self._seen.append(line)
            text = self._seen[number].removeprefix(_BOM if number == 0 else b"")
            yield text.decode(errors="replace").rstrip("\r\n")

    def lines(self, *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
        """Every line with its number from 1. Only LF and CR LF end a line; a byte order mark is dropped."""
        longest = LINE.most
        for number, line in enumerate(self._unread(), 1):
            if len(line) > longest:
                self._check_length(len(line), number)
            text = self.decoded(line.removeprefix(_BOM) if number == 1 else line, number)
            yield number, text if keep_ends else text.removesuffix("\n").removesuffix("\r")

    def blocks(self, size: int = 1 << 24) -> Iterator[bytearray]:
        """The lines that `lines` has not yielded, as bytes: whole lines, about ``size`` bytes at a time."""
        block = bytearray()
        for piece in self._unread(size):
            end = piece.rfind(b"\n") + 1
            block += memoryview(piece)[:end]
            if end:
                yield block
                block = bytearray()
            block += memoryview(piece)[end:]
            self._check_length(len(block))
        if block:
            yield block

    def _check_length(self, length: int, number: int = 0) -> None:
        if length > LINE.most:
            which = f" line {number}: is longer" if number else ": a line is longer"
            raise LINE.exceeded(
                f"{self.name}{which} than the limit of {LINE.most:,} bytes",
                10 * LINE.most,
                "end each example with a line break",
            )

    def decoded(self, line: bytes, number: int) -> str:
        """A line as text, which must be UTF-8."""
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
            raise DataError(
                f"{self.name} line {number}: not valid UTF-8 ({found}); save it as UTF-8"
            ) from None

    def _unread(self, size: int | None = None) -> Iterator[bytes]:
        """The lines that `first_line` has read, and then the rest."""
        while self._seen:
            yield self._seen.popleft()
        yield from self._pieces(size)

    def _pieces(self, size: int | None = None) -> Iterator[bytes]:
        """Lines, of which one that is too long comes in pieces; with a ``size``, so many bytes at a time."""
        longest = min(LINE.most, sys.maxsize - 1) + 1
        try:
            stream = self._opened()
            # Not `yield from` the stream: a generator that is not exhausted closes what it yields from.
            while piece := stream.readline(longest) if size is None else stream.read(size):
                yield piece
        except EOFError:
            raise DataError(f"{self.name}: the compressed file is truncated; fetch it again") from None
        except DAMAGED as error:
            raise DataError(
                f"{self.name}: the compressed file is damaged ({error}); fetch it again"
            ) from None
        except OSError as error:
            raise_machine_fault(error, self.name)
            raise DataError(f"{self.name}: cannot be read ({error.strerror or error})") from None

    def _opened(self) -> io.BufferedReader:
        if self._stream is None:
            if self.path is None:
                standard = cast(io.BufferedReader, sys.stdin.buffer)
                self._stream = decompressed(
                    standard if hasattr(standard, "peek") else io.BufferedReader(standard), self.name
                )
            else:
                self._file = cast(io.BufferedReader, self.file_path().open("rb", buffering=1 << 16))
                self._stream = decompressed(self._file, self.name)
        return self._stream


class _Text(io.TextIOWrapper):
    """Puts a byte order mark before a text that begins with U+FEFF, as `Input` drops one at the start."""

    _begun = False

    def write(self, text: str, /) -> int:
        if not self._begun and text:
            self._begun = True
            if text[0] == _MARK:
                super().write(_MARK)
        return super().write(text)


class Output:
    """Files written under temporary names in their own folders, and renamed when the ``with`` block succeeds.

    An error inside the block leaves every earlier file as it was. A pipe or a device is written to directly,
    never replaced. Text files are UTF-8 with LF line ends; ``.gz``, ``.xz``, ``.zst`` and ``.bz2`` are
    compressed.
    """

    def __init__(self) -> None:
        self._open = ExitStack()  # closes a text before its compressor, that before its file
        self._files: list[NewFile] = []
        self._folders: list[Path] = []
        self._obsolete: list[Path] = []

    def __enter__(self) -> Output:
        return self

    def folder(self, path: Path) -> None:
        """Creates a folder where there is none; it is removed again if nothing is written into it."""
        if not path.is_dir():
            path.mkdir()
            self._folders.append(path)

    def replaced(self, folder: Path) -> None:
        """Removes a folder once everything is written."""
        self._obsolete.append(folder)

    def binary(self, path: Path) -> BinaryIO:
        if path.is_dir():
            raise DataError(f"{path}: is a folder, not a file; add a file name")
        if not path.parent.is_dir():
            raise DataError(f"{path}: the folder {path.parent} does not exist; create it first")
        if path.exists() and not path.is_file():
            file: BinaryIO = self._open.enter_context(path.open("wb"))
        else:
            self._files.append(NewFile(path.resolve()))  # a link remains a link
            file = self._open.enter_context(self._files[-1].file)
        return self._open.enter_context(compressing(file, path.name))

    def text(self, path: Path) -> TextIO:
        return self._open.enter_context(_Text(self.binary(path), encoding="utf-8", newline="\n"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._open.close()
            if error is None:
                for file in self._files:
                    file.commit()
                for folder in self._obsolete:
                    durable.remove(folder)
        finally:
            for file in self._files:
                file.discard()
            for folder in reversed(self._folders):
                with suppress(OSError):  # it is not empty
                    folder.rmdir()


def read_lines(path: str | os.PathLike[str]) -> Strings:
    """All lines of a text file."""
    with Input(path) as source:
        return Strings.of(text for _, text in source.lines())


def with_any_suffix(path: Path) -> Path | None:
    """``path`` itself or with a compression suffix, whichever exists; else None."""
    candidates = [path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    found = with_any_suffix(path)
    names = [found.name] if found else [entry.name for entry in path.parent.iterdir()]
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""
