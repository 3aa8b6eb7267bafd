"""Data: every format by hand and in round trips, every error, the statistics."""

from __future__ import annotations

import bz2
import csv
import dataclasses
import gzip
import io
import json
import lzma
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import treetop
from conftest import SHARED
from treetop import Strings
from treetop.data import FORMATS, Dataset, describe, read, write
from treetop.errors import ConfigError, DataError, MissingExtraError, TreetopError, UserError

TWO = [("red shoes", ["shoe", "red"]), ("a hat", ["hat"])]
PACKED = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstandard.compress}


def contents(dataset):
    return [(text, sorted(labels)) for text, labels in dataset]


def two(**changes):
    return Dataset.from_texts([text for text, _ in TWO], [labels for _, labels in TWO], **changes)


def expect(error, words, call, *args, **options):
    """``call`` raises ``error`` and its message holds all the words."""
    with pytest.raises(error) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert all(word in message for word in ([words] if isinstance(words, str) else words)), message
    assert "\n" not in message
    assert isinstance(caught.value, UserError)


# -- formats by hand -----------------------------------------------------------------------------------------

FILES = {
    "a.jsonl": '{"text": "red shoes", "labels": ["shoe", "red"]}\n\n{"labels": "hat", "text": "a hat"}\n',
    "a.csv": 'labels,other,text\r\nshoe;red,"1,2",red shoes\r\nhat,,"a hat"\r\n',
    "a.tsv": "id\ttext\tlabels\n7\tred shoes\tshoe|red\n8\ta hat\that\n",
    "list.tsv": 'text\tlabels\nred shoes\t["shoe", "red"]\na hat\t["hat"]\n',
    "quotes.tsv": 'text\tlabels\n"red shoes"\tshoe, red\na hat\that\n',
    "a.fasttext": "__label__shoe __label__red red shoes\na hat __label__hat\n",
    "fasttext.txt": "__label__shoe __label__red red shoes\r\n__label__hat a hat\r\n",
    "annif.tsv": "red shoes\t<shoe> <red>\n\na hat\t<hat> <>\n",
    "train_raw_texts.txt": "red shoes\na hat\n",
    "lines.txt": '{"text": "red shoes", "labels": ["shoe", "red"]}\n{"text": "a hat", "labels": ["hat"]}',
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_formats_by_hand(tmp_path, name, bom):
    (tmp_path / name).write_bytes(bom + FILES[name].encode())
    (tmp_path / "train_labels.txt").write_text("red shoe\nhat\n")
    dataset = read(tmp_path / name)
    assert contents(dataset) == [(text, sorted(labels)) for text, labels in TWO]
    assert list(dataset.labels) == ["hat", "red", "shoe"]
    assert (None if dataset.ids is None else list(dataset.ids)) == (["7", "8"] if name == "a.tsv" else None)
    assert dataset.source == str(tmp_path / name)


def test_fields_by_name_and_number(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("title,abstract,tags,site\nOne,first,x|y,s1\nTwo,,y,s2\n")
    options = {"text": "title,abstract", "labels": "tags", "id": "title", "group": "site"}
    for columns in (options, {"text": "0,1", "labels": "2", "id": 0, "group": "site"}):
        dataset = read(file, **columns)
        assert contents(dataset) == [("One\nfirst", ["x", "y"]), ("Two", ["y"])]
        assert list(dataset.ids) == ["One", "Two"] and list(dataset.groups) == ["s1", "s2"]
    records = [
        {"title": "One", "abstract": "first", "n": [3, 1.5]},
        {"title": "Two", "abstract": None, "n": 3},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    dataset = read(tmp_path / "a.jsonl", text="title,abstract", labels="n")
    assert contents(dataset) == [("One\nfirst", ["1.5", "3"]), ("Two", ["3"])]
    (tmp_path / "no-header.tsv").write_text("One\tx, y\nTwo\ty\n")
    assert contents(read(tmp_path / "no-header.tsv", text=0, labels=1)) == [
        ("One", ["x", "y"]),
        ("Two", ["y"]),
    ]


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_a_cell_that_equals_a_column_number_makes_no_header(tmp_path, suffix):
    file, tab = tmp_path / f"a.{suffix}", "\t" if suffix == "tsv" else ","
    file.write_text(f"1{tab}red boots\n12;7{tab}sugar bowl\n")
    assert contents(read(file, labels="0", text="1")) == [("red boots", ["1"]), ("sugar bowl", ["12", "7"])]
    file.write_text(f"0{tab}1 2{tab}red boots\n1{tab}0{tab}None\n")
    data = read(file, id="0", labels="1", text="2", label_separator=" ")
    assert contents(data) == [("red boots", ["1", "2"]), ("None", ["0"])] and list(data.ids) == ["0", "1"]
    file.write_text(f"0{tab}1{tab}2\nt{tab}x{tab}other\n")  # as pandas writes a header
    assert contents(read(file, text=0, labels=1)) == [("t", ["x"])]
    file.write_text(f"2023{tab}2024\nt{tab}x\n")
    assert contents(read(file, text="2023", labels="2024")) == [("t", ["x"])]


@pytest.mark.parametrize(
    ("cells", "separator", "expected"),
    [
        (["a; b", "c|d"], None, [["a", "b"], ["c|d"]]),
        (["a|b,c", "d"], None, [["a", "b,c"], ["d"]]),
        (["a, b", ""], None, [["a", "b"], []]),
        (["a;b c", "d"], " ", [["a;b", "c"], ["d"]]),
        (['["a,b", 3]', ""], None, [["3", "a,b"], []]),
        (['["a"]', "b"], None, [['["a"]'], ["b"]]),
    ],
)
def test_label_separator(tmp_path, cells, separator, expected):
    (tmp_path / "a.tsv").write_text("text\tlabels\n" + "".join(f"t\t{cell}\n" for cell in cells))
    dataset = read(tmp_path / "a.tsv", label_separator=separator)
    assert [labels for _, labels in contents(dataset)] == expected


def test_xmc(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("3 4 3\n2,0 0:1 3:0.25\n 1:-2e-1\n1\n\n")
    dataset = read(file)
    assert dataset.X.toarray().tolist() == [[1, 0, 0, 0.25], [0, np.float32(-0.2), 0, 0], [0, 0, 0, 0]]
    assert dataset.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert list(dataset.labels) == ["0", "1", "2"] and dataset.texts is None
    rng = np.random.default_rng(0)
    dataset = Dataset.from_matrices(rng.normal(size=(20, 9)).clip(0), rng.random((20, 5)) < 0.3)
    write(dataset, tmp_path / "b.xmc.zst")
    again = read(tmp_path / "b.xmc.zst")
    assert (again.X != dataset.X).nnz == 0 and (again.Y != dataset.Y).nnz == 0


def test_pecos(tmp_path):
    X = sparse.csr_matrix(np.random.default_rng(1).random((6, 4), np.float32))
    Y = sparse.csr_matrix(np.eye(6, 3, dtype=np.float32))
    texts = [f"text {row}" for row in range(6)]
    numbered = Dataset.from_matrices(X, Y, texts=texts, label_texts=["a", "b", "c"])
    write(numbered, tmp_path / "numbered", format="pecos", split="test")
    assert sorted(path.name for path in (tmp_path / "numbered").iterdir()) == [
        "X.tst.npz", "X.tst.txt", "Y.tst.npz", "output-items.txt",
    ]  # fmt: skip
    for again in (read(tmp_path / "numbered"), read(tmp_path / "numbered" / "X.tst.npz")):
        assert (again.X != X).nnz == 0 and (again.Y != Y).nnz == 0 and list(again.texts) == texts
        assert list(again.label_texts) == ["a", "b", "c"] and list(again.labels) == ["0", "1", "2"]
    named = Dataset.from_matrices(X, Y * 0.5, labels=["x", "y", "z"])
    (tmp_path / "named").mkdir()
    write(named, tmp_path / "named" / "X.trn.npz")
    write(named[:2], tmp_path / "named", format="pecos", split="tst")
    again = read(tmp_path / "named", split="train")
    assert list(again.labels) == ["x", "y", "z"] and again.relevance.data.tolist() == [0.5] * 3
    assert len(read(tmp_path / "named", split="tst")) == 2
    expect(DataError, ["splits trn, tst", "--split"], read, tmp_path / "named")
    expect(DataError, "no split 'dev'", read, tmp_path / "named", split="dev")
    expect(DataError, "aligned_to", write, two(), tmp_path / "named", format="pecos")
    expect(DataError, "name 'x' is given twice", Dataset.from_matrices, X, Y, labels=["x", "y", "x"])
    (tmp_path / "named" / "labels.txt").write_text("x\ny\ny\n")
    expect(DataError, ["named", "name 'y' is given twice"], read, tmp_path / "named", split="trn")
    (tmp_path / "named" / "labels.txt").unlink()
    sparse.save_npz(tmp_path / "named" / "Y.tst.npz", Y)
    expect(DataError, ["has 2 rows but", "Y.tst.npz has 6"], read, tmp_path / "named", split="tst")
    (tmp_path / "named" / "Y.tst.npz").write_bytes(b"junk")
    expect(DataError, "Y.tst.npz: not a sparse matrix", read, tmp_path / "named", split="tst")
    X.data[1] = np.nan
    sparse.save_npz(tmp_path / "named" / "X.trn.npz", X)
    expect(DataError, ["X.trn.npz", "NaN"], read, tmp_path / "named", split="trn")


def test_rawtext_folder_and_unlabelled(tmp_path):
    write(two(), tmp_path / "set", format="rawtext", split="train")
    write(two()[:1], tmp_path / "set" / "test_texts.txt.gz")
    assert contents(read(tmp_path / "set", split="test")) == contents(two())[:1]
    expect(DataError, "splits test, train", read, tmp_path / "set")
    (tmp_path / "set" / "train_labels.txt").write_text("hat\n")
    expect(DataError, ["has 2 lines but", "train_labels.txt has 1"], read, tmp_path / "set", split="train")
    (tmp_path / "set" / "train_labels.txt").unlink()
    expect(DataError, "no train_labels.txt", read, tmp_path / "set", split="train")
    assert read(tmp_path / "set", split="train", need_labels=False).Y is None


def test_unlabelled_input(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\nthree")
    dataset = read(tmp_path / "a.txt", need_labels=False)
    assert list(dataset.texts) == ["one", "", "three"] and dataset.Y is None and not len(dataset.labels)
    expect(DataError, "plain text has no labels", read, tmp_path / "a.txt")
    for name, content in {
        "a.jsonl": '{"text": "t"}',
        "a.csv": "text\nt\n",
        "a.ft": "t\n",
        "a.annif": "t\n",
    }.items():
        (tmp_path / name).write_text(content)
        assert read(tmp_path / name, need_labels=False).Y is None
    write(Dataset.from_texts(["a\nb", "c"]), tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == b"a b\nc\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch, pack):
    def feed(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(content.encode()))))

    feed('\n  {"text": "t", "labels": ["x"]}\n')
    assert contents(read("-")) == [("t", ["x"])]
    feed("one\ntwo\n")
    dataset = read("-", need_labels=False)
    assert list(dataset.texts) == ["one", "two"] and dataset.source == "standard input"
    feed("labels,text\nx,t\n")
    assert contents(read("-", format="csv")) == [("t", ["x"])]
    feed("{}")
    expect(DataError, "standard input line 1: no field 'text'", read, "-")
    expect(DataError, "cannot be read from standard input", read, "-", format="parquet")


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"n": [1, 2], "title": ["One", "Two"], "more": ["first", None], "ids": [[3, 4], None]}
    parquet.write_table(pyarrow.table({**table, "cell": ["x;y", None]}), tmp_path / "a.parquet")
    dataset = read(tmp_path / "a.parquet", text="title,more", labels="ids", id="n", group="title")
    assert contents(dataset) == [("One\nfirst", ["3", "4"]), ("Two", [])]
    assert list(dataset.ids) == ["1", "2"]
    assert contents(read(tmp_path / "a.parquet", text="title", labels="cell")) == [
        ("One", ["x", "y"]),
        ("Two", []),
    ]
    expect(DataError, ["row 2", "null"], read, tmp_path / "a.parquet", text="more", labels="ids")
    expect(
        DataError, ["'titel'", "'title'", "--text"], read, tmp_path / "a.parquet", text="titel", labels="ids"
    )
    (tmp_path / "b.parquet").write_bytes(b"junk")
    expect(DataError, "b.parquet: not a readable Parquet file", read, tmp_path / "b.parquet")


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_parquet(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"a.parquet.{suffix}"
    write(two(), path)
    assert not path.read_bytes().startswith(b"PAR1")
    assert contents(read(path)) == contents(two())
    path.write_bytes(path.read_bytes()[:-20])
    expect(DataError, "a.parquet", read, path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").touch()
    expect(MissingExtraError, "treetop-xmc[parquet]", read, tmp_path / "a.parquet")
    expect(MissingExtraError, "treetop-xmc[parquet]", write, two(), tmp_path / "b.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_of_spreadsheets(tmp_path, separator):
    """A comma is the decimal mark in much of the world: cells are then separated by others."""
    rows = [["title", "body", "tags"], ["a, b", "c\nd", "x;y"], ["e; f", "g", "y"]]
    with (tmp_path / "a.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    data = read(tmp_path / "a.csv", text="title,body", labels="tags")
    assert contents(data) == [("a, b\nc\nd", ["x", "y"]), ("e; f\ng", ["y"])]


def test_csv_without_a_header_has_commas(tmp_path):
    (tmp_path / "a.csv").write_text("one; two,x\nthree; four,y\n")
    assert contents(read(tmp_path / "a.csv", text=0, labels=1)) == [
        ("one; two", ["x"]),
        ("three; four", ["y"]),
    ]


def test_label_texts(tmp_path):
    write(two(), tmp_path / "a.jsonl")
    (tmp_path / "names.tsv").write_text("hat\tHeadgear\textra\nred\t\nother\tOther\n")
    (tmp_path / "names.csv").write_text('id,name\nhat,"Hats, caps"\n')
    assert list(read(tmp_path / "a.jsonl", label_texts=tmp_path / "names.tsv").label_texts) == [
        "Headgear", "red", "shoe",
    ]  # fmt: skip
    assert read(tmp_path / "a.jsonl", label_texts=tmp_path / "names.csv").label_texts[0] == "Hats, caps"
    (tmp_path / "bad.tsv").write_text("hat\tHeadgear\nred\n")
    expect(DataError, "bad.tsv line 2", read, tmp_path / "a.jsonl", label_texts=tmp_path / "bad.tsv")
    (tmp_path / "bad.tsv").write_text("HAT\tHeadgear\n")
    expect(DataError, "none of the labels", read, tmp_path / "a.jsonl", label_texts=tmp_path / "bad.tsv")


# -- there and back again ------------------------------------------------------------------------------------

ANY = st.text(max_size=12)
LINE = st.text(st.characters(exclude_characters="\n\r\t\ufeff", exclude_categories=["Cs"]), max_size=12)
CSV = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
WORD = st.text(
    st.characters(exclude_categories=["Cs", "Z", "C"], exclude_characters="<>"), min_size=1, max_size=4
)
TRICKY = st.sampled_from(["a", "a,b", "x|y", "x;y", " z ", "[q]", "<u>", '"w"', "tab\there", "line\nbreak"])
HELD = {
    "jsonl": (ANY, ANY.filter(bool) | TRICKY, True),
    "csv": (CSV, CSV.filter(bool) | TRICKY, True),
    "tsv": (LINE, ANY.filter(bool) | TRICKY, True),
    "parquet": (ANY, ANY.filter(bool) | TRICKY, True),
    "fasttext": (LINE, WORD, False),
    "rawtext": (LINE, WORD, False),
    "annif": (LINE, WORD, False),
    "pecos": (LINE, WORD, False),
}


@pytest.mark.parametrize("format", HELD)
def test_round_trip(format):
    texts, names, has_ids = HELD[format]
    ids = texts if has_ids else st.none()

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(texts, st.sets(names, max_size=4), ids, ids), min_size=1, max_size=5))
    def check(rows):
        columns = list(zip(*rows, strict=True))
        extra = {"ids": columns[2], "groups": columns[3]} if has_ids else {}
        dataset = Dataset.from_texts(columns[0], columns[1], **extra)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / {"rawtext": "x_raw_texts.txt", "pecos": "set"}.get(format, f"data.{format}")
            write(dataset, path, format=format)
            group = "group" if has_ids else None
            again = read(path, format=format, need_labels=False, group=group)
        assert contents(again) == contents(dataset)
        if has_ids:
            assert again.ids == dataset.ids and again.groups == dataset.groups

    check()


@pytest.mark.parametrize("suffix", PACKED)
def test_compression(tmp_path, suffix):
    for name in ("a.jsonl", "a.csv", "a.ft"):
        write(two(), tmp_path / f"{name}.{suffix}")
        assert contents(read(tmp_path / f"{name}.{suffix}")) == contents(two())
    # Members one after the other are one file, as `cat a.gz b.gz` makes them.
    plain = b"".join(
        json.dumps({"text": f"t{row}", "labels": ["x", row]}).encode() + b"\n" for row in range(3000)
    )
    pack = PACKED[suffix]
    (tmp_path / "b.jsonl").write_bytes(pack(plain) + pack(plain))
    assert len(read(tmp_path / "b.jsonl")) == 6000
    (tmp_path / "b.jsonl").write_bytes(pack(plain)[:-30])
    expect(DataError, "b.jsonl: the compressed file is truncated", read, tmp_path / "b.jsonl")
    damaged = bytearray(pack(plain))
    damaged[30:60] = bytes(30)
    (tmp_path / "b.jsonl").write_bytes(damaged)
    expect(DataError, "b.jsonl", read, tmp_path / "b.jsonl")


# -- complaints ----------------------------------------------------------------------------------------------

GOOD = '{"text": "t", "labels": ["x"], "id": "1"}\n'
BAD_FILES = [
    ("a.jsonl", GOOD + "\n{bad\n", {}, ["a.jsonl line 3", "not valid JSON", "column 2"]),
    ("a.jsonl", GOOD + "[1]\n", {}, ["line 2", "a list, not a JSON object"]),
    ("a.json", "[\n" + GOOD + "]\n", {}, ["line 1", "one object on each line"]),
    ("a.jsonl", "[" * 100_000, {}, ["line 1", "JSON"]),
    (
        "a.jsonl",
        '{"body": "t", "labels": []}',
        {},
        "no field 'text' (fields: body, labels); name it with --text",
    ),
    ("a.jsonl", '{"text": "t", "lable": []}', {}, ["no field 'labels'", "did you mean 'lable'?"]),
    ("a.jsonl", '{"text": 3, "labels": []}', {}, "field 'text' must be a string, not a number"),
    ("a.jsonl", '{"text": null, "labels": []}', {}, "field 'text' must be a string, not null"),
    ("a.jsonl", '{"text": "t", "labels": {"x": 1}}', {}, "'labels' must be a list of strings, not an object"),
    ("a.jsonl", '{"text": "t", "labels": ["x", null]}', {}, "a list with null in it"),
    ("a.jsonl", '{"text": "t", "labels": [NaN]}', {}, "a list with nan in it"),
    ("a.jsonl", '{"text": "t", "labels": [], "id": {}}', {}, "field 'id' must be a string, not an object"),
    ("a.jsonl", GOOD + '{"text": "t", "labels": []}', {}, "line 2: no id, but earlier examples have one"),
    (
        "a.jsonl",
        GOOD,
        {"group": "site"},
        "no field 'site' (fields: id, labels, text); name it with --group",
    ),
    ("a.jsonl", GOOD, {"id": "name"}, "no field 'name'"),
    ("a.jsonl", GOOD, {"text": "text,titel"}, "no line has the text field 'titel'"),
    ("a.jsonl", '{"text": "t", "labels": []}', {}, "a.jsonl: no example has a label"),
    ("a.jsonl", "\n\n", {}, "a.jsonl: has no examples"),
    ("a.jsonl", b'{"text": "\xff"}', {}, "line 1: not valid UTF-8 (byte 0xff at position 10)"),
    ("a.csv", "", {}, "a.csv: has no examples"),
    ("a.csv", "text,labels\n", {}, "a.csv: has no examples"),
    ("a.csv", "text,labels\na,b\nc\n", {}, "a.csv line 3: 1 column, but the first row has 2"),
    (
        "a.csv",
        "text,label\na,b\n",
        {},
        ["no column 'labels' (columns: label, text)", "did you mean 'label'"],
    ),
    ("a.csv", "a,b\n", {}, ["no column 'text'", "number from 0 if there is no header"]),
    ("a.csv", "a,b\n", {"text": 0, "labels": 2}, "line 1: no column 2; the table has 2"),
    ("a.csv", 'text,labels\n"a\nb" c,x\n', {}, "a.csv line 2: not valid CSV"),
    ("a.csv", "one;two\n", {}, ["no column 'text'", "one;two"]),
    ("a.csv", 'text,labels\nt,"[x]"\n', {}, ["row 1", "not a JSON list"]),
    ("a.tsv", "text\tlabels\nt\t\n", {}, "no example has a label"),
    ("a.annif", "text\n", {}, "a.annif line 1: no tab"),
    ("a.ft", "text\n", {}, "a.ft: no example has a label"),
    ("a.ft", "__label__x text\n", {"group": "g"}, "fasttext has no groups"),
    ("a.ft", "__label__x text\n", {"split": "train"}, "leave out --split"),
    ("a.xmc", "1 2\n", {}, "a.xmc line 1: the header must be three numbers"),
    ("a.xmc", "0 1 1\n", {}, "has no examples"),
    (
        "a.xmc",
        "2 3 3\n0 1:1\n3 1:1\n",
        {},
        "line 3: label 3 is out of range: the header declares labels 0…2",
    ),
    ("a.xmc", "1 3 3\n0 3:1\n", {}, "line 2: feature 3 is out of range"),
    ("a.xmc", "1 3 3\n0 1:1 2:nan\n", {}, "line 2: '2:nan' is not a feature with a finite value"),
    ("a.xmc", "1 3 3\n0 1:1:2 2\n", {}, "line 2: '1:1:2' is not a feature"),
    ("a.xmc", "1 3 3\n0 1:1e39\n", {}, "row 0 contain NaN or infinity"),
    ("a.xmc", "1 3 3\n0;1 1:1\n", {}, "line 2: '0;1' is not a list of label numbers"),
    ("a.xmc", "2 3 3\n0 1:1\n", {}, "the header declares 2 examples but the file has 1"),
    ("a.xmc", "1 3 3\n 1:1\n", {}, "no example has a label"),
    ("a.dat", "what is this\n", {}, ["a.dat", "--format (jsonl, csv"]),
    ("a.dat", "", {}, "has no examples"),
    ("b_texts.txt", "t\n", {}, "no b_labels.txt next to it"),
]


@pytest.mark.parametrize(("name", "content", "options", "words"), BAD_FILES)
def test_complaints(tmp_path, name, content, options, words):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    expect(DataError, words, read, tmp_path / name, **options)


FOLDERS = ("parquet", "pecos", "rawtext", "repository")
"""Formats whose files have names of their own; Parquet is read by its own library."""


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in FOLDERS])
def test_any_bytes_are_data_or_a_clear_complaint(format):
    good = b"".join(content.encode() for content in FILES.values()) + b"1 2 3\n0,1 1:0.5\n"
    piece = st.integers(0, len(good)).flatmap(lambda at: st.integers(1, 20).map(lambda n: good[at : at + n]))

    @settings(max_examples=60, deadline=None)
    @given(st.lists(piece | st.binary(max_size=4), max_size=12).map(b"".join))
    def check(content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a"
            path.write_bytes(content)
            try:
                assert len(
                    read(path, format=format, text="0" if "sv" in format else "text", need_labels=False)
                )
            except UserError as error:
                assert str(path) in str(error)

    check()


def test_complaints_about_paths(tmp_path):
    write(two(), tmp_path / "train.jsonl.xz")
    missing = tmp_path / "train.jsonl"
    expect(DataError, ["no such file", "did you mean", "train.jsonl.xz"], read, missing)
    (tmp_path / "empty").mkdir()
    expect(DataError, "is a folder, not a file", read, tmp_path / "empty")
    expect(DataError, "is a folder, not a file", read, tmp_path / "empty", format="csv")
    expect(ConfigError, ["no format 'josnl'", "'jsonl'"], read, tmp_path / "train.jsonl.xz", format="josnl")
    expect(ConfigError, "separator must not be empty", read, tmp_path / "train.jsonl.xz", label_separator="")
    expect(DataError, "named <split>_raw_texts.txt", read, tmp_path / "train.jsonl.xz", format="rawtext")
    expect(DataError, "named X.<split>.npz", read, tmp_path / "train.jsonl.xz", format="pecos")


def test_write_refuses_what_a_format_cannot_hold(tmp_path):
    matrices = Dataset.from_matrices(np.eye(2), np.eye(2))
    spaced = Dataset.from_texts(["t"], [["two words"]])
    cases = [
        (two(), "a.xmc", {}, "has only texts"),
        (dataclasses.replace(matrices, labels=treetop.Strings.of("xy")), "a.xmc", {}, "names such as 'x'"),
        (matrices, "a.jsonl", {}, "has only features"),
        (Dataset.from_matrices(np.eye(2), np.eye(2) / 2), "a.xmc", {}, "cannot store the relevances"),
        (two().with_weights(weights=[1, 2]), "a.ft", {}, "fasttext cannot store the weights"),
        (spaced, "a.ft", {}, "'two words' cannot be written as fasttext"),
        (spaced, "a.annif", {}, "'two words' cannot be written as annif"),
        (spaced, "a_texts.txt", {}, "'two words' cannot be written as rawtext"),
        (Dataset.from_texts(["a __label__b"], [["x"]]), "a.ft", {}, "row 0 contains a word that begins with"),
        (Dataset.from_texts(["t"], [[""]]), "a.jsonl", {}, "empty name"),
        (Dataset.from_texts(["t"], [["a;b"]]), "a.csv", {"label_separator": ";"}, "'a;b' cannot be written"),
        (Dataset.from_texts(["t"], [["a"]], ids=["1\t2"]), "a.tsv", {}, "id '1\\t2' cannot be written"),
        (two(), "a.txt", {}, "end it in"),
        (two(), "a.what", {}, "end it in"),
        (two(), "nowhere/a.jsonl", {}, "does not exist"),
    ]
    for dataset, name, options, words in cases:
        expect(DataError, words, write, dataset, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv.zst", "a.parquet", "a_texts.txt.gz"])
def test_a_failed_write_changes_nothing(tmp_path, monkeypatch, name):
    write(two(), tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(self):
        yield "first"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(treetop.Strings, "__iter__", broken)
    with pytest.raises(TreetopError, match=r"cannot be written \(No space left on device\)"):
        write(two(), tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_registry():
    for name, format in FORMATS.items():
        assert format.name == name and format.help
        assert callable(format.module.read) and hasattr(format.module, "write") == format.can_write
    assert treetop.read is read and treetop.write is write


def test_reading_holds_one_copy(tmp_path):
    rows = 15_000
    labels = ([f"label {row % 997}", f"label {row % 1009}"] for row in range(rows))
    texts = (f"a short text about thing number {row}" for row in range(rows))
    write(Dataset.from_texts(texts, labels, ids=map(str, range(rows))), tmp_path / "a.jsonl")
    tracemalloc.start()
    try:
        dataset = read(tmp_path / "a.jsonl")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    strings = [part for column in (dataset.texts, dataset.ids) for part in (column.buffer, column.offsets)]
    final = sum(part.nbytes for part in [*strings, dataset.Y.data, dataset.Y.indices, dataset.Y.indptr])
    assert peak < 2 * final


# -- real data -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the shared reference data is not on this machine")
def test_real_data():
    folder = SHARED / "data" / "tib-core"
    train = read(folder / "train.jsonl.xz", label_texts=folder / "labels.tsv")
    figures = describe(train, read(folder / "test.jsonl.xz"))
    assert (figures.examples, figures.labels_used) == (41_902, 24_473)
    assert figures.other.examples == 6_980 and figures.other.unseen_labels == 1_823
    assert round(figures.labels_per_text.mean, 2) == 3.04 and round(figures.words_per_text.mean, 1) == 176.9


def test_matrices_are_checked_wherever_a_data_set_is_made():
    texts, names = Strings.of(["a", "b"]), Strings.of(["x", "y", "z"])
    with pytest.raises(DataError, match="3 rows of X but 2 examples"):
        Dataset(labels=names, texts=texts, X=np.eye(3))
    outside = sparse.csr_matrix(np.eye(2, 3, dtype=np.float32))
    outside.indices = np.array([0, 7], np.int32)
    with pytest.raises(DataError, match="features is damaged: row 1 has a column id outside 0…2"):
        Dataset(labels=names, X=outside)
    with pytest.raises(DataError, match="not negative"):
        Dataset(labels=names, texts=texts, Y=-np.eye(2, 3))
