"""Each fault of a file, and of the machine that holds it, is one sentence that names the file."""

from __future__ import annotations

import errno
import io
import json
import lzma
import os
import struct
import zipfile

import numpy as np
import pytest
from scipy import sparse

import treetop
from treetop import store
from treetop.cli.main import main
from treetop.data import read, write
from treetop.data.formats.parts import lines_or_latin
from treetop.errors import DataError, MachineError, ModelError, TreetopError
from treetop.store import Stored

MARK = "\ufeff"


def parquet(path, columns, names=None):
    """Writes a table."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    table = pyarrow.table(list(columns.values()), names=names or list(columns))
    write_table(table, path)
    return path


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "dictionary"]
)
def test_every_kind_of_parquet_strings(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    kinds = {"dictionary": lambda: pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    make = kinds.get(kind) or getattr(pyarrow, kind, None)
    if make is None:
        pytest.skip("this pyarrow lacks it")
    texts, labels = pyarrow.array(["one", "two", "ä"]), pyarrow.array(["a;b", "", "b"])
    path = parquet(tmp_path / "a.parquet", {"text": texts.cast(make()), "labels": labels.cast(make())})
    found = read(path)
    assert list(found) == [("one", ["a", "b"]), ("two", []), ("ä", ["b"])]


def test_lists_of_binary_labels(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    labels = pyarrow.array([["a", "b"], []]).cast(pyarrow.list_(pyarrow.binary()))
    path = parquet(tmp_path / "a.parquet", {"text": pyarrow.array(["one", "two"]), "labels": labels})
    assert list(read(path)) == [("one", ["a", "b"]), ("two", [])]


def test_parquet_of_bytes_that_are_not_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    bad = pyarrow.array([b"one", b"\xff\xfe"])
    labels = pyarrow.array(["a", "b"])
    named = pyarrow.StringArray.from_buffers(2, *bad.buffers()[1:])
    for number, texts in enumerate((bad, named)):
        path = parquet(tmp_path / f"{number}.parquet", {"text": texts, "labels": labels})
        with pytest.raises(DataError, match=rf"{number}\.parquet: .*valid UTF-8"):
            read(path)


def test_parquet_with_a_column_twice(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"text": pyarrow.array(["one"]), "b": pyarrow.array(["a"]), "c": pyarrow.array(["d"])}
    path = parquet(tmp_path / "a.parquet", columns, names=["text", "labels", "labels"])
    with pytest.raises(DataError, match=r"a\.parquet: has 2 columns named 'labels'; rename"):
        read(path)
    assert read(path, labels="text").texts is not None


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64


BROKEN_HEADERS = [
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"[:-4] + b"\n",
    b"(((((\n", b"\xff\xfe\n", b"[" * 3000 + b"\n",
    b"{'descr': '<f4', 'fortran_order': 3, 'shape': (2,), }\n",
    b"{'descr': [('a', '<f4', 3, 4)], 'fortran_order': False, 'shape': (2,), }\n",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 2), }\n",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }\n",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n",
    b"__import__('os')\n", b"{1: 2}\n", b"", b"1 +\n  \\", b"'''\n",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("header", range(len(BROKEN_HEADERS)))
def test_broken_headers_of_arrays(tmp_path, header):
    content = npy(BROKEN_HEADERS[header])
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.eye(2, 2, format="csr"))
    dense = tmp_path / "X.trn.npy"
    dense.write_bytes(content)
    with pytest.raises(DataError, match=r"X\.trn\.npy"):
        read(tmp_path)
    dense.unlink()
    packed = tmp_path / "X.trn.npz"
    sparse.save_npz(packed, sparse.eye(2, 2, format="csr"))
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for member in members:
        with zipfile.ZipFile(packed, "w") as archive:
            for name, good in members.items():
                archive.writestr(name, content if name == member else good)
        with pytest.raises(DataError, match=r"X\.trn\.npz"):
            read(tmp_path)
    folder = tmp_path / "model"
    store.save(folder, Stored("x", {}, {}, {"a": np.arange(3)}))
    entry = json.loads((folder / "manifest.json").read_text())["arrays"]["a"]["file"]
    (folder / entry).write_bytes(content)
    with pytest.raises(ModelError, match=rf"{folder}: the file {entry} is damaged"):
        store.load(folder, verify=False)


def test_broken_archives(tmp_path):
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.eye(2, 2, format="csr"))
    packed = tmp_path / "X.trn.npz"
    sparse.save_npz(packed, sparse.eye(2, 2, format="csr"))
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        whole = made.getvalue()
        for at in range(0, len(whole), 11):
            packed.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
            try:
                read(tmp_path)
            except DataError as error:
                assert "X.trn.npz" in str(error)


@pytest.mark.parametrize("config", ["[" * 100_000, '{"format": ' + "[" * 100_000])
def test_deep_json_in_a_manifest(tmp_path, config):
    (tmp_path / "manifest.json").write_text(config)
    with pytest.raises(ModelError, match=r"manifest\.json is damaged"):
        treetop.load(tmp_path)


def test_links_in_a_circle(tmp_path, capsys):
    folder = tmp_path / "model"
    store.save(folder, Stored("x", {}, {}, {"a": np.arange(3)}))
    entry = json.loads((folder / "manifest.json").read_text())["arrays"]["a"]["file"]
    (folder / entry).unlink()
    (folder / entry).symlink_to(folder / entry)
    with pytest.raises(ModelError, match=rf"{folder}: the file {entry}"):
        store.load(folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").symlink_to(folder / "manifest.json")
    with pytest.raises(ModelError, match="is not a model folder"):
        store.load(folder)
    assert "internal error" not in capsys.readouterr().err


FAULTS = {
    errno.EMFILE: "Too many open files: raise the limit of file descriptors",
    errno.ENFILE: "Too many open files in system: close other programs",
    errno.EACCES: "Permission denied: change the permissions",
    errno.EIO: "Input/output error: check the disk",
    errno.ENOSPC: "No space left on device: free some space",
}


@pytest.mark.parametrize("number", FAULTS)
def test_faults_of_the_machine_are_no_damage(tmp_path, monkeypatch, number, capsys):
    folder, lines = tmp_path / "model", tmp_path / "a.jsonl"
    store.save(folder, Stored("x", {}, {}, {"a": np.arange(3)}))
    lines.write_text('{"text": "one", "labels": ["a"]}\n')
    for name in "XY":
        sparse.save_npz(tmp_path / f"{name}.trn.npz", sparse.eye(2, 2, format="csr"))
    write(treetop.Dataset.from_matrices(np.eye(2), np.eye(2)), tmp_path / "a.arrays")

    def fails(*_, **__):
        raise OSError(number, os.strerror(number))

    for action in (lambda: store.load(folder), lambda: read(lines), lambda: read(tmp_path / "X.trn.npz")):
        with monkeypatch.context() as patched:
            patched.setattr("treetop.store.file_digest", fails)
            patched.setattr("pathlib.Path.open", fails)
            patched.setattr("zipfile.ZipFile", fails)
            with pytest.raises(MachineError, match=FAULTS[number]) as caught:
                action()
            assert str(tmp_path) in str(caught.value) and "damaged" not in str(caught.value)
    with monkeypatch.context() as patched:
        patched.setattr("numpy.load", fails)
        with pytest.raises(MachineError, match=FAULTS[number]):
            read(tmp_path / "a.arrays")
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.open", fails)
        with pytest.raises(SystemExit) as ended:
            main(["-q", "data", "info", str(lines)])
    assert ended.value.code == 1
    message = capsys.readouterr().err
    assert message.startswith(f"treetop: {lines}: ") and FAULTS[number] in message
    assert message.count("\n") == 1


def test_too_few_descriptors_for_a_model(tmp_path):
    resource = pytest.importorskip("resource")
    store.save(tmp_path / "model", Stored("x", {}, {}, {"a": np.arange(3)}))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.open(tmp_path, os.O_RDONLY)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, before[1]))
    try:
        with pytest.raises(TreetopError, match="Too many open files: raise the limit of file descriptors"):
            store.load(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("format", ["fasttext", "annif", "jsonl", "csv", "tsv", "parquet", "libmultilabel"])
@pytest.mark.parametrize("text", [MARK + "one", MARK, MARK + MARK + "one", "o" + MARK, MARK + "__label"])
def test_a_text_that_begins_with_a_mark(tmp_path, format, text):
    """Only one at the start of a file marks its encoding."""
    data = treetop.Dataset.from_texts([text, text], [["a"], ["b"]])
    if format == "fasttext":
        data = treetop.Dataset.from_texts([text, text], [[], ["b"]])
    path = tmp_path / "a.x"
    if format == "libmultilabel":
        path.write_text("".join(f"{label}\t{text}\n" for label in "ab"), "utf-8")
    else:
        write(data, path, format=format)
    assert list(read(path, format=format).texts) == [text, text]


def test_plain_texts_and_label_names_with_a_mark(tmp_path):
    write(treetop.Dataset.from_texts([MARK + "one", "two"]), tmp_path / "a.txt")
    assert list(read(tmp_path / "a.txt", need_labels=False).texts) == [MARK + "one", "two"]
    data = treetop.Dataset.from_matrices(np.eye(2), np.eye(2), labels=[MARK + "a", "b"])
    write(data, tmp_path / "p", format="pecos")
    assert list(read(tmp_path / "p").labels) == [MARK + "a", "b"]


def test_lines_in_latin_that_are_compressed_or_too_long(tmp_path, monkeypatch):
    path = tmp_path / "label_map.txt.xz"
    path.write_bytes(lzma.compress(b"b\r\ncaf\xe9"))
    assert list(lines_or_latin(path)) == ["b", "café"]
    monkeypatch.setenv("TREETOP_LIMITS", "line=3")
    with pytest.raises(DataError, match="longer than the limit of 3 bytes"):
        lines_or_latin(path)


def test_a_mark_before_the_first_line_is_still_dropped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(MARK + "one\ntwo\n", "utf-8")
    assert list(read(path, need_labels=False).texts) == ["one", "two"]
    packed = tmp_path / "b.txt.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    assert list(read(packed, need_labels=False).texts) == ["one", "two"]
