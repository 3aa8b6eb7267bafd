"""X-Transformer: its clusters, its shortlists, its scores."""

from __future__ import annotations

import numpy as np
import pytest

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.features.joined import joined
from treetop.methods.fine_tuning import prediction_vectors
from treetop.methods.label_index import default_clusters
from treetop.methods.x_transformer import XTransformer

QUICK = {
    "encoder": tiny_bert(), "epochs": 3, "batch_size": 16, "max_length": 32, "learning_rate": 1e-3,
    "device": "cpu", "threads": 1, "clusters": 3, "cluster_beam": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Dataset:
    data = Dataset.from_texts(*topic_texts(80, seed=0), source="train")
    return data.with_label_texts({name: f"{name} {name}s" for name in data.labels})


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


def test_clusters_by_the_published_rule():
    published = {3_956: 64, 30_938: 512, 13_330: 256, 501_070: 8192}
    assert {labels: default_clusters(labels) for labels in published} == published
    assert default_clusters(5) == 2


@pytest.mark.parametrize("index", ["pifa-tfidf", "pifa-neural", "label-text"])
def test_every_index(index, train, test):
    settings = QUICK | {"index": index, "cluster_beam": 3}
    if index == "label-text":  # words of the labels must be words of the texts
        texts = [f"{text} {' '.join(names)}" for text, names in zip(*topic_texts(80, seed=0), strict=True)]
        named = Dataset.from_texts(texts, topic_texts(80, seed=0)[1], source="train")
        train = named.with_label_texts({name: name for name in named.labels})
    model = XTransformer(**settings).fit(train)
    assert model.tree.sizes == [3, 6]
    assert model.evaluate(test)["P@1"] > 85


def seen(model: XTransformer, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """What the rankers see, and what the matcher sees."""
    vectors = prediction_vectors(model.encoder, data.texts, model.config, threads=1)
    return joined(model.features.matrix(data, threads=1), vectors).toarray(), vectors


def test_scores_by_brute_force(train, test):
    """The ranker's score alone, for the labels of the best clusters."""
    model = XTransformer(**QUICK, weight_bits=32).fit(train)
    W, b = model.rankers.dense()
    features, vectors = seen(model, test)
    raw = features @ W.T + b
    matched = vectors @ model.matcher.W.T + model.matcher.b
    best = np.argsort(-matched, axis=1)[:, :2]
    ranked = model.predict(test, k=6)
    for row in range(len(test)):
        nodes = [n for c in best[row] for n in range(model.tree.offsets[1][c], model.tree.offsets[1][c + 1])]
        nodes = sorted(nodes, key=lambda node: -raw[row, node])
        found = slice(ranked.indptr[row], ranked.indptr[row + 1])
        assert list(ranked.indices[found]) == list(model.tree.labels[nodes])
        expected = np.exp(-(np.maximum(0, 1 - raw[row, nodes]) ** 3))
        assert np.allclose(ranked.scores[found], expected, atol=1e-4)


def test_the_product_with_the_cluster(train, test):
    model = XTransformer(**QUICK, combine="product", weight_bits=32).fit(train)
    W, b = model.rankers.dense()
    features, vectors = seen(model, test)
    ranker = np.exp(-(np.maximum(0, 1 - features @ W.T - b) ** 3))
    cluster = np.exp(-(np.maximum(0, 1 - vectors @ model.matcher.W.T - model.matcher.b) ** 2))
    product = ranker * cluster[:, model.tree.parents(1)]
    ranked = model.predict(test, k=1)
    nodes = np.argsort(model.tree.labels)[ranked.indices]
    assert np.allclose(ranked.scores, product[np.arange(len(test)), nodes], atol=1e-4)


def test_negatives(train):
    model = XTransformer(**QUICK).fit(train)
    vectors = prediction_vectors(model.encoder, train.texts, model.config, threads=1)
    from treetop.linear.tree_model import relevance_chain
    from treetop.sparse import binarize

    true = binarize(relevance_chain(train.Y, model.tree)[0])
    indptr, nodes, _ = model.matcher.best(vectors, model.config.cluster_beam)
    found = {}
    for scheme in ("tfn", "man", "tfn+man"):
        model.config = model.config.replace_settings({"negatives": scheme})
        found[scheme] = model._shortlist(true, vectors).toarray() > 0
    assert (found["tfn"] == (true.toarray() > 0)).all()
    assert all(
        set(np.flatnonzero(found["man"][row])) == set(nodes[indptr[row] : indptr[row + 1]])
        for row in range(80)
    )
    assert (found["tfn+man"] == (found["tfn"] | found["man"])).all()


def test_saved_and_loaded(train, test, tmp_path):
    model = XTransformer(**QUICK).fit(train)
    model.save(tmp_path / "model")
    assert np.array_equal(treetop.load(tmp_path / "model").predict(test).scores, model.predict(test).scores)
