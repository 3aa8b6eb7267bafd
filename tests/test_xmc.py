"""The Extreme Classification Repository's text format, against Python's own reading of numbers."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from treetop import _native
from treetop.data import Dataset, read, write
from treetop.data.files import Input
from treetop.errors import DataError

NUMBER = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


def parse(text, rows=10, features=100, labels=100, threads=1):
    return _native.parse_xmc(np.frombuffer(text.encode(), np.uint8), rows, features, labels, threads)


@settings(max_examples=300, deadline=None)
@given(st.lists(NUMBER, min_size=1, max_size=20))
def test_values_are_pythons_rounded_to_32_bits(numbers):
    data = parse("7 " + " ".join(f"{j}:{number}" for j, number in enumerate(numbers)))[2]
    with np.errstate(over="ignore"):
        expected = np.array([float(number) for number in numbers]).astype(np.float32)
    assert data.tobytes() == expected.tobytes()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_printed_values_come_back(values):
    data = np.array(values, np.float32)
    indptr, indices = np.array([0, len(data)]), np.arange(len(data), dtype=np.int32)
    no_labels = np.zeros(2, np.int64), np.zeros(0, np.int32)
    text = _native.print_xmc(indptr, indices, data, *no_labels, 0, 1, 1).decode()
    assert parse(text)[2].tobytes() == data.tobytes()
    printed = [word.partition(":")[2] for word in text.split()]
    assert all(len(word) <= len(str(value)) for word, value in zip(printed, data, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_large_files_in_blocks(tmp_path, monkeypatch, threads):
    """Blocks of a few hundred bytes, compressed and not, on several threads: as written, line by line."""
    monkeypatch.setattr("treetop.data.formats.sparse_text.thread_count", lambda wanted: threads)
    monkeypatch.setattr(Input.blocks, "__defaults__", (300,))
    rng = np.random.default_rng(0)
    X = sparse.random(400, 70, 0.1, "csr", np.float32, rng)
    Y = sparse.random(400, 30, 0.05, "csr", np.float32, rng)
    Y.data[:] = 1
    dataset = Dataset.from_matrices(X, Y)
    for name in ("a.xmc", "a.xmc.zst"):
        write(dataset, tmp_path / name)
        again = read(tmp_path / name)
        for one, two in ((dataset.X, again.X), (dataset.Y, again.Y)):
            assert one.shape == two.shape
            for part in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(one, part), getattr(two, part))
    text = (tmp_path / "a.xmc").read_text()
    first = next(zip(X.indices, X.data, strict=True))
    assert text.splitlines()[0] == "400 70 30" and f" {first[0]}:{first[1]!s} " in text.splitlines()[1] + " "
    lines = text.splitlines(keepends=True)
    lines[317] = lines[317].rstrip("\n") + " 70:1\n"
    (tmp_path / "b.xmc").write_bytes(lzma.compress("".join(lines).encode()))
    with pytest.raises(DataError, match=r"b\.xmc line 318: feature 70 is out of range: .* features 0…69"):
        read(tmp_path / "b.xmc")
    (tmp_path / "b.xmc").write_text(text + "\n \n\n")
    assert len(read(tmp_path / "b.xmc")) == 400
    (tmp_path / "b.xmc").write_text(text + "\n" * 700 + "x\n")
    with pytest.raises(DataError, match="line 1102: 'x' is not a list of label numbers"):
        read(tmp_path / "b.xmc")
    (tmp_path / "b.xmc").write_text(text + "1\n")
    with pytest.raises(DataError, match="declares 400 examples but the file has 401"):
        read(tmp_path / "b.xmc")
    long = "0 " + " ".join(f"{j}:1" for j in range(70))  # longer than a block, without a line end
    (tmp_path / "c.xmc").write_text(f"1 70 1\n{long}")
    assert read(tmp_path / "c.xmc").X.nnz == 70


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"0 1:1 \xff", "line 3: not valid UTF-8 (byte 0xff at position 6)"),
        ("0 1:1 ä".encode(), "line 3: 'ä' is not a feature with a finite value such as 12:0.5"),
        (b"007 1:1", "line 3: label 7 is out of range: the header declares labels 0\u20262"),
        (b"0 " + b"9" * 99 + b":1", "line 3: feature " + "9" * 40 + " is out of range"),
        (b"0 " + b"x" * 99, "line 3: '" + "x" * 40 + "' is not a feature"),
    ],
)
def test_complaints(tmp_path, line, words):
    (tmp_path / "a.xmc").write_bytes(b"2 3 3\n0 1:1\n" + line + b"\n")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.xmc")
    assert words in str(caught.value)
    (tmp_path / "a.xmc").write_text("1 3 3000000000\n0 1:1\n")
    with pytest.raises(DataError, match="line 1: no number of the header may be larger than 2,147,483,647"):
        read(tmp_path / "a.xmc")
