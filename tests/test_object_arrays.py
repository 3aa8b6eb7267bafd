"""Pickled arrays of lists as anybody may write them: a sentence or lists, and hardly more memory."""

from __future__ import annotations

import pickle
import struct
import sys

import numpy as np
import pytest

from pickled_lists import ARRAY, RAGGED, changed, file, program, try_read
from treetop.errors import DataError
from treetop.tree.object_arrays import read_lists


@pytest.mark.parametrize("array", RAGGED)
def test_what_numpy_writes(array, tmp_path):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    assert read_lists(tmp_path / "a.npy") == [list(row) for row in array]


def of_kind(kind: bytes, shape: bytes, content: bytes, order: bytes = b"\x8c\x01<") -> bytes:
    """The pickle of an array whose state says this; ``content`` and ``shape`` are pickled."""
    made = (
        b"cnumpy\ndtype\n" + kind + b"\x85R(K\x03" + order + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    return ARRAY + b"(K\x01" + shape + made + b"\x89" + content + b"tb"


MANY = 3000
ROW = b"](" + b"K\x01" * MANY + b"e"
LONG = "x".encode("utf-32-le") * MANY
STRINGS = b"\x8c\x05" + f"U{MANY}".encode()
BYTES = b"B"
BOMBS = {
    "one list as many rows": b"](" + ROW + b"q\x01" + b"h\x01" * MANY + b"e.",
    "one array as many rows": b"]("
    + of_kind(b"\x8c\x02u1", b"M\xb8\x0b\x85", BYTES + struct.pack("<I", MANY) + b"\x00" * MANY)
    + b"q\x09" + b"h\x09" * MANY + b"e.",
    "one long string as many rows": b"]("
    + of_kind(STRINGS, b"K\x01\x85", BYTES + struct.pack("<I", len(LONG)) + LONG)
    + b"q\x09" + b"h\x09" * MANY + b"e.",
    "rows of nothing": of_kind(b"\x8c\x02u1", b"J\xff\xff\xff\x7fK\x00\x86", b"C\x00") + b".",
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_pickle_makes_no_more_than_its_bytes(bomb, tmp_path):
    path = file(tmp_path, b"\x80\x04" + BOMBS[bomb])
    with pytest.raises(DataError, match="more rows and labels than bytes"):
        read_lists(path)


@pytest.mark.parametrize(("kind", "shape"), [("<i8", "(2147483647, 0)"), ("<U0", "(2147483647,)")])
def test_a_plain_array_makes_no_more_than_its_bytes(kind, shape, tmp_path):
    with pytest.raises(DataError, match="more rows and labels than bytes"):
        read_lists(file(tmp_path, b"", kind, shape))


def frame(size: int) -> bytes:
    return b"\x95" + struct.pack("<Q", size)


ODD = {
    "a frame that ends in an operation": frame(3) + b"]r\x01\x00\x00\x00\x00\x00\x00\x10.",
    "a frame in a frame": frame(11) + frame(1) + b"].",
    "characters that do not exist": b"]("
    + of_kind(b"\x8c\x02U1", b"K\x01\x85", b"C\x04\xff\xff\xff\x7f")
    + b"e.",
    "itself": b"]q\x01h\x01a.",
    "a row in itself": b"]]q\x01h\x01aa.",
    "a label that is a tuple of tuples": b"]](" + b")" + b"\x85" * 100_000 + b"ea.",
    "a type of a deep tuple": b"cnumpy\ndtype\n)" + b"\x85" * 100_000 + b"R.",
    "a type with many fields": of_kind(b"\x8c\xf0" + b"i4," * 80, b"K\x01\x85", b"C\x04abcd") + b".",
    "a type of objects": of_kind(b"\x8c\x02O8", b"K\x01\x85", b"C\x08abcdefgh") + b".",
    "a shape of nothing": of_kind(b"\x8c\x02u1", b")", b"C\x01a") + b".",
    "a negative shape": of_kind(b"\x8c\x02u1", b"J\xff\xff\xff\xff\x85", b"C\x01a") + b".",
    "an order of bytes that there is not": of_kind(b"\x8c\x02u1", b"K\x01\x85", b"C\x01a", b"\x8c\x01?")
    + b".",
    "the class itself": b"cnumpy\nndarray\n.",
    "a far place of the memo": b"]r\xff\xff\xff\x7f.",
    "another name": b"cos\nsystem\n\x8c\x04true\x85R.",
    "a name of a module of numpy": b"cnumpy.testing\nmeasure\n\x8c\x011\x85R.",
    "a dictionary": b"}.",
    "persistent": b"P1\n.",
    "nothing": b".",
    "no end": b"]",
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_pickle_gives_a_sentence(odd, tmp_path):
    with pytest.raises(DataError, match="not an array of lists of labels") as caught:
        read_lists(file(tmp_path, b"\x80\x04" + ODD[odd]))
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


@pytest.mark.parametrize("made", [changed, program])
def test_random_pickles(made, tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(300):
        try_read(tmp_path, made(rng))


def test_the_limit_of_recursion_is_as_before(tmp_path):
    before = sys.getrecursionlimit()
    with pytest.raises(DataError):
        read_lists(file(tmp_path, b"\x80\x04" + ODD["a label that is a tuple of tuples"]))
    assert sys.getrecursionlimit() == before and pickle.loads(pickle.dumps([1])) == [1]
