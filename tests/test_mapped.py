"""The arrays format: what is read stays on disk, and reaches the native core without a copy."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop import _native
from treetop.cli.main import main
from treetop.data import Dataset, read, write
from treetop.errors import DataError
from treetop.sparse import around, csr_arrays, is_checked


@pytest.fixture
def folder(tmp_path):
    X, Y = planted(120, 30, 50, seed=3)
    write(Dataset.from_matrices(X, Y), tmp_path / "train.arrays")
    return tmp_path / "train.arrays"


def files_of(array):
    """The mapped file an array lies in, through views of views."""
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return None if array is None else Path(array.filename).name


def rewritten(folder, name, change):
    """One array of the folder replaced by hand."""
    path = folder / json.loads((folder / "data.json").read_text())["arrays"][name]["file"]
    array = change(np.load(path))
    np.save(path, array)


def test_everything_comes_back(tmp_path):
    X, Y = planted(40, 12, 20, seed=1)
    Y.data[:] = np.linspace(0.5, 2, Y.nnz)
    whole = dataclasses.replace(
        Dataset.from_matrices(
            X, Y, labels=[f"läbel {j}" for j in range(12)], texts=[f"text\n{i}" for i in range(40)]
        ),
        ids=treetop.Strings.of(map(str, range(40))),
        groups=treetop.Strings.of(["a", "b"] * 20),
        label_texts=treetop.Strings.of(["x"] * 12),
    )
    texts = Dataset.from_texts(["a b", "", "c"], [["x"], [], ["y", "x"]])
    unlabelled = Dataset.from_texts(["a b", ""])
    for number, dataset in enumerate((whole, texts, unlabelled)):
        path = tmp_path / f"{number}.arrays"
        write(dataset, path)
        again = read(path, need_labels=False)
        for name in ("labels", "texts", "ids", "groups", "label_texts"):
            assert getattr(again, name) == getattr(dataset, name)
        for name in ("X", "Y"):
            first, second = getattr(dataset, name), getattr(again, name)
            assert (first is None) == (second is None)
            if first is not None:
                for one, two in zip(csr_arrays(first), csr_arrays(second), strict=True):
                    np.testing.assert_array_equal(one, two)
        assert list(again[1:]) == list(dataset[1:])
    write(texts, tmp_path / "0.arrays")  # over an older one, whose arrays go
    assert list(read(tmp_path / "0.arrays")) == list(texts)
    assert len(list((tmp_path / "0.arrays").iterdir())) == 2
    write(read(tmp_path / "0.arrays"), tmp_path / "0.arrays")  # over itself
    assert list(read(tmp_path / "0.arrays")) == list(texts)


def test_the_core_gets_the_mapped_arrays(folder, monkeypatch):
    """From the file to the label vectors, the solvers and the search without a copy in Python."""
    seen: dict[str, list[str | None]] = {}

    def watching(name, first):
        call = getattr(_native, name)

        def watched(*arguments, **options):
            seen.setdefault(name, []).append(tuple(files_of(array) for array in arguments[first : first + 2]))
            return call(*arguments, **options)

        monkeypatch.setattr(_native, name, watched)

    for name, indices in (("aggregate", 4), ("SharedRows", 1), ("beam_search", 6)):
        watching(name, indices)
    dataset = read(folder)
    assert files_of(dataset.Y.indices) == "Y.indices.npy" and files_of(dataset.labels.buffer)
    assert not dataset.X.data.flags.writeable
    model = treetop.XRLinear(leaf_size=5, branching=3, negatives="tfn+man", threads=1).fit(dataset)
    model.predict(dataset)
    files = ("X.indices.npy", "X.data.npy")
    assert seen.keys() == {"aggregate", "SharedRows", "beam_search"}
    assert all(call == files for calls in seen.values() for call in calls), seen


def test_the_same_model_as_from_memory(folder):
    X, Y = planted(120, 30, 50, seed=3)
    settings = {"leaf_size": 5, "branching": 3}
    mapped = treetop.XRLinear(**settings).fit(read(folder))._state()
    for name, array in treetop.XRLinear(**settings).fit(Dataset.from_matrices(X, Y))._state().items():
        np.testing.assert_array_equal(mapped[name], array, err_msg=name)


def test_matrices_are_checked_again_only_when_files_have_changed(folder):
    assert is_checked(read(folder).X) and is_checked(read(folder).Y)
    assert not is_checked(read(folder)[:50].X)
    path = next(folder.glob("*/X.data.npy"))
    os.utime(path, ns=(1, 1))
    dataset = read(folder)
    assert not is_checked(dataset.X) and is_checked(dataset.Y)
    assert files_of(dataset.X.data) == "X.data.npy"  # checked, and still not copied

    def spoilt(values):
        values[5] = np.nan
        return values

    rewritten(folder, "X.data", spoilt)
    with pytest.raises(DataError, match="contain NaN or infinity"):
        read(folder)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("X.indices", lambda ids: ids + 50, "has a column id outside"),
        ("X.indices", lambda ids: ids[:-1], "the matrix X is damaged"),
        ("X.indices", lambda ids: ids.astype(np.int64), "must be a list of int32"),
        ("Y.indptr", lambda bounds: bounds[::-1], "the matrix Y is damaged"),
        ("Y.data", lambda weights: -weights, "not negative"),
        ("labels.offsets", lambda bounds: bounds + 1, "the arrays of labels are inconsistent"),
        ("labels.buffer", lambda letters: np.full_like(letters, ord("1")), "given twice"),
    ],
)
def test_arrays_made_by_hand_are_checked(folder, name, change, words):
    rewritten(folder, name, change)
    with pytest.raises(DataError, match=words) as caught:
        read(folder)
    assert str(folder) in str(caught.value)


def test_unsorted_rows_made_by_hand_are_put_in_order(folder):
    expected = read(folder).X.toarray()
    start, stop = read(folder).X.indptr[:2]

    def swapped(array):
        array[start:stop] = array[start:stop][::-1].copy()
        return array

    for name in ("X.indices", "X.data"):
        rewritten(folder, name, swapped)
    np.testing.assert_array_equal(read(folder).X.toarray(), expected)


def test_complaints(folder, tmp_path):
    def complains(words, call, *arguments, **options):
        with pytest.raises(DataError) as caught:
            call(*arguments, **options)
        assert words in str(caught.value) and "\n" not in str(caught.value)

    manifest = json.loads((folder / "data.json").read_text())

    def damage(**changes):
        (folder / "data.json").write_text(json.dumps(manifest | changes))

    complains("leave out --split", read, folder, split="train")
    (tmp_path / "file").write_text("x")
    complains("is not a folder; name a folder of arrays", read, tmp_path / "file", format="arrays")
    complains("it has no data.json", read, tmp_path, format="arrays")
    complains("exists and is not a folder of arrays", write, read(folder), tmp_path, format="arrays")
    complains("exists and is not a folder", write, read(folder), tmp_path / "file", format="arrays")
    outside = {"file": "../../x.npy", "bytes": 1, "changed": 1}
    damage(version=2)
    complains("version 2", read, folder)
    damage(format="x")
    complains("not a manifest of arrays", read, folder)
    damage(examples=7)
    complains("row pointers for 7 rows", read, folder)
    damage(arrays=manifest["arrays"] | {"X.data": outside})
    complains("points outside the folder", read, folder)
    damage(arrays={"labels.buffer": {}} | {k: v for k, v in manifest["arrays"].items() if "labels" not in k})
    complains("it lists no labels", read, folder)
    damage(arrays=manifest["arrays"] | {"X.data": {}})
    complains("no file is recorded for X.data", read, folder)
    (folder / "data.json").write_text("{")
    complains("not a manifest of arrays", read, folder)
    damage()
    path = next(folder.glob("*/X.data.npy"))
    path.write_bytes(path.read_bytes()[:-8])
    complains("X.data.npy is damaged", read, folder)
    path.unlink()
    complains("X.data.npy is missing", read, folder)


def test_more_entries_than_scipy_counts_in_32_bits_keep_their_columns():
    """In place of 2³¹ entries: 64-bit row pointers and 32-bit columns reach the core unchanged."""
    indptr, indices, data = np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.ones(3, np.float32)
    for array in (indices, data):
        array.flags.writeable = False
    matrix = around(indptr, indices, data, (2, 3), checked=True)
    matrix.indptr = indptr
    dataset = Dataset(labels=treetop.Strings.of([]), X=matrix)
    assert [a is b for a, b in zip(csr_arrays(dataset.X), (indptr, indices, data), strict=True)] == [True] * 3
    assert (dataset[[1, 0]].X.toarray() == [[0, 1, 0], [1, 0, 1]]).all()
    spoilt = sparse.csr_matrix(matrix)
    assert not is_checked(spoilt)


def test_commands(tmp_path, monkeypatch, capsys):
    X, Y = planted(120, 30, 50, seed=3)
    write(Dataset.from_matrices(X, Y), tmp_path / "train.txt", format="xmc")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["treetop", "-q", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    folder = tmp_path / "set"
    for _ in range(2):  # the second replaces the first
        run("data", "convert", tmp_path / "train.txt", folder, "--to", "arrays")
        run("data", "convert", tmp_path / "train.txt", tmp_path / "b.arrays")
    facts = json.loads(run("data", "info", folder, tmp_path / "b.arrays", "--json"))
    assert (facts["examples"], facts["features"], facts["other"]["examples"]) == (120, 50, 120)
    run("train", folder, "--model", tmp_path / "model", "--validation", tmp_path / "b.arrays")
    assert "P" in run("evaluate", tmp_path / "model", folder)
    run("data", "build", "synthetic", "--like", "eurlex-4k", "--scale", "0.02", "--format", "arrays",
        "--compress", "zst", "--output", tmp_path / "built")  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "built").iterdir()) == ["test.arrays", "train.arrays"]
