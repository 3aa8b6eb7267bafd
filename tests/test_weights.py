"""Relevances of labels and weights of examples: against PECOS, and against repeated examples."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas
import pytest
import torch
from scipy import sparse
from torch import nn

import treetop
from conftest import planted
from small_data import same, topic_texts
from test_attention import SMALL as ATTENTION
from test_cascade import head as cascade_head
from test_cascade import vectors_of
from test_lightxml import head as cluster_head
from test_lightxml import positives_of
from treetop import Dataset, Predictions, read, write
from treetop.errors import ConfigError, DataError, DataWarning, ModelError
from treetop.neural.attention_network import AttentionNetwork
from treetop.neural.batches import Examples, Positives

TIGHT = {"threshold": 0.0, "weight_bits": 32, "tolerance": 1e-7, "max_passes": 5000, "threads": 1}
SMALL_TREES = {"leaf_size": 4, "branching": 2, "vector_min_df": 1}
LINEAR = {
    "xr-linear": SMALL_TREES,
    "parabel": SMALL_TREES,
    "bonsai": SMALL_TREES,
    "plt": SMALL_TREES,
    "dismec": {},
    "hybrid": SMALL_TREES | {"weight": 0.0},
}


def scores(model: treetop.methods.Method, X: sparse.csr_matrix) -> np.ndarray:
    return model.predict(X, k=len(model.labels)).to_csr().toarray()


# -- against PECOS -------------------------------------------------------------------------------------------


def small_problem() -> tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]:
    """Ten examples, six features, five labels; one relevance is 0."""
    X = [[(3 * i + 5 * j + i * j) % 7 / 7 if (i + j) % 3 else 0 for j in range(6)] for i in range(10)]
    Y = sparse.csr_matrix(
        [[(i * i + 2 * j + i * j) % 4 == 0 or i % 5 == j for j in range(5)] for i in range(10)],
        dtype=np.float32,
    )
    rows, columns = Y.nonzero()
    values = 0.5 + (rows + 2 * columns) % 4 / 2
    values[(rows == 3) & (columns == 3)] = 0
    return (
        sparse.csr_matrix(X, dtype=np.float32),
        Y,
        sparse.csr_matrix((values, Y.indices, Y.indptr), Y.shape),
    )


PECOS = {  # rel_mode and rel_norm: the scores of the first two examples by libpecos 1.2.8
    ("induce", "no-norm"): [
        [0.2027, 0.79869, 0.66755, 0.13745, 0.77041],
        [0.27777, 0.57853, 0.87427, 0.22248, 0.26929],
    ],
    ("induce", "l1"): [
        [0.0419, 0.31656, 0.24792, 0.01423, 0.44781],
        [0.08558, 0.2216, 0.49521, 0.02272, 0.10501],
    ],
    ("induce", "l2"): [
        [0.13512, 0.43594, 0.44649, 0.02915, 0.65496],
        [0.19585, 0.21987, 0.63109, 0.04599, 0.21009],
    ],
    ("induce", "max"): [
        [0.3102, 0.48387, 0.64069, 0.04325, 0.80673],
        [0.34124, 0.21242, 0.6922, 0.06024, 0.32854],
    ],
    ("ranker-only", "no-norm"): [
        [0.19611, 0.77275, 0.66755, 0.13745, 0.77041],
        [0.24472, 0.50969, 0.75385, 0.19184, 0.2322],
    ],
    ("ranker-only", "l1"): [
        [0.05059, 0.38222, 0.24812, 0.01425, 0.44817],
        [0.09583, 0.24813, 0.61416, 0.02818, 0.13023],
    ],
}
FLAT = [[-0.36637, 0.14278, 0.16847, -0.34572, 0.26413], [-0.31042, -0.12075, 0.18223, -0.38296, -0.40226]]
"""The same without a tree."""


@pytest.mark.parametrize(("mode", "norm"), PECOS)
def test_relevances_count_as_in_pecos(mode, norm):
    X, Y, R = small_problem()
    tree = treetop.LabelTree((np.array([0, 2]), np.array([0, 2, 5])), np.arange(5))
    costs = "all" if mode == "induce" else "last"
    norm = {"no-norm": "none"}.get(norm, norm)
    model = treetop.XRLinear(**TIGHT, costs=costs, cost_norm=norm).fit(X, Y, tree=tree, relevance=R)
    np.testing.assert_allclose(
        scores(model, X[:2]), PECOS[mode, norm if norm != "none" else "no-norm"], atol=3e-5
    )


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_relevances_of_one_versus_all(loss):
    X, Y, R = small_problem()
    settings = TIGHT | {"costs": "all", "cost_norm": "none", "loss": loss}
    model = treetop.DiSMEC(**settings).fit(X, Y, relevance=R)
    if loss == "squared-hinge":
        np.testing.assert_allclose(scores(model, X[:2]), FLAT, atol=3e-5)
    # A positive with relevance 0 takes no part, not even as a negative: its label trains without it.
    rest = np.arange(10) != 3
    alone = treetop.DiSMEC(**settings).fit(X[rest], Y[rest], relevance=R[rest])
    np.testing.assert_allclose(scores(model, X)[:, 3], scores(alone, X)[:, 3], atol=3e-5)


@pytest.mark.parametrize("name", LINEAR)
def test_twice_the_relevance_is_twice_the_cost_of_positives(name):
    X, Y = planted(60, 12, 30, seed=1)
    made = treetop.make(name, **TIGHT, **LINEAR[name], costs="all", cost_norm="none")
    cost = made.config.linear.cost_positive
    doubled = treetop.make(
        name, **TIGHT, **LINEAR[name], costs="all", cost_norm="none", cost_positive=2 * cost
    )
    assert same(made.fit(X, Y, relevance=2 * Y).predict(X, k=5), doubled.fit(X, Y).predict(X, k=5))


# -- weights of examples -------------------------------------------------------------------------------------

SOLVERS = {
    "usual": {},
    "hinge": {"loss": "hinge"},
    "huber": {"loss": "huber-hinge"},
    "logistic": {"loss": "logistic"},
    "l1": {"regulariser": "l1", "l1_strength": 1.0},
    "refit": {"regulariser": "l1", "l1_strength": 1.0, "refit": True},
}


@pytest.mark.parametrize(
    ("name", "solver"), [*((name, "usual") for name in LINEAR), *(("dismec", solver) for solver in SOLVERS)]
)
def test_weights_are_repetitions(name, solver):
    X, Y = planted(60, 12, 30, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    several, kept = np.repeat(np.arange(60), weights), np.flatnonzero(weights)
    settings = TIGHT | LINEAR[name] | SOLVERS[solver]
    weighted = treetop.make(name, **settings).fit(X, Y, sample_weight=weights)
    repeated = treetop.make(name, **settings).fit(X[several], Y[several])
    np.testing.assert_allclose(scores(weighted, X), scores(repeated, X), atol=3e-4)
    plain = treetop.make(name, **settings).fit(X, Y)
    assert np.abs(scores(plain, X) - scores(repeated, X)).max() > 0.01
    left_out = treetop.make(name, **settings).fit(X[kept], Y[kept], sample_weight=weights[kept])
    assert same(weighted.predict(X, k=5), left_out.predict(X, k=5))
    assert weighted.statistics["examples"] == len(kept)


def test_weights_multiply_relevances():
    X, Y = planted(40, 8, 20, seed=3)
    R = Y.copy()
    R.data = np.random.default_rng(0).uniform(0.5, 2, Y.nnz).astype(np.float32)
    rows = np.repeat(np.arange(40), 2)
    settings = TIGHT | {"costs": "all", "cost_norm": "l1"} | SMALL_TREES
    weighted = treetop.XRLinear(**settings).fit(X, Y, relevance=R, sample_weight=np.full(40, 2))
    repeated = treetop.XRLinear(**settings).fit(X[rows], Y[rows], relevance=R[rows])
    np.testing.assert_allclose(scores(weighted, X), scores(repeated, X), atol=3e-4)


def test_weights_are_split_like_the_examples():
    """For a calibration, for the hybrid's weight, and next to label texts, which count once."""
    texts, labels = topic_texts(150, seed=0)
    weights = np.arange(150) % 3
    data = Dataset.from_texts(texts, labels)
    for settings in (
        {"calibration": "isotonic"},
        {"label_examples": True},
        {"label_examples": True, "calibration": "platt"},
    ):
        model = treetop.Hybrid(threads=1, **settings).fit(data, sample_weight=weights)
        kept = treetop.Hybrid(threads=1, **settings).fit(
            data[weights > 0].with_weights(weights=weights[weights > 0])
        )
        assert same(model.predict(texts[:20]), kept.predict(texts[:20]))
    X, Y = planted(60, 12, 30, seed=2)
    negatives = sparse.csr_matrix(np.ones(Y.shape))
    given = {"negatives": "tfn+given", **SMALL_TREES}
    model = treetop.XRLinear(**given).fit(X, Y, sample_weight=np.arange(60) % 3, negatives=negatives)
    assert model.statistics["examples"] == 40


def test_an_ensemble_passes_weights_on():
    X, Y = planted(60, 12, 30, seed=2)
    weights = np.arange(60) % 3
    both = treetop.Ensemble(methods=("xr-linear", "dismec")).fit(X, Y, sample_weight=weights)
    alone = treetop.XRLinear(seed=both.members[0].config.seed).fit(X, Y, sample_weight=weights)
    assert same(both.members[0].predict(X), alone.predict(X))
    with pytest.raises(ConfigError, match="neighbours cannot weigh training examples: leave out the weights"):
        treetop.Ensemble(methods=("xr-linear", "neighbours")).fit(X, Y, sample_weight=weights)


# -- networks ------------------------------------------------------------------------------------------------


def check_weighted(loss, count: int) -> None:
    """``loss(rows, weights)`` is the mean over the texts of each one's loss times its weight."""
    weights = torch.linspace(0.5, 3, count)
    together = loss(list(range(count)), weights)
    alone = torch.stack([loss([row], None) for row in range(count)])
    assert alone.std() > 0.01
    torch.testing.assert_close(together, (weights * alone).mean())


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("kind", ["clusters", "cascade"])
def test_the_loss_of_a_text_is_multiplied_by_its_weight(kind, reduction):
    labels = [[1, 2], [6], [0, 3]]
    made = (cluster_head if kind == "clusters" else cascade_head)(reduction=reduction)
    vectors = [torch.randn(3, 5)] if kind == "clusters" else vectors_of(3)

    def loss(rows: list[int], weights: torch.Tensor | None) -> torch.Tensor:
        positives = positives_of(*(labels[row] for row in rows))
        seen = [part[rows] for part in vectors]
        marked = dataclasses.replace(positives, text_weights=weights)
        return made.loss(seen[0] if kind == "clusters" else seen, marked)

    check_weighted(loss, 3)


@pytest.mark.parametrize("first", [True, False])
def test_the_loss_of_attention_is_weighted_too(first):
    torch.manual_seed(0)
    tokens = np.array([0, 3, 5, 9]), np.array([1, 2, 3, 4, 5, 6, 7, 8, 1], np.int32)
    Y = sparse.csr_matrix(([1.0] * 4, [3, 1, 0, 4], [0, 1, 2, 4]), shape=(3, 5), dtype=np.float32)
    shortlist = None if first else sparse.csr_matrix(np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1]], np.float32))
    parents = np.array([1, 0, 1, 1, 2])
    network = AttentionNetwork(nn.Embedding(9, 4), ATTENTION, parents, first=first).eval()

    def loss(rows: list[int], weights: torch.Tensor | None) -> torch.Tensor:
        given = None if weights is None else weights.numpy()
        examples = Examples(tokens, Y, shortlist=shortlist, weights=given)
        (batch,) = examples.batches([np.array(rows)], torch.device("cpu"))
        return network(batch)

    check_weighted(loss, 3)


def test_batches_have_the_weights_of_their_texts():
    tokens = np.arange(5), np.arange(1, 5, dtype=np.int32)
    weights = np.array([1, 2, 3, 4], np.float32)
    examples = Examples(tokens, sparse.eye(4, format="csr"), weights=weights)
    (batch,) = examples.batches([np.array([3, 0])], torch.device("cpu"))
    assert batch.positives.text_weights.tolist() == [4, 1]
    moved = batch.positives.moved(torch.Tensor.double)
    assert isinstance(moved, Positives) and moved.text_weights.dtype == torch.float64


# -- data ----------------------------------------------------------------------------------------------------


def weighted_data() -> Dataset:
    data = Dataset.from_texts(["a", "b", "c"], [["x", "std::map"], ["y"], []], groups="mno", ids="123")
    R = data.Y.copy()
    R.data = np.array([2, 0, 0.1], np.float32)  # of std::map, x and y
    return data.with_weights(relevance=R, weights=[3, 0.5, 0])


def test_weights_go_where_their_examples_and_labels_go():
    data = weighted_data()
    assert list(data.labels) == ["std::map", "x", "y"] and data.Y.data.tolist() == [1, 1, 1]
    part = data[[1, 0]]
    assert part.weights.tolist() == [0.5, 3] and part.relevance.toarray().tolist() == [
        [0, 0, np.float32(0.1)],
        [2, 0, 0],
    ]
    assert part.relevance.nnz == 3  # the stored zero is one
    moved = data.aligned_to(treetop.Strings.of(["y", "new", "x"]))
    assert moved.relevance.toarray()[0].tolist() == [0, 0, 0, 2] and moved.relevance.nnz == 3
    assert data.relevance.data.tolist() == [2, 0, np.float32(0.1)]
    more = data.with_label_examples()
    assert more.weights.tolist() == [3, 0.5, 0, 1, 1, 1]
    assert more.relevance.data.tolist() == [2, 0, np.float32(0.1), 1, 1, 1]
    larger, smaller = data.split(0.4, seed=1)
    assert sorted(np.concatenate([larger.weights, smaller.weights])) == [0, 0.5, 3]


def test_values_of_a_label_matrix_are_relevances():
    data = Dataset.from_matrices(np.eye(2), np.diag([1, 3]))
    assert data.Y.data.tolist() == [1, 1] and data.relevance.data.tolist() == [1, 3]
    assert Dataset.from_matrices(np.eye(2), np.eye(2)).relevance is None
    ones = data.Y.copy()
    assert (
        Dataset.from_matrices(np.eye(2), ones).with_weights(relevance=ones, weights=[1, 1]).relevance is None
    )


@pytest.mark.parametrize(
    "name",
    [
        "a.jsonl",
        "a.csv",
        "a.tsv",
        "a.parquet",
        "a.ft",
        "a.annif",
        "a_texts.txt",
        "a.arrays",
        "folder/X.trn.npz",
    ],
)
def test_formats_hold_weights(tmp_path, name):
    data = weighted_data()
    if name.endswith("npz"):
        (tmp_path / "folder").mkdir()
        data = Dataset.from_matrices(np.eye(3), data.Y, labels=data.labels).with_weights(
            relevance=data.relevance
        )
    options = {"weight": "weight"} if name in ("a.jsonl", "a.csv", "a.tsv", "a.parquet") else {}
    if not options and name != "a.arrays":
        data = dataclasses.replace(data, weights=None)
    write(data, tmp_path / name)
    again = read(tmp_path / name, **options)
    assert again.labels == data.labels and (again.Y != data.Y).nnz == 0
    assert again.relevance.nnz == 3 and (again.relevance != data.relevance).nnz == 0
    assert np.array_equal(again.weights, data.weights) if data.weights is not None else again.weights is None
    write(dataclasses.replace(data, relevance=None), tmp_path / name)
    assert read(tmp_path / name, **options).relevance is None


def test_labels_with_relevances_by_hand(tmp_path):
    def found(text: str, name: str = "a.tsv", **options) -> Dataset:
        (tmp_path / name).write_text(text)
        return read(tmp_path / name, **options)

    data = found("text\tlabels\nt\ta::2.0;std::map;b::.5\nu\tb::1e1;c::\n")
    assert list(data.labels) == ["a", "b", "c::", "std::map"]
    assert data.relevance.toarray().tolist() == [[2, 0.5, 0, 1], [0, 10, 1, 0]]
    assert data.Y.toarray().tolist() == [[1, 1, 0, 1], [0, 1, 1, 0]]
    assert found('{"text": "t", "labels": ["0::2.0", "1::1"]}\n', "a.jsonl").relevance.data.tolist() == [2, 1]
    assert found("__label__a::3 t\n", "a.ft").relevance.data.tolist() == [3]
    assert found("text,labels\nt,a::1.0;b::1\n", "a.csv").relevance is None
    names = ["iso::9001", "::2", "a::-1", "a::nan", "a:: 2", "x::2::3"]
    data = Dataset.from_texts(["t"], [names])  # names in Python are names
    assert sorted(data.labels) == sorted(names) and data.relevance is None
    write(data, tmp_path / "b.jsonl")
    assert '"iso::9001::1"' in (tmp_path / "b.jsonl").read_text()
    assert read(tmp_path / "b.jsonl").labels == data.labels
    frame = pandas.DataFrame({"text": ["t", "u"], "labels": ["a::2;b", "a"], "w": [1, 3]})
    data = Dataset.from_frame(frame, weight="w")
    assert data.relevance.data.tolist() == [2, 1, 1] and data.weights.tolist() == [1, 3]
    for text, message in (
        ("text\tlabels\nt\ta::2;a::3\n", "example 1 has the label 'a' with two relevances"),
        ("text\tlabels\nt\ta::1e999\n", "relevances must be finite"),
    ):
        with pytest.raises(DataError, match=message):
            found(text)
    with pytest.raises(DataError, match="cannot be written between separators ':'"):
        write(weighted_data(), tmp_path / "c.csv", label_separator=":")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.jsonl",
            '{"text": "t", "labels": ["a"], "w": -1}\n',
            "line 1: the weight in 'w' must be .*, not -1",
        ),
        ("a.jsonl", '{"text": "t", "labels": ["a"], "w": true}\n', "not True"),
        ("a.jsonl", '{"text": "t", "labels": ["a"]}\n', "no field 'w' .*; name it with --weight"),
        (
            "a.csv",
            "text,labels,w\nt,a,heavy\n",
            "line 2: the weight in 'w' must be a number of at least 0, not 'heavy'",
        ),
        ("a.csv", "text,labels\nt,a\n", "no column 'w' .*; name it with --weight"),
        ("a.ft", "__label__a t\n", "fasttext has no field of weights; leave out --weight"),
    ],
)
def test_bad_fields_of_weights(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name, weight="w")
    if name == "a.csv" and "heavy" in text:
        with pytest.raises(DataError, match="the frame, row 0: the weight in 'w' must be"):
            Dataset.from_frame(pandas.read_csv(tmp_path / name), weight="w")


def test_older_arrays_hold_relevances_in_their_labels(tmp_path):
    data = Dataset.from_matrices(np.eye(2), np.eye(2))
    write(data, tmp_path / "a.arrays")
    manifest = json.loads((tmp_path / "a.arrays" / "data.json").read_text())
    values = tmp_path / "a.arrays" / manifest["arrays"]["Y.data"]["file"]
    np.save(values, np.array([2, 1], np.float32))
    status = values.stat()
    manifest["arrays"]["Y.data"] |= {"bytes": status.st_size, "changed": status.st_mtime_ns}
    del manifest["values"]
    (tmp_path / "a.arrays" / "data.json").write_text(json.dumps(manifest))
    again = read(tmp_path / "a.arrays")
    assert again.Y.data.tolist() == [1, 1] and again.relevance.data.tolist() == [2, 1]


def test_train_reads_weights(tmp_path, run):
    texts, labels = topic_texts(60, seed=0)
    weights = np.arange(60) % 3
    write(Dataset.from_texts(texts, labels).with_weights(weights=weights), tmp_path / "a.jsonl")
    settings = ["--method", "xr-linear", "--threads", "1"]
    run("train", tmp_path / "a.jsonl", "--model", tmp_path / "m", "--weight", "weight", *settings)
    expected = treetop.XRLinear(threads=1).fit(texts, labels, sample_weight=weights)
    assert same(treetop.load(tmp_path / "m").predict(texts), expected.predict(texts))
    run("data", "convert", tmp_path / "a.jsonl", tmp_path / "a.arrays", "--weight", "weight")
    assert np.array_equal(read(tmp_path / "a.arrays").weights, weights)
    parts = tmp_path / "b.csv", tmp_path / "c.csv"
    into = ["--output-train", parts[0], "--output-test", parts[1]]
    run("data", "split", tmp_path / "a.jsonl", "--weight", "weight", *into)
    assert sorted(np.concatenate([read(part, weight="weight").weights for part in parts])) == sorted(weights)
    failed = run(
        "train", tmp_path / "a.jsonl", "-m", tmp_path / "n", "--weight", "weight", "--method", "neighbours"
    )
    assert failed.code == 2 and "neighbours cannot weigh training examples" in failed.err


def test_tune_and_compare_read_weights(tmp_path, run):
    """Here texts of two labels have no weight."""
    texts, labels = topic_texts(80, seed=0)
    weights = [0.0 if {"baking", "chess"} & {*names} else 1.0 for names in labels]
    data = Dataset.from_texts(texts, labels)
    write(data.with_weights(weights=weights)[:60], tmp_path / "a.jsonl")
    write(data[60:], tmp_path / "test.jsonl")
    model = treetop.XRLinear(threads=1).fit(texts[:60], labels[:60], sample_weight=weights[:60])
    weighed = model.evaluate(data[60:])["P@1"]
    assert weighed != treetop.XRLinear(threads=1).fit(texts[:60], labels[:60]).evaluate(data[60:])["P@1"]
    files = [tmp_path / "a.jsonl", "--weight", "weight", "--threads", "1"]
    test = ["--seeds", 1, "--test", tmp_path / "test.jsonl", "--json"]
    compared = json.loads(run("compare", *files, "--methods", "xr-linear", *test).out)
    assert compared["variants"][0]["figures"]["P@1"]["mean"] == pytest.approx(weighed)
    failed = run("tune", *files, "--method", "neighbours", "--trials", 1, "--study", tmp_path / "study.db")
    failed.sentence(2, "neighbours cannot weigh training examples")


def test_bad_weights():
    X, Y, R = small_problem()
    for given, message in (
        ({"relevance": R[:5]}, "the relevances are 5 × 5, but the labels 10 × 5"),
        ({"relevance": sparse.eye(10, 5)}, "the relevances of row 0 are not those of its labels"),
        ({"relevance": -Y}, "relevances must be finite and not negative; row 0 has -1"),
        ({"sample_weight": [1, 2]}, r"the weights have the shape \(2,\); give one number for each of the 10"),
        ({"sample_weight": -np.ones(10)}, "weights must be finite and not negative; row 0 has -1"),
        ({"sample_weight": ["a"] * 10}, "the weights are not numbers"),
        ({"sample_weight": np.zeros(10)}, "the weights of all labelled examples are zero: raise some"),
    ):
        with pytest.raises(DataError, match=message):
            treetop.XRLinear(costs="all").fit(X, Y, **given)
    with pytest.raises(DataError, match="relevances need labels"):
        Dataset.from_texts(["a"]).with_weights(relevance=[[1]])
    data = Dataset.from_matrices(X, Y).with_weights(relevance=R)
    with pytest.raises(DataError, match="already has relevance; give them once"):
        treetop.XRLinear(costs="all").fit(data, relevance=R)


def test_what_ignores_relevances_says_so():
    X, Y, R = small_problem()
    data = Dataset.from_matrices(X, Y, source="train").with_weights(relevance=R)
    with pytest.raises(ConfigError, match=r"xr-linear ignores the relevances of labels: set linear\.costs"):
        treetop.XRLinear().fit(X, Y, relevance=R)
    with pytest.raises(
        ConfigError, match=r"neighbours ignores .*: choose a linear method, .*, or leave them out"
    ):
        treetop.NearestNeighbours().fit(X, Y, relevance=R)
    with pytest.warns(
        DataWarning, match=r"train: dismec ignores the relevances of labels: set linear\.costs"
    ):
        ignored = treetop.DiSMEC().fit(data)
    assert same(ignored.predict(X), treetop.DiSMEC().fit(X, Y).predict(X))


def test_updates_refuse_weights():
    texts, labels = topic_texts(60, seed=0)
    data = Dataset.from_texts(texts, labels)
    model = treetop.XRLinear(keep_data=True).fit(data)
    with pytest.raises(DataError, match="an update cannot weigh examples or labels"):
        model.update(data.with_weights(weights=np.arange(60)))
    weighted = treetop.XRLinear(keep_data=True).fit(data, sample_weight=np.arange(60))
    with pytest.raises(ModelError, match="trained with weights or relevances cannot be updated: retrain"):
        weighted.update(data)


def test_evaluations_count_every_text_once():
    data = weighted_data()
    predictions = Predictions([0, 1, 2, 3], [0, 0, 0], [1.0, 1.0, 1.0], data.labels)
    assert treetop.evaluate(predictions, data, ks=(1,))["P@1"] == pytest.approx(100 / 3)
