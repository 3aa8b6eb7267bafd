"""A few bytes cannot take all memory: declared sizes, long lines, compressed files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc

import numpy as np
import pytest
import zstandard
from scipy import sparse

import treetop
from treetop import Strings
from treetop.data import read
from treetop.data.files import Input
from treetop.errors import ConfigError, DataError
from treetop.sparse import read_npz

COMPRESS = {
    "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstandard.ZstdCompressor().compress,
}  # fmt: skip
LINE = b"x" * 999 + b"\n"


@pytest.fixture
def limits(monkeypatch):
    return lambda chosen: monkeypatch.setenv("TREETOP_LIMITS", chosen)


def refused(path, *words: str, **options) -> str:
    """The message for a file, which takes little memory to reject."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            read(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e8, peak
    message = str(caught.value)
    assert all(word in message for word in (str(path), *words)), message
    return message


def test_labels_of_a_header(tmp_path):
    path = tmp_path / "a.xmc"
    path.write_text("1 1 50000000\n3 0:1\n")
    refused(path, "declares 50,000,000 labels", "the limit is 10,000,000", "TREETOP_LIMITS=labels=50000000")


def test_features_of_a_header_or_an_index(tmp_path):
    path = tmp_path / "a.xmc"
    path.write_text("2 2147483647 2\n0 0:1\n1 1:1\n")
    refused(path, "declares 2,147,483,647 features", "TREETOP_LIMITS=features=2147483647")
    path = tmp_path / "a.libsvm"
    path.write_text("0 2147483646:1\n")
    refused(path, "declares 2,147,483,647 features")


@pytest.mark.parametrize("name", ["X", "Y"])
def test_columns_and_rows_of_an_archive(tmp_path, name):
    matrices = {"X": sparse.eye(2, 3, format="csr"), "Y": sparse.eye(2, 2, format="csr")}
    for each, matrix in matrices.items():
        sparse.save_npz(tmp_path / f"{each}.trn.npz", matrix)
    empty = {"data": np.ones(2), "indices": np.arange(2), "indptr": np.arange(3)}
    path = tmp_path / f"{name}.trn.npz"
    np.savez(path, format=b"csr", shape=[2, 2**40], **empty)
    assert str(path) in refused(tmp_path, "1,099,511,627,776 columns")
    np.savez(path, format=b"csc", shape=[2**33, 2], **empty)
    assert str(path) in refused(tmp_path, "declares 8,589,934,592 rows")


def test_more_is_there_for_more_entries(tmp_path, limits):
    limits("labels=50,features=50")
    path = tmp_path / "a.xmc"
    path.write_text("1 100 100\n3 0:1\n")
    assert len(read(path).labels) == 100 and read(path).X.shape == (1, 100)
    path.write_text("1 100 101\n3 0:1\n")
    refused(path, "declares 101 labels but has 1 entries, and the limit is 100")
    limits("labels=101")
    assert len(read(path).labels) == 101
    limits("none")
    assert len(read(path).labels) == 101


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compressed_file_of_nothing(tmp_path, limits, suffix):
    limits("decompressed=1000000")
    path = tmp_path / f"a.txt.{suffix}"
    path.write_bytes(COMPRESS[suffix](LINE * 12_000))
    words = "decompresses to more than 1,000,000 bytes", "TREETOP_LIMITS=decompressed="
    refused(path, *words, need_labels=False)


def test_many_small_blocks_do_not_decompress_at_once(tmp_path, limits):
    limits("decompressed=1000000")
    frame = zstandard.ZstdCompressor().compress(LINE * 128)
    noise = np.random.default_rng(0).integers(97, 123, 40_000, np.uint8).tobytes() + b"\n"
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(noise) + frame * 2000)
    refused(path, "decompresses to more than", need_labels=False)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_text_is_as_before(tmp_path, suffix):
    text = b"".join(b"%d some text\n" % number for number in range(60_000))
    path = tmp_path / f"a.txt.{suffix}"
    path.write_bytes(COMPRESS[suffix](text[:500_000]) + COMPRESS[suffix](text[500_000:]))
    with Input(path) as source:
        assert b"".join(source.blocks()) == text


def test_an_archive_of_nothing(tmp_path, limits):
    limits("decompressed=1000000")
    zeros = np.zeros(12_000_000, np.int8)
    sizes = {"format": b"csr", "shape": [1, 2], "indices": np.zeros(1, np.int32), "indptr": np.arange(2)}
    np.savez_compressed(tmp_path / "X.trn.npz", data=zeros, **sizes)
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.eye(1, 2, format="csr"))
    refused(tmp_path, "X.trn.npz", "decompresses to more than")


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.xmc", "a.svm", "a.csv"])
def test_a_line_without_end(tmp_path, limits, name):
    limits("line=1000")
    path = tmp_path / name
    path.write_text("1 1 1\n" * name.endswith("xmc") + "1" * 100_000)
    refused(path, "longer than the limit of 1,000 bytes", "TREETOP_LIMITS=line=", need_labels=False)


def test_a_line_within_the_limit(tmp_path, limits):
    limits("line=1000")
    path = tmp_path / "a.txt"
    path.write_text("1" * 999 + "\n" + "2" * 999 + "\n")
    assert read(path, need_labels=False).texts == Strings.of(["1" * 999, "2" * 999])


def test_the_variable_is_checked(limits, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    for text in ("labels", "lables=3", "labels=many", "labels=-1"):
        limits(text)
        with pytest.raises(ConfigError, match=r"TREETOP_LIMITS: .* is not NAME=NUMBER"):
            read(path, need_labels=False)


@pytest.mark.parametrize("count", [0, 1, 10, 11, 100, 12_345, 200_001])
def test_numbers_as_names(count):
    assert Strings.numbers(count) == Strings.of(map(str, range(count)))


def test_standard_input(monkeypatch, limits):
    limits("decompressed=1000000")
    packed = io.BytesIO(gzip.compress(LINE * 12_000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(packed))
    with pytest.raises(DataError, match="standard input: decompresses to more than"), Input("-") as source:
        sum(1 for _ in source.lines())


def test_matrices_from_python_and_of_other_doors(tmp_path, limits):
    """Few entries, many columns or rows: what `fit`, `predict`, trees and models of PECOS are given."""
    Y = sparse.csr_matrix([[1, 0], [0, 1]], dtype=np.float32)
    wide = sparse.csr_matrix(([1, 1], [0, 5], [0, 1, 2]), shape=(2, 2**40))
    long = sparse.coo_matrix(([1, 1], ([0, 2**33], [0, 1])), shape=(2**34, 2))
    model = treetop.XRLinear(threads=1).fit(sparse.csr_matrix(np.eye(2, dtype=np.float32)), Y)
    for given, words in (
        (wide, "declares 1,099,511,627,776 features"),
        (long, "declares 17,179,869,184 rows"),
    ):
        for use in (
            lambda given=given: treetop.XRLinear().fit(given, Y),
            lambda given=given: model.predict(given),
        ):
            with pytest.raises(DataError, match=words):
                use()
    with pytest.raises(DataError, match="declares 1,099,511,627,776 labels"):
        treetop.XRLinear().fit(sparse.csr_matrix(np.eye(2, dtype=np.float32)), wide)
    path = tmp_path / "C.npz"
    for given in (wide, long, sparse.csc_matrix(([1], [7], [0, 1]), shape=(2**33, 1))):
        sparse.save_npz(path, given)
        with pytest.raises(DataError, match="declares"):
            read_npz(path)
    limits("features=2000000000000")
    sparse.save_npz(path, wide)
    assert read_npz(path).shape == wide.shape
