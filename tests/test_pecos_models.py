"""Models of PECOS in treetop: the same predictions, label names and counts, and what is wrong with a folder.

The expected scores in ``pecos_goldens.json`` are those of libpecos: see `make_pecos_goldens.py`.
"""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import treetop
from pecos_folders import (
    FEATURES,
    LABELS,
    PARENTS,
    RANKERS,
    ROWS,
    TEXTS,
    VECTORIZERS,
    queries,
    write_json,
    write_ranker,
    write_text2text,
)
from treetop import DataError, Dataset, ModelError, load_pecos
from treetop.errors import UserError
from treetop.serve.card import card_of
from treetop.serve.private_copies import PrivateCopies
from treetop.serve.schemas import CardAnswer, ModelAnswer
from treetop.serve.served_model import load_served

GOLDENS = json.loads(Path(__file__).with_name("pecos_goldens.json").read_text("utf-8"))


def assert_golden(predictions, expected) -> None:
    """The labels of each row with PECOS's scores; labels of equal scores in any order."""
    assert len(predictions) == len(expected)
    for row, golden in enumerate(expected):
        span = slice(predictions.indptr[row], predictions.indptr[row + 1])
        found = dict(zip(predictions.indices[span].tolist(), predictions.scores[span].tolist(), strict=True))
        assert found.keys() == dict(golden).keys(), row
        for label, score in golden:
            assert found[label] == pytest.approx(score, abs=1e-5, rel=1e-4), (row, label)


@pytest.mark.parametrize("name", RANKERS)
def test_rankers_predict_as_pecos_does(name, tmp_path):
    model = treetop.load(write_ranker(tmp_path / "pecos", **RANKERS[name]))
    k = RANKERS[name].get("beams", (2, 3, 8))[-1]
    assert_golden(model.predict(queries(), k), GOLDENS["rankers"][name])
    model.save(tmp_path / "own")
    again = treetop.load(tmp_path / "own")
    np.testing.assert_array_equal(again.predict(queries(), k).scores, model.predict(queries(), k).scores)


@pytest.mark.parametrize("name", VECTORIZERS)
def test_text2text_models_predict_as_pecos_does(name, tmp_path):
    model = treetop.load(write_text2text(tmp_path / "pecos", **VECTORIZERS[name]))
    assert_golden(model.predict(list(TEXTS), 8), GOLDENS["vectorizers"][name])
    assert model.predict([TEXTS[0]], 1)[0][0].label.startswith("item ")
    model.save(tmp_path / "own")
    assert_golden(treetop.load(tmp_path / "own").predict(list(TEXTS), 8), GOLDENS["vectorizers"][name])


def test_a_ranker_folder_and_a_flat_model_load_too(tmp_path):
    whole = write_ranker(tmp_path / "pecos", **RANKERS["l3-hinge"])
    assert_golden(treetop.load(whole / "ranker").predict(queries(), 8), GOLDENS["rankers"]["l3-hinge"])
    flat = treetop.load(
        write_ranker(tmp_path / "flat", post_processors=["noop"], beams=[3], parents=[[0] * 4])
    )
    W = sparse.load_npz(tmp_path / "flat" / "ranker" / "0.model" / "W.npz")
    scores = queries().toarray() @ W[:FEATURES].toarray() + W[FEATURES:].toarray()
    np.testing.assert_allclose(np.sort(scores)[:, ::-1].ravel(), flat.predict(queries(), 4).scores, rtol=1e-5)


def test_nodes_are_reordered_and_only_children_keep_their_classifiers(tmp_path):
    model = treetop.load(write_ranker(tmp_path / "pecos", **RANKERS["l3-hinge"]))
    tree = model.tree
    assert tree.sizes == [3, 5, LABELS - 1]
    by_label = {label: tree.path(label)[0] for label in range(LABELS) if label in tree.labels}
    assert by_label == {
        label: PARENTS[1][parent] for label, parent in enumerate(PARENTS[2]) if parent is not None
    }
    explanation = model.explain(queries()[[0]], "2")  # below the only child
    assert [step.raw is None for step in explanation.path] == [False, False, False]
    assert model.config.linear.only_children


def test_names_and_counts_come_with_the_training_data(tmp_path):
    folder = write_ranker(tmp_path / "pecos", **RANKERS["l3-hinge"])
    names = [f"label {number}" for number in range(LABELS)]
    Y = sparse.csr_matrix(np.eye(LABELS, dtype=np.float32)[[0, 0, 3, 4, 8, 7]])
    train = Dataset(labels=treetop.Strings.of(names), X=queries(), Y=Y, source="train")
    unknown = load_pecos(folder, labels=names)
    assert "PSP@1" not in unknown.evaluate(train)
    with pytest.raises(ModelError, match="training examples of this model are unknown"):
        unknown.update(train, train)
    with pytest.raises(DataError, match="'label 7' had no training example"):  # it is in no cluster
        unknown.explain(queries()[[0]], "label 7")
    assert pickle.loads(pickle.dumps(unknown)).statistics["examples"] is None
    known = load_pecos(folder, labels=names, train=train)
    assert known.label_counts.tolist() == [2, 0, 0, 1, 1, 0, 0, 1, 1]
    assert known.statistics["examples"] == ROWS and "PSP@1" in known.evaluate(train)

    for given, words in (
        ({"labels": names[1:]}, "8 names, but the model has 9 labels"),
        ({"labels": [*names[1:], "label 1"]}, "'label 1' is given twice"),
        ({"train": train}, "'label 0', which the model lacks"),
        ({"labels": names, "train": Dataset(train.labels, X=queries()[:, :5], Y=Y)}, "has 5 features"),
    ):
        with pytest.raises(DataError, match=words):
            load_pecos(folder, **given)


def edit_json(path: Path, **changes) -> None:
    write_json(path, json.loads(path.read_text()) | changes)


def replace(path: Path, change) -> None:
    sparse.save_npz(path, sparse.csc_matrix(change(sparse.load_npz(path).toarray())))


def predicting(**changes):
    return {"pred_kwargs": {"only_topk": 3, "post_processor": "l3-hinge"} | changes}


DAMAGE = {
    "is not a model folder of PECOS": lambda ranker: (ranker / "param.json").unlink(),
    "describes no XR-Linear model": lambda ranker: edit_json(ranker / "param.json", model="XTransformer"),
    "compiled for memory mapping": lambda ranker: edit_json(ranker / "param.json", is_mmap=True),
    "no valid depth": lambda ranker: edit_json(ranker / "param.json", depth="3"),
    r"3\.model.param\.json: cannot be read": lambda ranker: edit_json(ranker / "param.json", depth=4),
    "no valid nr_features": lambda ranker: edit_json(ranker / "param.json", nr_features=None),
    "weights of 12 features, but param.json says 7": lambda ranker: edit_json(
        ranker / "param.json", nr_features=7
    ),
    "param.json: is not a JSON object": lambda ranker: write_json(ranker / "1.model" / "param.json", []),
    "no valid bias": lambda ranker: edit_json(ranker / "1.model" / "param.json", bias="1"),
    "weights of 5 nodes": lambda ranker: edit_json(ranker / "1.model" / "param.json", nr_labels=6),
    "only_topk must be at least 1": lambda ranker: edit_json(
        ranker / "1.model" / "param.json", **predicting(only_topk=0)
    ),
    "post-processor 'softmax'": lambda ranker: edit_json(
        ranker / "1.model" / "param.json", **predicting(post_processor="softmax")
    ),
    "post-processors l3-hinge, sigmoid, l3-hinge": lambda ranker: edit_json(
        ranker / "1.model" / "param.json", **predicting(post_processor="sigmoid")
    ),
    r"W\.npz: not a sparse matrix": lambda ranker: (ranker / "0.model" / "W.npz").write_bytes(b"W"),
    r"C\.npz: not a sparse matrix": lambda ranker: (ranker / "0.model" / "C.npz").unlink(),
    "NaN or infinity": lambda ranker: replace(ranker / "0.model" / "W.npz", lambda W: W + np.inf),
    "row 3 is in 3 clusters": lambda ranker: replace(
        ranker / "1.model" / "C.npz", lambda C: np.maximum(C, (np.arange(len(C)) == 3)[:, None])
    ),
    "not a 0/1 matrix": lambda ranker: replace(ranker / "1.model" / "C.npz", lambda C: 2 * C),
    "has 4 columns, but the level above has 5": lambda ranker: replace(
        ranker / "2.model" / "C.npz", lambda C: C[:, :4]
    ),
    "the first level has 2 parents": lambda ranker: replace(
        ranker / "0.model" / "C.npz", lambda C: np.hstack([C, 0 * C])
    ),
    "no label is in a cluster": lambda ranker: replace(ranker / "2.model" / "C.npz", lambda C: 0 * C),
}


@pytest.mark.parametrize("words", DAMAGE)
def test_damaged_rankers_are_named(words, tmp_path):
    ranker = write_ranker(tmp_path / "pecos", **RANKERS["l3-hinge"]) / "ranker"
    DAMAGE[words](ranker)
    with pytest.raises(UserError, match=words) as caught:
        load_pecos(tmp_path / "pecos")
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


def test_foreign_models_say_what_to_load_instead(tmp_path):
    folder = write_text2text(tmp_path / "pecos")
    base, preprocessor = folder / "preprocessor" / "0.base", folder / "preprocessor"

    def rejected(words: str) -> None:
        with pytest.raises(ModelError, match=words):
            treetop.load(folder)

    for path, content, words in (
        (base / "tokenizer" / "config.json", {"token_type": 20}, r"characters.*load the linear model"),
        (preprocessor / "config.json", {"type": "hashing"}, r"type hashing.*load the linear model"),
        (preprocessor / "meta.json", {"kwargs": {"num_base_vect": 2}}, "joins 2 vectorizers"),
        (
            folder / "xlinear_ensemble" / "config.json",
            {"kwargs": [{}, {}]},
            r"lists 2 models.*treetop ensemble",
        ),
        (folder / "output_items.json", {"a": 1}, "not a list of strings"),
        (folder / "output_items.json", ["a"], "1 names, but the model has 9 labels"),
    ):
        before = path.read_text()
        write_json(path, content)
        with pytest.raises(UserError, match=words):
            treetop.load(folder)
        path.write_text(before)
    options = json.loads((base / "vectorizer" / "config.json").read_text())
    edit_json(base / "vectorizer" / "config.json", kwargs=options["kwargs"] | {"max_length": 9})
    rejected("truncates texts to max_length=9")
    edit_json(base / "vectorizer" / "config.json", kwargs=options["kwargs"] | {"ngram_range": [2, 2]})
    rejected("a term is longer or shorter than ngram_range")
    write_json(base / "vectorizer" / "config.json", options)

    shutil.copytree(folder / "xlinear_ensemble" / "0", tmp_path / "transformer" / "concat_model")
    write_json(tmp_path / "transformer" / "param.json", {})
    with pytest.raises(ModelError, match="XR-Transformer model of PECOS"):
        treetop.load(tmp_path / "transformer")
    (base / "vectorizer" / "tfidf-model.txt").write_text("2\n0\t1.0\t1\t0\n1\t1.0\t1\t0\n")
    rejected("a term occurs twice")
    (base / "vectorizer" / "tfidf-model.txt").write_text("2\n0\t1.0\t1\t0\n1\t1.0\t1\t1\n")
    rejected("its TF-IDF has 2 terms, but its linear model takes 4 features")


@pytest.mark.parametrize("file", ["tokenizer/vocab.txt", "vectorizer/tfidf-model.txt"])
def test_every_damaged_line_of_a_vectorizer_is_found(file, tmp_path):
    path = write_text2text(tmp_path / "pecos") / "preprocessor" / "0.base" / file
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(ModelError, match=path.name):
            treetop.load(tmp_path / "pecos")


def test_older_vectorizers_lie_in_the_folder_itself(tmp_path):
    folder = write_text2text(tmp_path / "pecos", **VECTORIZERS["bigrams"]) / "preprocessor"
    for part in ("tokenizer", "vectorizer"):
        (folder / "0.base" / part).rename(folder / part)
    (folder / "meta.json").unlink()
    (folder / "config.json").unlink()
    model = treetop.load(tmp_path / "pecos")
    assert_golden(model.predict(list(TEXTS), 8), GOLDENS["vectorizers"]["bigrams"])


@pytest.mark.parametrize("name", ["W", "C"])
def test_damaged_matrices_never_crash(name, tmp_path):
    path = write_ranker(tmp_path / "pecos", **RANKERS["l3-hinge"]) / "ranker" / "1.model" / f"{name}.npz"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(whole), 60, replace=False).tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            treetop.load(tmp_path / "pecos").predict(queries(), 3)
        except UserError:
            continue
    np.savez(
        path, format=np.array("csc"), data=np.array([{}], object), indices=[0], indptr=[0, 1], shape=(1, 1)
    )
    with pytest.raises(DataError, match=f"{name}.npz: not a sparse matrix"):  # a pickle
        treetop.load(tmp_path / "pecos")
    for indices, indptr in itertools.product(([9, 1], [0, -1]), ([0, 1, 2, 2], [0, 2, 1, 2], [0, 1, 9, 9])):
        arrays = {"data": np.ones(2, np.float32), "indices": np.array(indices), "indptr": np.array(indptr)}
        np.savez(path, format=np.array("csc"), shape=(5, 3), **arrays)
        with pytest.raises(DataError, match=f"{name}.npz: not a sparse matrix"):
            treetop.load(tmp_path / "pecos")


def test_import_and_the_commands_on_a_folder_of_pecos(tmp_path, run):
    folder = write_text2text(tmp_path / "pecos", **VECTORIZERS["bigrams"])
    lines = [{"text": TEXTS[row], "labels": [f"item {row}"]} for row in (0, 2, 4)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:2]) + "\n")
    assert run("import", folder, "-m", tmp_path / "own").code == 0
    written = [run("predict", model, tmp_path / "texts.txt").out for model in (folder, tmp_path / "own")]
    assert written[0] == written[1] and json.loads(written[0].splitlines()[0])["labels"][0]["label"]
    for model, writer in ((folder, "PECOS"), (tmp_path / "own", "treetop")):
        shown = run("info", model).out
        assert "an unknown number of examples (texts)" in shown and f"written by        {writer}" in shown
        assert "9 (8 in the label tree)" in shown
    explained = run("explain", folder, "aa Bb, c-c", "--json")
    terms = json.loads(explained.out)[0]["explanations"][0]["path"][0]["terms"]
    assert "c-c" in {term["name"] for term in terms}
    assert "PSP" not in run("evaluate", tmp_path / "own", tmp_path / "train.jsonl").out
    run("evaluate", tmp_path / "own", tmp_path / "train.jsonl", "--by-frequency").sentence(2, "--train FILE")

    names = tmp_path / "names.txt"
    names.write_text("".join(f"item {label}\n" for label in range(LABELS)))
    how = ("--label-names", names, "--train", tmp_path / "train.jsonl")
    assert run("import", folder, "-m", tmp_path / "counted", *how).code == 0
    assert "3 examples" in run("info", tmp_path / "counted").out
    assert "PSP" in run("evaluate", tmp_path / "counted", tmp_path / "train.jsonl").out
    run("import", tmp_path, "-m", tmp_path / "x").sentence(
        2, "is not a model folder of PECOS", "ranker/param.json"
    )
    run("import", folder, "-m", tmp_path).sentence(2, "not a model folder; choose another name")
    names.write_text("a\nb\n")
    run("import", folder, "-m", tmp_path / "x", "--label-names", names).sentence(
        2, "names.txt: 2 names", "9 labels"
    )


def pecos_data(folder: Path, Y, names=()) -> Path:
    folder.mkdir()
    sparse.save_npz(folder / "X.tst.npz", queries())
    sparse.save_npz(folder / "Y.tst.npz", sparse.csr_matrix(Y))
    if names:
        (folder / "labels.txt").write_text("".join(f"{name}\n" for name in names))
    return folder


def test_predictions_of_pecos_are_evaluated(tmp_path, run):
    rng = np.random.default_rng(3)
    Y = (rng.random((ROWS, 5)) < 0.4).astype(np.float32)
    scores = np.round(rng.random((ROWS, 5)), 1) * (rng.random((ROWS, 5)) < 0.8)  # with ties
    stored = sparse.csr_matrix(scores, dtype=np.float32)
    for row in range(ROWS):  # best first in every row, as PECOS saves them
        span = slice(*stored.indptr[row : row + 2])
        order = np.argsort(-stored.data[span], kind="stable")
        stored.indices[span], stored.data[span] = stored.indices[span][order], stored.data[span][order]
    stored.has_sorted_indices = False
    file = tmp_path / "predicted.npz"
    sparse.save_npz(file, stored, compressed=False)
    # P@k by PECOS's rule: by decreasing score, ties by label number, divided by all texts and by k.
    ranked = [sorted(np.flatnonzero(row).tolist(), key=lambda label: -row[label]) for row in scores]
    hits = [[Y[row, label] for label in labels] for row, labels in enumerate(ranked)]
    expected = {f"P@{k}": sum(sum(row[:k]) for row in hits) / ROWS / k * 100 for k in (1, 2, 3)}

    def evaluated(test: Path, *options: object) -> dict[str, float]:
        outcome = run("evaluate", file, test, "--k", "1,2,3", "--json", "-", *options)
        assert outcome.code == 0, outcome.err
        return {name: value for name, value in json.loads(outcome.out).items() if name in expected}

    approximate = pytest.approx(expected, abs=1e-3)
    assert evaluated(pecos_data(tmp_path / "numbered", Y)) == approximate
    assert evaluated(pecos_data(tmp_path / "named", Y, "vwxyz")) == approximate
    rows = [{"text": "", "labels": [str(label) for label in np.flatnonzero(row)]} for row in Y]
    (tmp_path / "numbers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert evaluated(tmp_path / "numbers.jsonl") == approximate  # label names are column numbers
    named = [{"text": "", "labels": ["zyxwv"[label] for label in np.flatnonzero(row)]} for row in Y]
    (tmp_path / "names.jsonl").write_text("\n".join(map(json.dumps, named)))
    run("evaluate", file, tmp_path / "names.jsonl").sentence(
        2, "5 label columns without names", "--label-names"
    )
    (tmp_path / "labels.txt").write_text("\n".join("zyxwv") + "\n")
    assert evaluated(tmp_path / "names.jsonl", "--label-names", tmp_path / "labels.txt") == approximate
    against = ("--against", file, "--json", "-")
    same = json.loads(run("evaluate", file, tmp_path / "numbered", *against).out)["against"]
    assert same["P@1"]["difference"] == 0
    report = run("report", file, tmp_path / "named", "--output", tmp_path / "r.html", "--samples", 100)
    assert report.code == 0 and "predicted.npz" in (tmp_path / "r.html").read_text("utf-8")

    wider = pecos_data(tmp_path / "wider", np.hstack([Y, Y[:, :1]]))
    run("evaluate", file, wider).sentence(2, "5 label columns", "6 labels")
    (tmp_path / "labels.txt").write_text("a\nb\na\nd\ne\n")
    run("evaluate", file, wider, "--label-names", tmp_path / "labels.txt").sentence(2, "'a' is given twice")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    run("evaluate", file, wider, "--label-names", tmp_path / "labels.txt").sentence(
        2, "2 names", "5 label columns"
    )
    file.write_bytes(b"names")
    run("evaluate", file, wider).sentence(2, "predicted.npz: not a sparse matrix")


def test_unknown_counts_in_ensembles_reports_and_the_server(tmp_path, run):
    folder = write_text2text(tmp_path / "pecos")
    known = [[f"item {label}"] for label in (0, 1, 2, 0, 1, 2)]
    own = treetop.XRLinear(min_df=1).fit(list(TEXTS), known)
    own.save(tmp_path / "own")
    load_pecos(folder).save(tmp_path / "imported")
    both = treetop.Ensemble([treetop.load(folder), own])
    assert both.statistics["examples"] == ROWS and len(both.known_labels) == LABELS
    twice = treetop.Ensemble([treetop.load(folder), treetop.load(folder)])
    assert twice.statistics["examples"] is None
    np.testing.assert_allclose(
        twice.predict(TEXTS[0], 3).scores, treetop.load(folder).predict(TEXTS[0], 3).scores, rtol=1e-6
    )
    test = tmp_path / "test.jsonl"
    test.write_text(
        "".join(json.dumps({"text": text, "labels": known[row]}) + "\n" for row, text in enumerate(TEXTS))
    )
    report = run(
        "report", tmp_path / "imported", tmp_path / "own", test, "-o", tmp_path / "r.html", "--samples", 100
    )
    assert report.code == 0, report.err
    assert "trained on different data" not in (tmp_path / "r.html").read_text("utf-8")
    assert run("evaluate", tmp_path / "imported", test, "--card").code == 0
    with PrivateCopies() as copies:
        served = load_served("m", tmp_path / "imported", {}, copies)
    assert ModelAnswer(**served.describe(), default=True).examples is None
    card = CardAnswer(**card_of(served))
    assert card.long_tail.points == [] and card.evaluation is not None
    assert card.evaluation.by_frequency == [] and "P@1" in card.evaluation.metrics
    assert served.search.find("item 3", 1) == [("item 3", None, None)]
