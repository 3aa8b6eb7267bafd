"""Matrices from outside that would lead native code astray are refused in one sentence, at every door.

Each of these ended in a segmentation fault, in our core or in scipy's.
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import xxhash
from scipy import sparse

import treetop
from small_data import topic_texts
from treetop import Dataset, _native, read
from treetop.data import write
from treetop.errors import DataError, ModelError
from treetop.sparse import sparse_flaw


def matrix(**changes) -> sparse.csr_matrix:
    made = sparse.csr_matrix(np.eye(4, 9, dtype=np.float32))
    for name, values in changes.items():
        setattr(made, name, np.array(values, getattr(made, name).dtype))
    return made


DAMAGED = {
    "pointers that descend": (matrix(indptr=[0, 2, 10**6, 3, 4]), "do not ascend from 0 at row 1"),
    "pointers that start late": (matrix(indptr=[1, 1, 2, 3, 4]), "do not ascend from 0 at row 0"),
    "negative pointers": (matrix(indptr=[0, -5, 2, 3, 4]), "do not ascend from 0 at row 0"),
    "too few pointers": (matrix(indptr=[0, 1, 4]), "3 row pointers for 4 rows"),
    "pointers past the end": (matrix(indptr=[0, 1, 2, 3, 9]), "end at 9, but it has 4 entries"),
    "a column outside": (matrix(indices=[0, 1, 9, 3]), "row 2 has a column id outside 0…8"),
    "a negative column": (matrix(indices=[0, -1, 2, 3]), "row 1 has a column id outside 0…8"),
    "too few values": (matrix(data=[1, 1]), "2 values for 4 entries"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_matrices_are_refused(case):
    made, words = DAMAGED[case]
    labels = [["a"], ["b"], ["a"], ["b"]]
    with pytest.raises(DataError, match=words):
        treetop.XRLinear(threads=1).fit(made, labels)
    with pytest.raises(DataError, match=words):
        Dataset.from_matrices(made, np.eye(4))
    with pytest.raises(DataError, match=words):
        Dataset.from_matrices(np.eye(4), made)
    model = treetop.XRLinear(threads=1, leaf_size=2).fit(np.eye(4, 9), labels)
    with pytest.raises(DataError, match=words):
        model.predict(made, k=1)


def test_other_formats_of_scipy():
    columns = sparse.csc_matrix(np.eye(4, dtype=np.float32))
    columns.indices = np.array([0, 1, 2, 7], np.int32)
    assert sparse_flaw(columns) == "column 3 has a row id outside 0…3"
    triplets = sparse.coo_matrix(np.eye(4, dtype=np.float32))
    triplets.row = np.array([0, 1, 2, -1], np.int32)
    assert sparse_flaw(triplets) == "a row id is outside 0…3"
    wide = matrix()
    wide.indices = np.array([0, 1, 2, 2**40])
    assert sparse_flaw(wide) == "a column id is outside 0…8"
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        assert sparse_flaw(matrix().asformat(kind)) is None


def test_flags_of_scipy_are_not_trusted():
    """A row with the same column twice, flagged as canonical."""
    made = sparse.csr_matrix(
        (np.ones(3, np.float32), np.array([1, 1, 0], np.int32), np.array([0, 2, 3])), (2, 3)
    )
    made.has_canonical_format = True
    assert Dataset.from_matrices(made, np.eye(2)).X.toarray().tolist() == [[0, 2, 0], [1, 0, 0]]


def test_a_pecos_folder(tmp_path):
    pointers = np.array([0, 2, 10**6, 4, 6], "i4")
    np.savez(
        tmp_path / "X.trn.npz", format=b"csr", shape=[4, 9], data=np.ones(6, "f4"), indices=np.zeros(6, "i4"),
        indptr=pointers,
    )  # fmt: skip
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.csr_matrix(np.eye(4, dtype=np.float32)))
    with pytest.raises(DataError, match=r"X\.trn\.npz: .*do not ascend"):
        read(tmp_path, split="train")


def test_an_array_with_a_flipped_bit_and_its_old_time(tmp_path):
    data = Dataset.from_matrices(np.eye(4, 9), np.eye(4))
    write(data, tmp_path / "a.arrays")
    entry = json.loads((tmp_path / "a.arrays" / "data.json").read_text())["arrays"]["X.indices"]
    file = tmp_path / "a.arrays" / entry["file"]
    content = bytearray(file.read_bytes())
    content[-1] ^= 0x40
    file.write_bytes(content)
    os.utime(file, ns=(entry["changed"], entry["changed"]))
    with pytest.raises(DataError, match="the matrix X is damaged: row 3 has a column id outside"):
        read(tmp_path / "a.arrays")


def edited(folder, **changes) -> None:
    """A model folder with arrays changed, and their checksums with them."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, change in changes.items():
        entry = manifest["arrays"][name.replace("__", ".")]
        np.save(folder / entry["file"], change(np.load(folder / entry["file"])))
        entry["checksum"] = xxhash.xxh3_128((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("method", ["neighbours", "xr-linear", "hybrid"])
def test_fewer_features_than_the_vocabulary_has_terms(method, tmp_path):
    treetop.make(method, threads=1).fit(*topic_texts(60, seed=0)).save(tmp_path / "m")
    names = json.loads((tmp_path / "m" / "manifest.json").read_text())["arrays"]
    for name in [name for name in names if name.endswith("n_features")]:
        edited(tmp_path / "m", **{name.replace(".", "__"): lambda array: array * 0 + 5})
    with pytest.raises(ModelError, match="the model has 5 features, but the terms of its TF-IDF are"):
        treetop.load(tmp_path / "m")


def test_kept_examples_with_shuffled_ids(tmp_path):
    texts, labels = topic_texts(60, seed=0)
    treetop.make("xr-linear", threads=1, keep_data=True).fit(texts, labels).save(tmp_path / "m")

    def shuffled(ids):
        np.random.default_rng(0).shuffle(ids)
        return ids

    edited(tmp_path / "m", model__data__X__indices=shuffled)
    with pytest.raises(ModelError, match="the training examples stored in the model are damaged"):
        treetop.load(tmp_path / "m").update(Dataset.from_texts(["flour and yeast"], [["baking"]]))


def test_no_matrix_enters_the_core_unchecked():
    """Where no door has looked, the core refuses by itself."""
    pointers, ids, ones = np.array([0, 5]), np.array([7], np.int32), np.ones(1, np.float32)
    calls = {
        "SharedRows": lambda p, i, v: _native.SharedRows(p, i, v, 3, 1),
        "aggregate": lambda p, i, v: _native.aggregate(p, i, v, p, i, v, 3, 2, 1, True, 1),
        "balanced_clusters": lambda p, i, v: _native.balanced_clusters(p, i, v, 3, [2], 1, True, 0, 1),
        "index_neighbours": lambda p, i, v: _native.index_neighbours(p, i, v, 3, 1),
        "hits": lambda p, i, v: _native.hits(p, i, p, i, 1),
        "print_xmc": lambda p, i, v: _native.print_xmc(p, i, v, p, i, 0, 1, 1),
        "label_graph": lambda p, i, v: _native.label_graph(p, i, p, i, 1, 0.5, 1, 0, 1),
        "combine": lambda p, i, v: _native.combine([(p, i, v)], [1.0], 1, 1),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match="a matrix is not valid: the pointers of row 0"):
            call(pointers, ids, ones)
        if name not in ("hits", "print_xmc", "combine"):  # which rely on no number of columns
            with pytest.raises(ValueError, match="a matrix is not valid: the columns of row 0"):
                call(np.array([0, 1]), ids, ones)


def test_no_texts_enter_the_core_unchecked():
    model = treetop.XRLinear(threads=1).fit(*topic_texts(60, seed=0))
    native = model.features.tfidf._native
    letters = np.frombuffer(b"flour yeast", np.uint8)
    assert len(native.transform(letters, np.array([0, 5, 11]), 1)[0]) == 3
    for offsets in ([0, 500], [5, 0], [-3, 5], [0, 11, 5]):
        with pytest.raises(ValueError, match="offsets must ascend inside the buffer"):
            native.transform(letters, np.array(offsets), 1)
