"""Seeded mutations of files: of their bytes, and of what is inside text, JSON, arrays, archives, streams.

A case is a mapping of names to contents, the files of one folder. A content that is an `Odd` is something
else in place of a file. All randomness comes from the `random.Random` that is passed in.
"""

from __future__ import annotations

import bz2
import enum
import gzip
import io
import json
import lzma
import os
import random
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard


class Odd(enum.Enum):
    """What can be in place of a file."""

    FOLDER = "a folder"
    PIPE = "a named pipe without a writer"
    LOOP = "a link to itself"
    DANGLING = "a link to nothing"
    NULL = "a link to /dev/null"
    ZERO = "a link to /dev/zero"


Content = bytes | Odd
Case = dict[str, Content]

NUMBERS = (
    *("0", "-0", "1", "-1", "2", "7", "255", "256", "65536", "2147483647", "2147483648", "-2147483649"),
    *("4294967296", "9223372036854775807", "9223372036854775808", "1e2", "1e38", "1e39", "1e308", "1e400"),
    *(
        "-1e400",
        "1e-400",
        "0.1",
        "-0.5",
        ".",
        "-",
        "+",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "NaN",
        "0x10",
        "1_0",
    ),
    *("٣", "１", "00000000001", "9" * 400, "9" * 5000),
)
"""Numbers and what readers may take for one."""
TOKENS = (
    *(
        "",
        " ",
        "\t",
        "\t\t",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        ",",
        ";",
        "|",
        ":",
        "::",
        "::2.0",
        "::nan",
        "::1e999",
    ),
    *('"', '""', "'", "\\", "[", "]", "{", "}", "<", ">", "<a>", "__label__", "__label__x ", "#", "=", "\0"),
    *("\ufeff", "\u2028", "\u0085", "\u00a0", "\x1b[2J", "\x7f", "\ud83d\ude00", "é", "ß", "İ", "\U0010ffff"),
    *("null", "true", "[]", "{}", "text", "labels", "id", "0:1", "1:", ":1", "0:0", "3:1e39", "a b", "a\tb"),
)
RAW = (
    *(b"\xff", b"\xfe", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(
        b"\x00",
        b"\x00" * 64,
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"\xfd7zXZ\x00",
        b"BZh91AY&SY",
        b"PAR1",
        b"PK\x03\x04",
    ),
)
JSON_TEXTS = (
    *('"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\u001b[31m"', "1e999", "-1e999", "NaN", "-Infinity"),
    *(
        "9" * 400,
        "9" * 5000,
        "-" + "9" * 400,
        "[" * 3000,
        '{"a":' * 3000,
        '{"a": 1, "a": 2}',
        "true",
        "null",
        "[]",
    ),
    *(
        "{}",
        '""',
        "[null]",
        "[[]]",
        '["a", "a"]',
        '["a", 1, 1.5]',
        "[1e999]",
        "0",
        "-1",
        "1.5",
        "1" + "0" * 20,
    ),
)
"""Values that a JSON writer would hardly make, but a parser may take."""
_NUMBER = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    lambda content: gzip.compress(content, 1, mtime=0),
    lambda content: lzma.compress(content, preset=0),
    zstandard.ZstdCompressor().compress,
    lambda content: bz2.compress(content, 1),
)
DTYPES = (
    *("<i4", "<i8", "<u1", "<f4", "<f8", ">i4", ">f8", "<f2", "<c8", "|b1", "|S3", "<U2", "|V4", "<M8[s]"),
    *("|O", "<i0", "<U0", "|V0", "[('a', '<i4')]", "nothing", "<f16", "<U268435456"),
)
SHAPES = (
    *((), (0,), (1,), (2, 2), (0, 5), (5, 0), (-1,), (-2, 3), (1 << 40, 1 << 40), (1 << 62,), (1 << 31, 2)),
    *((3, 1 << 33), (2, 2, 2), (True,), ("2",), (1.5,)),
)


class Mutator:
    """Changes cases. ``largest``: bytes of a file, beyond which nothing is made longer."""

    def __init__(self, rng: random.Random, *, pipes: bool = True, largest: int = 1 << 16) -> None:
        self.rng = rng
        self._odd = [odd for odd in Odd if pipes or odd is not Odd.PIPE]
        self._largest = largest

    def mutated(self, case: Case) -> Case:
        """A copy with one to four changes."""
        case = dict(case)
        for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3, 4))):
            self._change(case)
        return case

    def _change(self, case: Case) -> None:
        names = [name for name, content in case.items() if isinstance(content, bytes)]
        if not names:
            return
        rng = self.rng
        name = rng.choice(names)
        content = case[name]
        assert isinstance(content, bytes)
        draw = rng.random()
        if draw < 0.02:
            case[name] = rng.choice(self._odd)
        elif draw < 0.03 and len(case) > 1:
            del case[name]
        elif draw < 0.05 and len(names) > 1:
            other = case[rng.choice(names)]
            assert isinstance(other, bytes)
            case[name] = other
        elif draw < 0.08:
            case[name] = rng.choice(_PACKERS)(content)
        else:
            case[name] = self._content(content)[: 64 * self._largest]

    def _content(self, content: bytes, depth: int = 0) -> bytes:
        """By what the content is, most of the time; else as bytes."""
        if depth < 3 and len(content) < 16 * self._largest and self.rng.random() < 0.8:
            for is_kind, change in (
                (_is_npy, self._npy),
                (zipfile_of, self._zip),
                (_is_stream, self._stream),
                (_is_tensors, self._tensors),
                (_is_text, self._text),
            ):
                if is_kind(content):
                    return change(content, depth)
        return self._bytes(content)

    def _bytes(self, content: bytes) -> bytes:
        rng = self.rng
        at = rng.randrange(len(content) + 1)
        end = min(at + rng.choice((1, 1, 2, 4, 8, 32, 300)), len(content))
        grown = len(content) > self._largest
        match rng.randrange(9):
            case 0 if at < len(content):
                return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
            case 1:
                return content[:at] + content[end:]
            case 2 if not grown:
                return content[:at] + rng.randbytes(rng.choice((1, 2, 4, 16))) + content[at:]
            case 3 if not grown:
                return content[:end] + content[at:end] * rng.choice((1, 2, 50)) + content[end:]
            case 4:
                return content[:at]
            case 5 if rng.random() < 0.1:
                return b""
            case 6:
                size = rng.choice("BHIQ")
                number = rng.choice(
                    (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
                )
                packed = struct.pack(f"<{size}", number & ((1 << (8 * struct.calcsize(size))) - 1))
                return content[:at] + packed + content[at + len(packed) :]
        return content[:at] + rng.choice(RAW) + content[at:]

    def _text(self, content: bytes, depth: int) -> bytes:
        rng = self.rng
        draw = rng.randrange(16)
        lines = content.split(b"\n")
        row = rng.randrange(len(lines))
        if draw < 4 and (found := list(_NUMBER.finditer(content))):
            match = rng.choice(found)
            return content[: match.start()] + rng.choice(NUMBERS).encode() + content[match.end() :]
        if draw < 7:
            at = rng.randrange(len(content) + 1)
            return content[:at] + rng.choice(TOKENS).encode("utf-8", "surrogatepass") + content[at:]
        if draw < 10:
            lines[row] = self._json(lines[row])
            return b"\n".join(lines)
        match draw:
            case 10:
                lines[row:row] = [lines[row]] * rng.choice((1, 1, 2, 100))
            case 11:
                del lines[row]
            case 12:
                other = rng.randrange(len(lines))
                lines[row], lines[other] = lines[other], lines[row]
            case 13:
                text = content.decode("utf-8", "replace")
                encoding = rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32", "utf-7"))
                return text.encode(encoding, "replace")
            case 14:
                most = 8 * self._largest // (len(lines[row]) + 1)
                lines[row] = lines[row] * min(rng.choice((2, 2, 20, 20_000)), most)
            case 15:
                separator = rng.choice((b"\t", b",", b" ", b":"))
                cells = lines[row].split(separator)
                at = rng.randrange(len(cells))
                cells[at : at + rng.randrange(2)] = rng.choice(([], [cells[at]], [b""], [cells[at]] * 3))
                lines[row] = separator.join(cells)
        return b"\n".join(lines)[: 16 * self._largest]

    def _json(self, line: bytes) -> bytes:
        """A JSON text with one value replaced, removed or wrapped; any other text with a token in it."""
        rng = self.rng
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            at = rng.randrange(len(line) + 1)
            return line[:at] + rng.choice(JSON_TEXTS).encode() + line[at:]
        holder = [value]
        places: list[tuple[Any, Any]] = [(holder, 0)]
        for box, key in places:
            inside = box[key]
            keys = (
                inside if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
            )
            places.extend((inside, inner) for inner in list(keys)[:50])
        box, key = rng.choice(places)
        mark = "\x02here\x02"
        draw = rng.random()
        chosen = rng.choice(JSON_TEXTS)
        if draw < 0.2 and box is not holder:
            del box[key]
        elif draw < 0.4:
            other_box, other_key = rng.choice(places)
            box[key] = json.loads(json.dumps(other_box[other_key]))
        elif draw < 0.5 and isinstance(box, dict):
            box[rng.choice(TOKENS)] = box.pop(key)
        elif draw < 0.6:
            box[key] = [box[key]] * rng.choice((1, 2, 20))
        elif draw < 0.75 and isinstance(box[key], str):
            at = rng.randrange(len(box[key]) + 1)
            box[key] = box[key][:at] + rng.choice(TOKENS) + box[key][at:]
        else:
            box[key] = mark
        return json.dumps(holder[0]).replace(json.dumps(mark), chosen).encode("utf-8", "surrogatepass")

    def _npy(self, content: bytes, depth: int) -> bytes:
        rng = self.rng
        try:
            array = np.load(io.BytesIO(content), allow_pickle=False)
        except Exception:  # a broken one is changed as bytes
            return self._bytes(content)
        if array.size > self._largest:
            return self._bytes(content)
        draw = rng.randrange(6)
        body = array.tobytes()
        descr, fortran, shape = np.lib.format.dtype_to_descr(array.dtype), False, array.shape
        if draw == 0:
            return _npy_of(repr(rng.choice(DTYPES)), fortran, shape, body)
        if draw == 1:
            return _npy_of(repr(descr), rng.choice((True, False, 3, None)), rng.choice(SHAPES), body)
        if draw == 2:
            return _npy_of(repr(descr), fortran, shape, body[: rng.randrange(len(body) + 1)])
        if draw == 3 and array.size and array.dtype.kind in "iufb":
            array = array.copy()
            flat = array.reshape(-1)
            for _ in range(rng.choice((1, 1, 2, 5))):
                value = rng.choice(
                    (0, 1, -1, 2, 5, 100, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 1e39, np.nan, np.inf)
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    flat[rng.randrange(array.size)] = np.asarray(value).astype(array.dtype)
        if draw == 4 and array.dtype.kind in "iufb":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = array.astype(rng.choice(("i1", "i4", "i8", "u8", "f2", "f4", "f8", "?", ">i4", "c8")))
        if draw == 5 and array.ndim:
            rows = np.arange(array.shape[0])
            array = rng.choice(
                (array[:-1], np.concatenate([array, array]), array[rows[::-1]], array[..., None])
            )
        return npy(array)

    def _zip(self, content: bytes, depth: int) -> bytes:
        rng = self.rng
        members = zipfile_of(content) or {}
        if not members:
            return self._bytes(content)
        name = rng.choice(list(members))
        draw = rng.random()
        if draw < 0.7:
            members[name] = self._content(members[name], depth + 1)
        elif draw < 0.8:
            del members[name]
        elif draw < 0.9:
            members[rng.choice([*members, "x.npy", "../up.npy", "shape", "format.npy"])] = members[name]
        packing = rng.choice(
            (
                zipfile.ZIP_STORED,
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
                zipfile.ZIP_LZMA,
                zipfile.ZIP_BZIP2,
            )
        )
        packed = zip_of(members, packing)
        if draw >= 0.95 and (at := packed.rfind(b"PK\x01\x02")) >= 0:  # sizes in the directory
            at += rng.choice((16, 20, 24, 28, 42))
            packed = packed[:at] + struct.pack("<I", rng.choice((0, 1, 2**31, 2**32 - 1))) + packed[at + 4 :]
        return packed

    def _stream(self, content: bytes, depth: int) -> bytes:
        rng = self.rng
        try:
            inside, pack = _unpacked(content)
        except Exception:
            return self._bytes(content)
        draw = rng.random()
        if draw < 0.6:
            return pack(self._content(inside, depth + 1))
        if draw < 0.7:
            return content + content
        if draw < 0.75:
            return pack(b"\0" * rng.choice((1 << 16, 1 << 22)))
        if draw < 0.8:
            return pack(content)
        return self._bytes(content)

    def _tensors(self, content: bytes, depth: int) -> bytes:
        """Safetensors: the length of the header, the header, the numbers."""
        length = int.from_bytes(content[:8], "little")
        header, body = self._json(content[8 : 8 + length]), content[8 + length :]
        if self.rng.random() < 0.2:
            return struct.pack("<Q", self.rng.choice((0, 1, 2**32, 2**63))) + header + body
        return struct.pack("<Q", len(header)) + header + body


def npy(array: Any) -> bytes:
    """An array as ``.npy``."""
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=False)
    return file.getvalue()


def _npy_of(descr: str, fortran: Any, shape: Any, body: bytes) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}".encode("latin-1")
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def zip_of(members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these members, all dated alike."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return file.getvalue()


def zipfile_of(content: bytes) -> dict[str, bytes] | None:
    """The members of an archive; None if it is not one."""
    if not content.startswith(b"PK"):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > 1 << 24:
                return None
            return {member.filename: archive.read(member) for member in archive.infolist()}
    except Exception:  # whatever a damaged archive raises
        return None


def _unpacked(content: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The first 16 MB of a stream, and what packs it again."""
    most = 1 << 24
    if content.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(content, most), _PACKERS[0]
    if content.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(content, most), _PACKERS[1]
    if content.startswith(b"BZh"):
        return bz2.BZ2Decompressor().decompress(content, most), _PACKERS[3]
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)) as reader:
        return reader.read(most), _PACKERS[2]


def _is_npy(content: bytes) -> bool:
    return content.startswith(b"\x93NUMPY")


def _is_stream(content: bytes) -> bool:
    return content.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd"))


def _is_tensors(content: bytes) -> bool:
    return len(content) > 9 and content[8:9] == b"{" and int.from_bytes(content[:8], "little") < len(content)


def _is_text(content: bytes) -> bool:
    return b"\0" not in content[:200]


def packed(case: Case) -> bytes:
    """A case as one string of bytes, as fuzzing engines keep it."""
    parts = []
    for name, content in case.items():
        odd = isinstance(content, Odd)
        body = content.value.encode() if isinstance(content, Odd) else content
        parts.append(struct.pack("<BHI", odd, len(name.encode()), len(body)) + name.encode() + body)
    return b"".join(parts)


def unpacked(data: bytes) -> Case:
    """The inverse of `packed`; raises ValueError or struct.error for anything else."""
    case: Case = {}
    while data:
        odd, name_size, size = struct.unpack_from("<BHI", data)
        name, body = data[7 : 7 + name_size].decode(), data[7 + name_size : 7 + name_size + size]
        if len(body) != size or not _is_inside(name):
            raise ValueError("not a case")
        case[name] = Odd(body.decode()) if odd else body
        data = data[7 + name_size + size :]
    return case


def _is_inside(name: str) -> bool:
    parts = name.split("/")
    return "\0" not in name and all(part not in ("", ".", "..") and len(part) < 100 for part in parts)


def write_case(case: Case, folder: Path) -> None:
    """Makes the files."""
    for name, content in case.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case bytes():
                path.write_bytes(content)
            case Odd.FOLDER:
                path.mkdir()
            case Odd.PIPE:
                os.mkfifo(path)
            case Odd.LOOP:
                path.symlink_to(path)
            case Odd.DANGLING:
                path.symlink_to(folder / "nothing")
            case Odd.NULL:
                path.symlink_to("/dev/null")
            case Odd.ZERO:
                path.symlink_to("/dev/zero")
