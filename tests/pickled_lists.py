"""Arrays of lists as ``numpy.save`` pickles them, and pickles that nobody should have written."""

from __future__ import annotations

import io
import pickletools
import struct
from pathlib import Path

import numpy as np

from treetop.errors import DataError
from treetop.tree.object_arrays import _OPERATIONS, read_lists

RAGGED = [
    np.array([np.array([3, 1]), np.array([2])], object),
    np.array([[3, 1], [2]], object),
    np.array([np.array(["a", "bb"]), np.array(["c"])], object),
    np.array([[np.int64(3), np.str_("x")], [1]], object),
]
OBJECTS = b"\x93NUMPY\x01\x00"
ARRAY = b"cnumpy\nndarray\n)R"
"""An empty array."""


def file(place: Path, content: bytes, kind: str = "|O", shape: str = "(2,)") -> Path:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path = place / "lists.npy"
    path.write_bytes(OBJECTS + struct.pack("<H", len(header)) + header + content)
    return path


def saved(array: np.ndarray) -> bytes:
    """The pickle in the file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    content = out.getvalue()
    return content[10 + int.from_bytes(content[8:10], "little") :]


CODES = {each.name: each.code.encode("latin-1") for each in pickletools.opcodes}
ARGUMENTS = {
    "GLOBAL": [b"numpy\nndarray\n", b"numpy\ndtype\n", b"numpy.core.multiarray\nscalar\n"],
    "BINGET": [b"\x00", b"\x01", b"\x02"], "BINPUT": [b"\x00", b"\x01"], "LONG_BINGET": [b"\x00\x00\x00\x00"],
    "LONG_BINPUT": [b"\x01\x00\x00\x00"], "BININT": [b"\xff\xff\xff\xff"], "BININT1": [b"\x02"],
    "BININT2": [b"\x02\x00"], "LONG1": [b"\x00", b"\x09" + b"\xff" * 8 + b"\x7f"],
    "SHORT_BINBYTES": [b"\x00", b"\x08abcdefgh"], "BINBYTES": [b"\x01\x00\x00\x00a"],
    "BINBYTES8": [b"\x01\x00\x00\x00\x00\x00\x00\x00a"], "SHORT_BINUNICODE": [b"\x02u1", b"\x01<", b"\x02U2"],
    "BINUNICODE": [b"\x02\x00\x00\x00i8"], "BINUNICODE8": [b"\x01\x00\x00\x00\x00\x00\x00\x00a"],
    "PROTO": [b"\x04"], "FRAME": [b"\x04\x00\x00\x00\x00\x00\x00\x00"],
}  # fmt: skip
"""Arguments of operations, valid more often than not."""


def changed(rng: np.random.Generator) -> bytes:
    """A pickle with a few other bytes."""
    content = bytearray(saved(RAGGED[rng.integers(len(RAGGED))]))
    for _ in range(rng.integers(1, 4)):
        content[rng.integers(len(content))] = rng.integers(256)
    return bytes(content)


def program(rng: np.random.Generator) -> bytes:
    """The permitted operations in any order."""
    names = sorted(_OPERATIONS)
    made = b"\x80\x04" + (b"" if rng.integers(2) else b"](" + ARRAY + b"q\x00")
    for _ in range(rng.integers(1, 12)):
        name = names[rng.integers(len(names))]
        options = ARGUMENTS.get(name, [b""])
        made += CODES[name] + options[rng.integers(len(options))]
    return made + (b"." if rng.integers(2) else b"e.")


def try_read(place: Path, content: bytes) -> None:
    """Reads a file with this pickle; raises anything but a sentence."""
    try:
        rows = read_lists(file(place, content))
    except DataError as error:
        assert not isinstance(error.__context__, MemoryError)
        return
    assert sum(map(len, rows)) <= len(content)
    assert all(isinstance(label, (int, str)) for row in rows for label in row)
