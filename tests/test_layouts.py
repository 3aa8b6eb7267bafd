"""Folders laid out as benchmarks are distributed: every layout as a small folder, written file by file."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import treetop
from small_data import topic_texts
from treetop.data import Dataset, describe, read, write
from treetop.errors import DataError, UserError

TEXTS = {"train": ["red shoes", "a grey hat", "hat"], "test": ["a red hat", "grey shoes"]}
X = {"train": [[1, 0, 0, 0.5], [0, 2, 0, 0], [0, 0, 0, 0]], "test": [[0, 0, 1, 0], [0.25, 0, 0, 0]]}
Y = {"train": [[1, 0, 1], [0, 1, 0], [0, 0, 1]], "test": [[0, 1, 0], [1, 0, 0]]}
NAMES = ["Footwear", "Hats", "Größe"]

XMC = {"train": "3 4 3\n0,2 0:1 3:0.5\n1 1:2\n2\n", "test": "2 4 3\n1 2:1\n0 0:0.25\n"}
LIBSVM = {"train": "0,2 0:1 3:0.5\n1 1:2\n2\n", "test": "1 2:1\n0 0:0.25\n"}
PAIRS = {"train": "3 4\n0:1 3:0.5\n1:2\n\n", "test": "2 4\n2:1\n0:0.25\n"}
LABEL_PAIRS = {"train": "3 3\n0:1 2:1\n1:1\n2:1\n", "test": "2 3\n1:1\n0:1\n"}
SPLITS = (("train", "trn"), ("test", "tst"))


def lay(folder: Path, files: dict[str, object]) -> Path:
    """Writes files by name: texts, lists of lines, and matrices."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".npz"):
            sparse.save_npz(path, sparse.csr_matrix(np.array(content, np.float32)))
        elif name.endswith(".npy"):
            np.save(path, np.array(content, np.float32))
        else:
            text = content if isinstance(content, str) else "".join(f"{line}\n" for line in content)
            path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


def pecos(folder, features=("tfidf-attnxml",)):
    files = {"output-items.txt": NAMES}
    for split, short in SPLITS:
        files |= {f"X.{short}.txt": TEXTS[split], f"Y.{short}.npz": Y[split]}
        files |= {f"{name}/X.{short}.npz": X[split] for name in features}
    return lay(folder, files)


def x_transformer(folder):
    files = {"label_map.txt": NAMES}
    for split, short in SPLITS:
        files |= {f"X.{short}.npz": X[split], f"Y.{short}.npz": Y[split]}
        files[f"{split}_raw_texts.txt"] = TEXTS[split]
    return lay(folder, files)


def raw_texts(folder, features="{}.txt", sparse_text=XMC):
    files = {}
    for split, _ in SPLITS:
        files[f"{split}_raw_texts.txt"] = TEXTS[split]
        files[f"{split}_labels.txt"] = [" ".join(f"L{j}" for j in np.flatnonzero(row)) for row in Y[split]]
        files[features.format(split)] = sparse_text[split]
    return lay(folder, files)


def libmultilabel(folder, ids=True):
    files = {}
    for split, _ in SPLITS:
        rows = zip(TEXTS[split], Y[split], strict=True)
        lines = [f"{' '.join(f'L{j}' for j in np.flatnonzero(row))}\t{text} text" for text, row in rows]
        files[f"{split}.txt"] = [f"{number}\t{line}" if ids else line for number, line in enumerate(lines)]
    return lay(folder, files)


def repository(folder):
    """As in the downloads of bag-of-words features."""
    files = {"lbl_X_Xf.txt": "3 4\n0:1\n1:1 2:1\n3:1\n", "Y.txt": NAMES}
    for split, short in SPLITS:
        files |= {f"{short}_X_Xf.txt": PAIRS[split], f"{short}_X_Y.txt": LABEL_PAIRS[split]}
        files[f"{short}_X.txt"] = TEXTS[split]
        files[f"filter_labels_{split}.txt"] = "0 1\n1 2\n0 1\n" if split == "test" else ""
    return lay(folder, files)


def raw_repository(folder):
    """As in the downloads of raw texts."""

    def lines(split):
        for row, (text, labels) in enumerate(zip(TEXTS[split], Y[split], strict=True)):
            numbers = np.flatnonzero(labels).tolist()
            record = {"uid": f"B{row}", "title": text, "content": "more", "target_ind": numbers}
            yield json.dumps(record | {"target_rel": [1.0] * len(numbers)})

    files = {f"{short}.json.gz": list(lines(split)) for split, short in SPLITS}
    files["lbl.json.gz"] = [json.dumps({"uid": f"L{j}", "title": name}) for j, name in enumerate(NAMES)]
    return lay(folder, files | {"filter_labels_test.txt": "1 2\n"})


LAYOUTS = {
    "PECOS": pecos,
    "X-Transformer": x_transformer,
    "LightXML": raw_texts,
    "AttentionXML": lambda folder: raw_texts(folder, "{}_v1.txt", LIBSVM),
    "the XML-CNN study": libmultilabel,
    "LIBSVM": lambda folder: lay(folder, {f"{split}.svm": LIBSVM[split] for split, _ in SPLITS}),
    "features and labels in one file": lambda folder: lay(
        folder, {f"{split}.txt": XMC[split] for split, _ in SPLITS}
    ),
    "bag of words": repository,
    "raw text": raw_repository,
}


def matrices(dataset):
    return dataset.X.toarray().tolist(), dataset.Y.toarray().tolist()


def expect(words, *args, **options):
    """`read` raises a `DataError` in one sentence with all the words."""
    with pytest.raises(DataError) as caught:
        read(*args, **options)
    message = str(caught.value)
    assert all(word in message for word in words) and "\n" not in message, message


# -- every layout, value by value ----------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("layout", [pecos, x_transformer])
def test_matrices_with_texts(tmp_path, layout, split):
    data = read(layout(tmp_path), split=split)
    assert list(data.texts) == TEXTS[split] and matrices(data) == (X[split], Y[split])
    assert list(data.labels) == ["0", "1", "2"] and list(data.label_texts) == NAMES


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("layout", [LAYOUTS["LightXML"], LAYOUTS["AttentionXML"]])
def test_raw_texts_with_sparse_files(tmp_path, layout, split):
    data = read(layout(tmp_path), split=split)
    used = np.flatnonzero(np.any(Y[split], axis=0))
    assert list(data.labels) == [f"L{j}" for j in used] and list(data.texts) == TEXTS[split]
    X_found, Y_found = matrices(data.with_width(4))
    assert X_found == X[split] and Y_found == np.array(Y[split])[:, used].tolist()
    assert read(tmp_path, split=split, features="none").X is None


@pytest.mark.parametrize("ids", [True, False])
def test_libmultilabel(tmp_path, ids):
    data = read(libmultilabel(tmp_path, ids), split="train")
    assert [(text, set(labels)) for text, labels in data] == [
        ("red shoes text", {"L0", "L2"}), ("a grey hat text", {"L1"}), ("hat text", {"L2"}),
    ]  # fmt: skip
    assert (None if data.ids is None else list(data.ids)) == (["0", "1", "2"] if ids else None)
    again = read(tmp_path / "train.txt", format="libmultilabel")
    assert list(again) == list(data) == list(read(tmp_path / "train.txt"))


@pytest.mark.parametrize("split", ["train", "test"])
def test_label_features(tmp_path, split):
    data = read(repository(tmp_path), split=split)
    assert matrices(data) == (X[split], Y[split]) and list(data.texts) == TEXTS[split]
    assert list(data.labels) == ["0", "1", "2"] and list(data.label_texts) == NAMES
    assert data.label_features.toarray().tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    pairs = np.argwhere(data.excluded.toarray()).tolist()
    assert pairs == ([[0, 1], [1, 2]] if split == "test" else [])
    by_file = read(tmp_path / f"{dict(SPLITS)[split]}_X_Xf.txt")
    assert matrices(by_file) == matrices(data) and by_file.excluded_pairs == data.excluded_pairs


def test_raw_texts_of_the_repository(tmp_path):
    data = read(raw_repository(tmp_path / "LF-Amazon-131K"), split="test")
    assert list(data.texts) == [f"{text}\nmore" for text in TEXTS["test"]]
    assert data.Y.toarray().tolist() == Y["test"] and list(data.ids) == ["B0", "B1"]
    assert list(data.label_texts) == NAMES and np.argwhere(data.excluded.toarray()).tolist() == [[1, 2]]
    titles = read(raw_repository(tmp_path / "LF-AmazonTitles-131K"), split="test")
    assert list(titles.texts) == TEXTS["test"]
    assert list(read(tmp_path / "LF-AmazonTitles-131K", split="test", text="content").texts) == ["more"] * 2
    assert list(read(tmp_path / "LF-Amazon-131K" / "trn.json.gz").ids) == ["B0", "B1", "B2"]


def test_relevance_of_the_repository_is_read(tmp_path):
    line = '{"uid": "a", "title": "t", "content": "", "target_ind": [2, 0], "target_rel": [0.5, 1.0]}\n'
    lay(tmp_path, {"trn.json": line, "lbl.json": ['{"title": "x"}'] * 3})
    data = read(tmp_path)
    assert data.Y.toarray().tolist() == [[1, 0, 1]] and list(data.texts) == ["t"]
    assert data.relevance.toarray().tolist() == [[1, 0, 0.5]]


def test_sparse_text_with_both_next_to_label_files(tmp_path):
    """Older downloads have features and labels in train.txt, in the format of `xmc`."""
    lay(tmp_path, {"train.txt": XMC["train"], "test.txt": XMC["test"]})
    assert matrices(read(tmp_path, split="test")) == (X["test"], Y["test"])
    lay(tmp_path, {"filter_labels_test.txt": "0 2\n", "lbl.json": [f'{{"title": "{n}"}}' for n in NAMES]})
    data = read(tmp_path, split="test")
    assert matrices(data) == (X["test"], Y["test"]) and list(data.label_texts) == NAMES
    assert data.excluded.toarray().tolist() == [[0, 0, 1], [0, 0, 0]]


def test_cascadexml_has_numbered_labels_next_to_raw_texts(tmp_path):
    lay(
        tmp_path,
        {"train_raw_texts.txt": TEXTS["train"], "Y.trn.npz": Y["train"], "train.txt": LIBSVM["train"]},
    )
    data = read(tmp_path, split="train")
    assert matrices(data) == (X["train"], Y["train"]) and list(data.texts) == TEXTS["train"]


# -- feature matrices ----------------------------------------------------------------------------------------


def test_feature_folders(tmp_path, run):
    pecos(tmp_path / "one", ["tfidf-ngram"])
    assert matrices(read(tmp_path / "one", split="train"))[0] == X["train"]
    several = pecos(tmp_path / "several", ["tfidf-ngram", "word2vec"])
    expect(["tfidf-ngram, word2vec", "--features"], several, split="train")
    lay(several, {"word2vec/X.trn.npy": np.ones((3, 2)), "word2vec/X.tst.npy": np.ones((2, 2))})
    for path in several.glob("word2vec/*.npz"):
        path.unlink()
    data = read(several, split="train", features="word2vec")
    assert matrices(data) == ([[1, 1]] * 3, Y["train"]) and list(data.texts) == TEXTS["train"]
    assert read(several, split="train", features="none").X is None
    info = run("data", "info", several, "--split", "train", "--features", "word2vec", "--json").out
    assert json.loads(info)["features"] == 2
    expect(["no features 'word'", "tfidf-ngram, word2vec"], several, split="train", features="word")
    pecos(tmp_path / "both", ["tfidf-attnxml", "tfidf-ngram"])
    assert read(tmp_path / "both", split="train").X.shape == (3, 4)
    alone = read(tmp_path / "both" / "tfidf-ngram", split="test")
    assert matrices(alone) == (X["test"], Y["test"]) and list(alone.texts) == TEXTS["test"]
    assert list(alone.label_texts) == NAMES
    expect(["leave out --features"], tmp_path / "both" / "tfidf-ngram" / "X.trn.npz", features="tfidf-ngram")


def test_dense_features(tmp_path, monkeypatch):
    monkeypatch.setattr("treetop.data.formats.matrix_files._DENSE_ROWS", 2)
    dense = np.random.default_rng(0).normal(size=(5, 3)).round(1)
    dense[1:3] = 0
    lay(tmp_path, {"X.trn.npy": dense, "Y.trn.npz": np.eye(5, 2)})
    for path in (tmp_path, tmp_path / "X.trn.npy"):
        assert np.array_equal(read(path).X.toarray(), dense.astype(np.float32))
        assert read(path).X.nnz == np.count_nonzero(dense)
    lay(tmp_path, {"X.trn.npz": dense})
    expect(["X.trn.npz: X.trn.npy is next to it"], tmp_path)
    (tmp_path / "X.trn.npz").unlink()
    np.save(tmp_path / "X.trn.npy", np.ones(5))
    expect(["X.trn.npy: has shape (5,)", "two dimensions"], tmp_path)


@pytest.mark.parametrize("name", ["a.svm", "a.libsvm", "train.txt"])
def test_libsvm(tmp_path, name):
    (tmp_path / name).write_text("3,17 1:0.5 4:-2\n\n 2:1\n17 1:1e-1\n")
    data = read(tmp_path / name)
    assert data.X.toarray().tolist() == [[0, 0.5, 0, 0, -2], [0, 0, 1, 0, 0], [0, np.float32(0.1), 0, 0, 0]]
    assert list(data) == [(None, ["3", "17"]), (None, []), (None, ["17"])] and data.open_width
    (tmp_path / name).write_text("3 1:0.5\n3;4 1:1\n")
    expect([f"{name} line 2: '3;4' is not a list of label numbers"], tmp_path / name, format="libsvm")


def test_a_model_takes_the_columns_it_knows_from_a_file_that_does_not_say(tmp_path):
    lay(tmp_path, {"train.svm": "0 1:1 2:1\n1 3:1 4:2\n0 1:2\n1 4:1\n", "test.svm": "0 1:1 9:3\n1 3:1\n"})
    model = treetop.make("xr-linear").fit(read(tmp_path / "train.svm"))
    wide = read(tmp_path / "test.svm")
    assert wide.X.shape[1] == 10 and wide.with_width(5).X.toarray().tolist() == [
        [0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0],
    ]
    narrow = wide.with_width(5)[[1]]
    assert model.predict(wide, 1).label_sets() == [{"0"}, {"1"}]
    assert model.predict(narrow, 1).label_sets() == [{"1"}]
    with pytest.raises(UserError, match="takes 5 features but the input has 10"):
        model.predict(Dataset.from_matrices(wide.X, wide.Y))


# -- commands ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_commands(tmp_path, run, name):
    folder = LAYOUTS[name](tmp_path / "data")
    assert json.loads(run("data", "info", folder, "--split", "train", "--json").out)["examples"] == 3
    model = tmp_path / "model"
    trained = run("train", folder, "--method", "xr-linear", "--set", "tfidf.min_df=1", "--model", model)
    assert trained.code == 0, trained.err
    evaluated = run("evaluate", model, folder, "-k", "1,2", "--json", "-")
    assert evaluated.code == 0 and 0 <= json.loads(evaluated.out)["P@1"] <= 100, evaluated.err


def test_the_format_can_be_named(tmp_path, run):
    """A folder with files of two layouts."""
    pecos(tmp_path, [])
    raw_texts(tmp_path)
    for path in tmp_path.glob("X.*"):
        path.unlink()
    lay(tmp_path, {"X.trn.npz": X["train"]})
    expect(
        ["has Y.trn.npz (of pecos) and test_labels.txt (of rawtext)", "--format pecos or rawtext"], tmp_path
    )
    run("data", "info", tmp_path, "--split", "train").sentence(2, "--format pecos or rawtext")
    assert run("data", "info", tmp_path, "--format", "pecos", "--split", "train").code == 0
    assert list(read(tmp_path, format="rawtext", split="train").labels) == ["L0", "L1", "L2"]
    assert list(read(tmp_path, format="pecos", split="train").labels) == ["0", "1", "2"]
    assert matrices(read(tmp_path, format="xmc", split="train")) == (X["train"], Y["train"])
    write(Dataset.from_texts(["t"], [["x"]]), tmp_path / "test.jsonl")
    (tmp_path / "Y.tst.npz").unlink()
    (tmp_path / "Y.trn.npz").unlink()
    expect(["contains test.jsonl and files of rawtext", "--format rawtext"], tmp_path)


def test_tabs_without_a_known_meaning(tmp_path):
    (tmp_path / "test.txt").write_text("a title\ta much longer text\nanother\tone more text\n")
    expect(["one tab", "--format libmultilabel or --format txt"], tmp_path / "test.txt")
    assert read(tmp_path / "test.txt", format="txt", need_labels=False).texts[0].count("\t") == 1
    (tmp_path / "texts.txt").write_text("a\tlabel\n")
    assert len(read(tmp_path / "texts.txt", need_labels=False)) == 1
    (tmp_path / "a.txt").write_text("1\tx y\tt\n2\tt\n")
    expect(["a.txt line 2: has 2 cells instead of 3"], tmp_path / "a.txt", format="libmultilabel")
    (tmp_path / "a.txt").write_text("t\n")
    expect(["a.txt line 1: has 1 cells instead of 2 or 3"], tmp_path / "a.txt", format="libmultilabel")


# -- files that do not fit together --------------------------------------------------------------------------

BAD = [
    (
        pecos,
        {"tfidf-attnxml/X.trn.npz": X["train"][:2]},
        ["X.trn.txt has 3 texts but", "X.trn.npz has 2 rows"],
    ),
    (pecos, {"Y.trn.npz": Y["train"][:1]}, ["X.trn.txt has 3 texts but", "Y.trn.npz has 1 row;"]),
    (pecos, {"output-items.txt": NAMES[:2]}, ["output-items.txt has 2 lines for 3 labels"]),
    (pecos, {"tfidf-attnxml/X.tst.npz": [[1, 0]]}, ["X.trn.npz: has 4 columns but", "X.tst.npz has 2"]),
    (pecos, {"Y.tst.npz": np.eye(2)}, ["Y.trn.npz: has 3 columns but", "Y.tst.npz has 2", "same labels"]),
    (
        x_transformer,
        {"train_raw_texts.txt": ["t"]},
        ["train_raw_texts.txt has 1 text but", "X.trn.npz has 3 rows"],
    ),
    (
        raw_texts,
        {"train.txt": "2 4 3\n0 0:1\n1 1:1\n"},
        ["_raw_texts.txt has 3 texts but", "train.txt has 2 rows"],
    ),
    (raw_texts, {"test.txt": "2 9 3\n0 0:1\n1 1:1\n"}, ["train.txt: has 4 columns but", "test.txt has 9"]),
    (
        repository,
        {"trn_X_Xf.txt": "2 4\n0:1\n1:1\n"},
        ["trn_X_Xf.txt has 2 rows but", "trn_X.txt has 3 texts"],
    ),
    (repository, {"trn_X_Xf.txt": "4 4\n0:1\n"}, ["the header declares 4 rows but the file has 1"]),
    (repository, {"trn_X_Xf.txt": "3 4\n0:1\n4:1\n\n"}, ["line 3: column 4 is out of range", "columns 0…3"]),
    (repository, {"trn_X_Xf.txt": "3 4\n7 0:1\n\n\n"}, ["line 2: '7' is not an entry"]),
    (repository, {"tst_X_Xf.txt": "2 3\n0:1\n\n"}, ["trn_X_Xf.txt: has 4 columns but", "tst_X_Xf.txt has 3"]),
    (repository, {"Y.txt": NAMES[:2]}, ["trn_X_Y.txt has 3 labels but", "Y.txt has 2 labels"]),
    (
        repository,
        {"lbl_X_Xf.txt": "1 4\n0:1\n"},
        ["trn_X_Y.txt has 3 labels but", "lbl_X_Xf.txt has 1 label;"],
    ),
    (
        repository,
        {"filter_labels_train.txt": "0 1\n0 3\n"},
        ["filter_labels_train.txt line 2: '0 3'", "below 3"],
    ),
    (repository, {"filter_labels_train.txt": "0\n0 1 2\n"}, ["filter_labels_train.txt line 1: '0'"]),
    (raw_repository, {"lbl.json.gz": ['{"title": "x"}']}, ["example 0 has label 2, but there are 1"]),
    (raw_repository, {"trn.json.gz": '{"title": "x"}\n'}, ["trn.json.gz line 1: no field 'target_ind'"]),
    (
        raw_repository,
        {"trn.json.gz": '{"title": "x", "target_ind": [-1]}\n'},
        ["line 1", "list of label numbers"],
    ),
    (
        raw_repository,
        {"trn.json.gz": '{"title": "x", "target_ind": [1], "target_rel": []}\n'},
        ["line 1", "0 numbers for 1 label"],
    ),
]


@pytest.mark.parametrize(("layout", "changed", "words"), BAD)
def test_files_that_do_not_fit(tmp_path, layout, changed, words):
    expect(words, lay(layout(tmp_path), changed), split="train")


def test_what_is_missing(tmp_path):
    folder = x_transformer(tmp_path / "a")
    (folder / "label_map.txt").unlink()
    expect(["X-Transformer", "no label_map.txt with a line for each label", "--format pecos"], folder)
    assert matrices(read(folder, format="pecos", split="test")) == (X["test"], Y["test"])
    folder = raw_repository(tmp_path / "b")
    (folder / "lbl.json.gz").unlink()
    expect(["trn.json.gz: numbers its labels", "put lbl.json.gz"], folder, split="train")
    folder = repository(tmp_path / "c")
    expect(["lbl_X_Xf.txt: has no examples; name the folder"], folder / "lbl_X_Xf.txt")
    expect(["filter_labels_test.txt: has no examples"], folder / "filter_labels_test.txt")
    expect(["leave out --features"], folder, split="train", features="tfidf")
    (folder / "trn_X_Y.txt").unlink()
    expect(["no trn_X_Y.txt with the labels"], folder, split="train")
    assert read(folder, split="train", need_labels=False).Y is None
    (tmp_path / "matrix.txt").write_text(PAIRS["train"])
    assert read(tmp_path / "matrix.txt", need_labels=False).X.toarray().tolist() == X["train"]
    expect(["matrix.txt: no example has a label"], tmp_path / "matrix.txt")


def test_a_label_map_in_latin_1(tmp_path):
    folder = x_transformer(tmp_path)
    (folder / "label_map.txt").write_bytes("\n".join(NAMES).encode("latin-1"))
    assert list(read(folder, split="train").label_texts) == NAMES


# -- label features and excluded pairs -----------------------------------------------------------------------


def many(rows: int, labels: int, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    data = Dataset.from_matrices(rng.random((rows, 12)).round(1), rng.random((rows, labels)) < 0.2)
    pairs = sparse.random(rows, labels, 0.1, "csr", np.float32, rng)
    pairs.data[:] = 1
    return Dataset(labels=data.labels, X=data.X, Y=data.Y, excluded=pairs, source="many")


def by_hand(scores: np.ndarray, truth: np.ndarray, excluded: np.ndarray, k: int) -> dict[str, float]:
    """Metrics of a ranking in which excluded pairs have the score −∞ and are not true.

    nDCG is a mean over the texts that still have labels.
    """
    truth = truth * (1 - excluded)
    order = np.argsort(-np.where(excluded > 0, -np.inf, scores), axis=1, kind="stable")[:, :k]
    hits = np.take_along_axis(truth, order, 1)
    discounts = 1 / np.log2(np.arange(k) + 2)
    ideal = [discounts[: int(min(k, count))].sum() for count in truth.sum(axis=1)]
    ndcg = [row @ discounts / best for row, best in zip(hits, ideal, strict=True) if best]
    return {f"P@{k}": 100 * hits.mean(), f"nDCG@{k}": 100 * float(np.mean(ndcg))}


def test_excluded_pairs_have_a_score_of_minus_infinity(tmp_path, run):
    """Against a ranking by hand, for a model, for its predictions in a file, and for other labels' order."""
    train, test = many(80, 9, 0), many(30, 9, 1)
    model = treetop.make("dismec").fit(train)
    whole = model.predict(Dataset.from_matrices(test.X, test.Y), 9).to_csr().toarray()
    wanted = {}
    for k in (1, 3):
        wanted |= by_hand(whole, test.Y.toarray(), test.excluded.toarray(), k)
    values = model.evaluate(test, ks=(1, 3)).to_dict()
    assert {name: values[name] for name in wanted} == pytest.approx(wanted)
    predictions = model.predict(test, 3)
    assert predictions.counts.tolist() == [3] * 30
    assert not test.excluded.multiply(predictions.to_csr() != 0).nnz
    other = test.aligned_to(treetop.Strings.of(reversed(list(test.labels))))
    assert np.array_equal(model.predict(other, 3).indices, predictions.indices)
    assert model.evaluate(other, ks=(1, 3))["P@3"] == pytest.approx(wanted["P@3"])

    write(test, tmp_path / "test.arrays")
    model.save(tmp_path / "model")
    model.predict(Dataset.from_matrices(test.X, test.Y), 9).write(tmp_path / "all.jsonl")
    for evaluated in ("model", "all.jsonl"):
        found = run("evaluate", tmp_path / evaluated, tmp_path / "test.arrays", "-k", "1,3", "--json", "-")
        values = json.loads(found.out)
        assert values["excluded_pairs"] == test.excluded_pairs
        assert {name: values[name] for name in wanted} == pytest.approx(wanted, abs=1e-3)
    shown = run("evaluate", tmp_path / "model", tmp_path / "test.arrays", quiet=False).err
    assert f"{test.excluded_pairs} pairs of a text and a label left out of the evaluation" in shown
    assert describe(train, test).other.excluded_pairs == test.excluded_pairs


def test_fewer_labels_are_left_than_were_asked_for():
    data = Dataset.from_matrices(np.eye(3), np.eye(3))
    model = treetop.make("dismec").fit(data)
    excluded = Dataset(
        labels=data.labels, X=data.X, Y=data.Y, excluded=np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    )
    assert model.predict(excluded, 2).counts.tolist() == [0, 2, 2]


def test_validation_in_training_leaves_out_excluded_pairs():
    """The first label of every text is excluded, so the network must rank more than k."""
    train = Dataset.from_texts(*topic_texts(80, seed=0))
    texts = Dataset.from_texts(*topic_texts(20, seed=1))
    pairs = np.arange(len(texts.labels)) == texts.Y.toarray().argmax(axis=1)[:, None]
    held_out = dataclasses.replace(texts, excluded=sparse.csr_matrix(pairs, dtype=np.float32))
    model = treetop.make("kim-cnn", epochs=1, device="cpu", threads=1, max_length=16)
    model.fit(train, validation=held_out)
    measured = model.evaluate(held_out)
    (epoch,) = model.training_log["epochs"]
    assert {name: epoch[name] for name in ("P@1", "P@5", "nDCG@5")} == pytest.approx(
        {name: measured[name] for name in ("P@1", "P@5", "nDCG@5")}
    )


def test_the_report_says_how_many_pairs_are_excluded():
    from treetop.report.build import evidence_of_models
    from treetop.report.evidence import ReportedModel
    from treetop.report.measuring import predict_and_measure

    test = many(30, 9, 1)
    model = treetop.make("dismec").fit(many(80, 9, 0))
    evidence = evidence_of_models([ReportedModel("a", *predict_and_measure(model, test, 3))], test)
    assert evidence.notes == (
        f"{test.excluded_pairs} pairs of a text and a label left out of the evaluation.",
    )


def test_excluded_pairs_and_label_features_follow_the_data(tmp_path):
    data = read(repository(tmp_path / "a"), split="test")
    part = data[[1]]
    assert part.excluded.toarray().tolist() == [[0, 0, 1]] and part.label_features is data.label_features
    turned = data.aligned_to(treetop.Strings.of(["2", "1", "0"]))
    assert turned.excluded.toarray().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert turned.label_features.toarray().tolist() == data.label_features.toarray()[::-1].tolist()
    assert data.aligned_to(treetop.Strings.of(["2", "new"])).label_features is None
    write(data, tmp_path / "b.arrays")
    again = read(tmp_path / "b.arrays")
    for name in ("X", "Y", "label_features", "excluded"):
        assert (getattr(again, name) != getattr(data, name)).nnz == 0
    with pytest.raises(DataError, match="label features are a matrix of"):
        Dataset(labels=data.labels, X=data.X, label_features=np.eye(2))
    with pytest.raises(DataError, match="1 row of excluded but 2 examples"):
        Dataset(labels=data.labels, X=data.X, excluded=np.eye(1, 3))


def test_what_a_format_cannot_hold_is_said(tmp_path, run):
    folder = repository(tmp_path / "a")
    said = run("data", "convert", folder, tmp_path / "b.jsonl", "--split", "test", quiet=False).err
    assert "2 examples without features, label texts, label features, excluded pairs" in said
    assert (
        "without"
        not in run("data", "convert", folder, tmp_path / "b.arrays", "--split", "test", quiet=False).err
    )
    info = run("data", "info", folder, "--split", "test").out
    assert "texts and features" in info and "pairs left out of evaluation" in info
    failed = run("data", "convert", folder, tmp_path / "c", "--to", "repository", "--split", "test")
    failed.sentence(2, "repository can only be read")


def test_trees_from_label_features():
    """The tree is that of data in which each label has one text, with the label's features."""
    rng = np.random.default_rng(0)
    own = rng.random((30, 8)).astype(np.float32)
    X, Y = rng.random((90, 8)), np.eye(30)[np.arange(90) % 30]
    data = Dataset(labels=treetop.Strings.numbers(30), X=X, Y=Y, label_features=own)
    settings = {"tree.branching": 3, "tree.leaf_size": 4, "tree.vector_min_df": 1}

    def leaves(dataset, vectors):
        model = treetop.make("xr-linear", **settings, **{"tree.vectors": vectors}).fit(dataset)
        return model.tree.labels.tolist()

    expected = leaves(Dataset.from_matrices(own, np.eye(30)), "pifa")
    assert leaves(data, "label-text") == expected != leaves(data, "pifa")
    with pytest.raises(UserError, match="label features"):
        leaves(Dataset.from_matrices(X, Y), "label-text")
