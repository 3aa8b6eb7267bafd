"""Label clusters as trees: matrices and chains of PECOS, and the files of AttentionXML and LightXML."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop import DataError, LabelTree, Strings
from treetop.tree import read_tree
from treetop.tree.chains import as_tree

CLUSTERS = [[1, 4], [], [0, 2, 5], [3]]
"""The second cluster is empty."""
NAMES = Strings.of(["a", "b", "c", "d", "e", "f"])
MATRIX = sparse.csc_matrix(np.array([[int(label in cluster) for cluster in CLUSTERS] for label in range(6)]))
UPPER = sparse.csr_matrix(np.eye(2)[[1, 0, 0, 1]])


def nested(tree: LabelTree) -> list[list[int]]:
    """The labels below each lowest cluster."""
    return [tree.members(tree.depth - 2, node).tolist() for node in range(tree.sizes[-2])]


def objects(rows) -> np.ndarray:
    array = np.empty(len(rows), object)
    for at, row in enumerate(rows):
        array[at] = row
    return array


def test_a_matrix_is_one_level_of_clusters():
    tree = as_tree(MATRIX, 6)
    assert tree.sizes == [3, 6] and nested(tree) == [[1, 4], [0, 2, 5], [3]]


def test_a_chain_has_its_levels_in_any_order():
    as_pecos_has_it = SimpleNamespace(chain=[UPPER, MATRIX])
    for given in ([UPPER, MATRIX], (UPPER, MATRIX), as_pecos_has_it):
        tree = as_tree(given, 6)
        assert tree.sizes == [2, 3, 6]
        # The first upper cluster has the empty cluster and the third one.
        assert nested(tree) == [[0, 2, 5], [1, 4], [3]]
        assert tree.offsets[1].tolist() == [0, 1, 3]
    with_root = [np.ones((2, 1)), UPPER, MATRIX]
    assert nested(as_tree([sparse.csc_matrix(level) for level in with_root], 6)) == nested(tree)
    again = as_tree(tree.chain(), 6)
    assert again.sizes == tree.sizes  # the labels of the chain are the leaves, in their order
    np.testing.assert_array_equal(tree.labels[again.labels], tree.labels)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (MATRIX.toarray(), "tree must be a LabelTree, a sparse matrix"),
        ([], "tree must be"),
        ("tree.tsv", "tree must be"),
        (MATRIX[:5], "has 5 rows, but the data have 6 labels"),
        (MATRIX * 2, "not a 0/1 matrix"),
        (MATRIX[:, :2], "label 0 .of 0…5. is in no cluster"),
        (sparse.hstack([MATRIX, MATRIX]).tocsr(), "row 0 is in 2 clusters"),
        ([UPPER[:3], MATRIX], r"tree\[1\]: has 4 columns, but the level above has 3 nodes"),
    ],
)
def test_matrices_that_are_no_tree(given, words):
    with pytest.raises(DataError, match=words):
        as_tree(given, 6)


def test_fit_takes_clusters(tmp_path):
    X, Y = planted(60, 6, 30, seed=1)
    own = treetop.XRLinear().fit(
        X, Y, tree=LabelTree((np.array([0, 3]), np.array([0, 2, 5, 6])), [1, 4, 0, 2, 5, 3])
    )
    given = treetop.XRLinear().fit(X, Y, tree=MATRIX)
    np.testing.assert_array_equal(given.tree.labels, own.tree.labels)
    np.testing.assert_array_equal(given.predict(X, 4).scores, own.predict(X, 4).scores)
    calibrated = treetop.XRLinear(calibration="platt").fit(
        X, Y, tree=[UPPER, MATRIX]
    )  # not split like examples
    assert calibrated.tree.sizes == [2, 3, 6]
    with pytest.raises(DataError, match="has 5 rows, but the data have 6 labels"):
        treetop.XRLinear().fit(X, Y, tree=MATRIX[:5])


def test_files_of_clusters(tmp_path):
    def read(name: str) -> list[list[int]]:
        return nested(read_tree(tmp_path / name, NAMES))

    expected = [[1, 4], [0, 2, 5], [3]]
    sparse.save_npz(tmp_path / "C.npz", MATRIX)
    assert read("C.npz") == expected
    chain = tmp_path / "chain"
    chain.mkdir()
    (chain / "config.json").write_text('{"len": 2}')
    for level, matrix in enumerate((UPPER, MATRIX)):
        sparse.save_npz(chain / f"C{level}.npz", matrix)
    assert read("chain") == [[0, 2, 5], [1, 4], [3]]
    named = [[NAMES[label] for label in cluster] for cluster in CLUSTERS]
    for rows in (
        objects([np.array(cluster, np.int64) for cluster in CLUSTERS]),  # AttentionXML
        objects([np.array(cluster, ">i4") for cluster in CLUSTERS]),
        objects([list(map(np.int32, cluster)) for cluster in CLUSTERS]),
        objects(named),  # LightXML
        objects([np.array(cluster, "U1") for cluster in named]),
    ):
        np.save(tmp_path / "group.npy", rows, allow_pickle=True)
        assert read("group.npy") == expected
    for equal in (np.array([[5, 0, 3], [2, 4, 1]]), np.array([["f", "a", "d"], ["c", "e", "b"]], object)):
        np.save(tmp_path / "equal.npy", equal, allow_pickle=True)
        assert read("equal.npy") == [[0, 3, 5], [1, 2, 4]]


class Command:
    def __reduce__(self):
        return os.mkdir, ("taken",)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0, 1, 2], [3, 4, 5, 6]], "6 is not a label of the data, numbered 0…5"),
        ([[0, 1, 2], [3, 4, -1, 5]], "-1 is not a label"),
        ([["a", "b"], ["z"]], "the data have no label 'z'"),
        ([[0, 1, 2], [3, 4, 5, 1]], "the label 1 is in clusters 0 and 1"),
        ([[0, 1, 2], [3, 4]], "the label 'f' is in no cluster"),
        ([0, 1, 2], "a row is a int"),
        ([np.array([0.5]), np.array([1.0, 2.0])], "of the type f8"),
        ([Command(), [1]], r"names (posix|nt)\.mkdir, which no array of lists needs"),
    ],
)
def test_lists_that_are_no_tree(rows, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("group.npy", objects(rows), allow_pickle=True)
    with pytest.raises(DataError, match=words) as caught:
        read_tree("group.npy", NAMES)
    assert "group.npy" in str(caught.value) and not Path("taken").exists()


def test_damaged_lists_never_crash(tmp_path):
    path = tmp_path / "group.npy"
    np.save(path, objects([np.array(cluster) for cluster in CLUSTERS]), allow_pickle=True)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(whole), 100, replace=False).tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ rng.integers(1, 256)]) + whole[at + 1 :])
        try:
            read_tree(path, NAMES)
        except DataError:
            continue
    memo = (
        b"\x93NUMPY\x01\x00" + whole[8:128] + b"\x80\x02]r\xff\xff\xff\xff."
    )  # a place that takes gigabytes
    shape = whole[:128].replace(b"'|O'", b"'<u8'").replace(b"(4,)", b"(4444444444,)")[:128] + whole[128:]
    for content in (b"names", memo, shape):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not an array of lists of labels"):
            read_tree(path, NAMES)
    for folder_content in (None, "[]", '{"len": "2"}'):
        if folder_content:
            (tmp_path / "config.json").write_text(folder_content)
        with pytest.raises(DataError, match="is not a cluster chain of PECOS"):
            read_tree(tmp_path, NAMES)


def test_train_with_a_file_of_clusters(tmp_path, run):
    texts = "\n".join(
        f'{{"text": "w{label} w{label} x", "labels": ["{NAMES[label]}"]}}' for label in range(6)
    )
    (tmp_path / "train.jsonl").write_text(texts)
    np.save(tmp_path / "group.npy", objects(CLUSTERS), allow_pickle=True)
    how = ("--method", "xr-linear", "--set", "min_df=1")
    where = ("--tree", tmp_path / "group.npy", "-m", tmp_path / "m")
    outcome = run("train", tmp_path / "train.jsonl", *where, *how)
    assert outcome.code == 0, outcome.err
    assert nested(treetop.load(tmp_path / "m").tree) == [[1, 4], [0, 2, 5], [3]]
    np.save(tmp_path / "group.npy", objects(CLUSTERS[1:]), allow_pickle=True)
    run("train", tmp_path / "train.jsonl", *where, *how).sentence(2, "group.npy", "'b' is in no cluster")
