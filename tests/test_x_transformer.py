"""X-Transformer: its clusters, its shortlists, its scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError
from treetop.features.joined import joined, side_by_side
from treetop.methods.fine_tuning import prediction_vectors
from treetop.methods.label_index import default_clusters
from treetop.methods.x_transformer import XTransformer
from treetop.tree import TreeConfig
from treetop.tree.building import build_tree

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


@pytest.mark.parametrize("index", ["pifa-tfidf", "pifa-neural", "text-emb", "label-text"])
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


def clustered(vectors: np.ndarray, data: Dataset, **settings) -> list[list[int]]:
    """The labels of three clusters of the labels' vectors."""
    tree = build_tree(side_by_side(None, vectors), TreeConfig(levels=(3,), **settings), seed=0, threads=1)
    return [sorted(tree.members(0, node)) for node in range(3)]


def clusters_of(model: XTransformer) -> list[list[int]]:
    return [sorted(model.tree.members(0, node)) for node in range(3)]


def test_text_embeddings_are_means_of_the_tokens_of_the_labels(train):
    model = XTransformer(**QUICK, index="text-emb").fit(train)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert())
    encoder = AutoModel.from_pretrained(tiny_bert()).eval()
    with torch.no_grad():
        means = [
            encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
            for text in train.label_texts
        ]
    assert clusters_of(model) == clustered(np.stack(means), train)


def test_an_index_by_the_encoder_of_a_trained_model(train, tmp_path):
    other = XTransformer(**QUICK, seed=1).fit(train)
    other.save(tmp_path / "model")
    model = XTransformer(**QUICK, index="pifa-neural", index_encoder=tmp_path / "model").fit(train)
    _, vectors = seen(other, train)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = train.Y.toarray() / np.sqrt(train.Y.sum(1).A)
    assert clusters_of(model) == clustered(shares.T @ unit, train)

    treetop.make("kim-cnn", epochs=1, device="cpu").fit(train).save(tmp_path / "words")
    with pytest.raises(ConfigError, match=r"words has no fine-tuned encoder of its own: give an x-transf"):
        XTransformer(**QUICK, index="pifa-neural", index_encoder=str(tmp_path / "words")).fit(train)


def test_a_neural_index_fine_tunes_the_encoder_first(train):
    tuned = XTransformer(**QUICK, index="pifa-neural").fit(train)
    plain = XTransformer(**QUICK).fit(train)
    _, vectors = seen(plain, train)  # the same training on the clusters of pifa-tfidf
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = train.Y.toarray() / np.sqrt(train.Y.sum(1).A)
    assert clusters_of(tuned) == clustered(shares.T @ unit, train)
