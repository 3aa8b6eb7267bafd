"""LightXML: clusters, what is sampled, and the product of two scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError
from treetop.methods.lightxml import clusters_of_size
from treetop.neural import heads
from treetop.neural.batches import Positives
from treetop.neural.cluster_head import ClusterHead
from treetop.neural.heads import LabelHead

CLUSTER_OF = np.array([0, 1, 1, 2, 0, 2, 3], np.int64)


def positives_of(*rows: list[int]) -> Positives:
    """One place is left over, as in batches."""
    texts = [text for text, labels in enumerate(rows) for _ in labels] + [0]
    labels = [label for labels in rows for label in labels] + [0]
    weights = [1.0] * (len(labels) - 1) + [0.0]
    return Positives(torch.tensor(texts), torch.tensor(labels), torch.tensor(weights))


def head(**settings) -> ClusterHead:
    torch.manual_seed(0)
    made = ClusterHead(5, CLUSTER_OF, **({"hidden": 3, "activation": "none", "beam": 2} | settings))
    torch.nn.init.normal_(made.labels.bias)
    return made


def by_hand(made: ClusterHead, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of all clusters and of all labels."""
    narrow = vectors @ made.hidden.weight.T + made.hidden.bias
    if made.activation == "sigmoid":
        narrow = torch.sigmoid(narrow)
    clusters = vectors @ made.clusters.weight.T + made.clusters.bias
    return clusters, narrow @ made.labels.weight.T + made.labels.bias


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
def test_the_loss_by_hand(activation, reduction):
    made, vectors = head(activation=activation, reduction=reduction), torch.randn(3, 5)
    rows = [1, 2], [6], [0, 3, 6]
    clusters, labels = by_hand(made, vectors)
    expected = torch.zeros(())
    for text, own in enumerate(rows):
        true = {int(CLUSTER_OF[label]) for label in own}
        order = [int(c) for c in clusters[text].argsort(descending=True) if int(c) not in true]
        best = true | set(order[: max(0, 2 - len(true))])
        candidates = [label for label in range(7) if int(CLUSTER_OF[label]) in best]
        for logits, nodes, right in ((clusters, range(4), true), (labels, candidates, own)):
            signs = [1 if node in right else -1 for node in nodes]
            losses = [
                torch.nn.functional.softplus(-sign * logits[text, node])
                for sign, node in zip(signs, nodes, strict=True)
            ]
            expected += sum(losses) / (len(losses) if reduction == "mean" else 1)
    assert made.loss(vectors, positives_of(*rows)).item() == pytest.approx(expected.item() / 3, rel=1e-5)


def test_a_score_is_the_product_of_two():
    made, vectors = head(), torch.randn(4, 5)
    clusters, labels = (torch.sigmoid(part) for part in by_hand(made, vectors))
    for text in range(4):
        visited = set(clusters[text].topk(2)[1].tolist())
        products = [
            float((clusters[text, c] * labels[text, label]).detach()) if c in visited else -1.0
            for label, c in enumerate(CLUSTER_OF.tolist())
        ]
        scores, ids = made.top(vectors[text : text + 1], 3)
        best = sorted(range(7), key=lambda label: -products[label])[:3]
        assert scores[0].tolist() == pytest.approx([products[label] for label in best], rel=1e-5)
        assert all(
            products[label] < 0 or label == found for label, found in zip(best, ids[0].tolist(), strict=True)
        )


def test_few_labels_of_many_are_scored_alone(monkeypatch):
    torch.manual_seed(0)
    labels, factors = LabelHead(3, 40, "bce"), torch.full((2, 20), -1.0)
    torch.nn.init.normal_(labels.weight)
    factors[0, 4], factors[0, 7], factors[1, 9] = 0.5, 0.7, 0.9
    within, vectors = (factors, torch.arange(40) % 20), torch.randn(2, 3)
    alone = labels.top(vectors, 2, within)
    monkeypatch.setattr(heads, "FEW", 40)
    for few, all_labels in zip(alone, labels.top(vectors, 2, within), strict=True):
        torch.testing.assert_close(few, all_labels)


def test_gradients_reach_only_what_is_sampled():
    made, vectors = head(beam=1), torch.randn(1, 5)
    made.loss(vectors, positives_of([1, 2])).backward()
    assert set(np.flatnonzero(made.labels.weight.grad.abs().sum(1).numpy())) == {1, 2}


def test_scores_begin_with_frequencies():
    """Labels are listed in 50 of 100 texts (2 of 4 clusters), or as often as their cluster is true."""
    made = head()
    counts = np.array([60, 30, 8, 2]), np.array([40, 20, 20, 8, 30, 1, 2])
    made.start(counts, 100)
    clusters = torch.tensor([60 / 40, 30 / 70, 8 / 92, 2 / 98]).log()
    labels = torch.tensor([40 / 20, 20 / 30, 20 / 30, 8 / 42, 30 / 30, 1 / 49, 2 / 48]).log()
    torch.testing.assert_close(made.clusters.bias.data, clusters)
    torch.testing.assert_close(made.labels.bias.data, labels)


def test_sparse_gradients_are_the_dense_ones():
    dense, sparse = head(beam=1), head(beam=1, sparse=True)
    sparse.load_state_dict(dense.state_dict())
    vectors = torch.randn(2, 5)
    for made in (dense, sparse):
        made.loss(vectors, positives_of([1, 2], [6])).backward()
    gradient = sparse.labels.weight.grad.coalesce()
    assert gradient.indices()[0].tolist() == [1, 2, 6]
    torch.testing.assert_close(gradient.to_dense(), dense.labels.weight.grad)


@pytest.mark.parametrize("cluster_size", [1, 2])
def test_means_are_the_losses_of_torch(cluster_size):
    """Without clusters, that of the released code for small data sets: the mean over texts and labels."""
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "layers": 2, "rankers": False}
    model = treetop.make("lightxml", **settings, cluster_size=cluster_size, reduction="mean").fit(train)
    made = model.network.head
    assert made.of_labels.reduction == "mean"
    if cluster_size == 1:
        vectors, positives = torch.randn(2, made.weight.shape[1]), positives_of([1, 2], [5])
        targets = torch.zeros(2, 6).index_put_((positives.texts, positives.labels), positives.weights)
        expected = torch.nn.functional.binary_cross_entropy_with_logits(
            vectors @ made.weight.T + made.bias, targets
        )
        assert made.loss(vectors, positives).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(("labels", "expected"), [(19_348, 0), (50_000, 0), (50_001, 512), (670_091, 8192)])
def test_few_labels_have_no_clusters(labels, expected):
    assert sum(treetop.make("lightxml")._cluster_sizes(labels)) == expected


@pytest.mark.parametrize(
    ("labels", "most"), [(19_348, 100), (670_091, 100), (100, 100), (101, 100), (7, 2), (3, 5)]
)
def test_sizes_of_clusters(labels, most):
    count = clusters_of_size(labels, most)
    assert labels / count <= most and (count == 1 or labels / count > most / 2)


def test_what_does_not_fit():
    with pytest.raises(ConfigError, match="dropout_steps needs negatives=dynamic: leave out dropout_steps"):
        treetop.make("lightxml", dropout_steps=3, negatives="static")
    with pytest.raises(ConfigError, match=r"there is no setting 'tree\.leaf_size'"):
        treetop.make("lightxml", **{"tree.leaf_size": 20})
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "layers": 2, "cluster_size": 2}
    with pytest.raises(ConfigError, match="optimizer=sgd has no sparse gradients or 16-bit weights: set"):
        treetop.make("lightxml", **settings, sparse=True, optimizer="sgd").fit(train)


def test_rare_labels_may_weigh_more():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "layers": 2, "rankers": False}
    for size in (1, 2):
        model = treetop.make("lightxml", **settings, cluster_size=size, label_weights="propensity").fit(train)
        weights = model.network.head.of_labels.label_weights.numpy()
        assert np.all(np.diff(weights[np.argsort(train.label_counts, kind="stable")]) <= 1e-6)


def test_clusters_of_labels_are_saved(tmp_path):
    train = Dataset.from_texts(*topic_texts(200, seed=0), source="train")
    settings = {
        "encoder": tiny_bert(),
        "rankers": False,
        "epochs": 2,
        "max_length": 16,
        "layers": 2,
        "cluster_size": 2,
        "hidden": 8,
    }
    model = treetop.make("lightxml", **settings).fit(train)
    sizes = np.bincount(model.clusters.parents[-1])
    assert sizes.max() <= 2 and sizes.min() >= 1
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model")
    assert all(map(np.array_equal, again.clusters.parents, model.clusters.parents))
    whole = treetop.make("lightxml", **(settings | {"cluster_size": 1})).fit(train)
    assert len(whole.clusters) == 1 and len(whole.predict(train.texts, k=3)) == len(train)


def test_a_shallow_encoder_with_the_default_of_five_layers(tmp_path):
    texts, labels = topic_texts(40, seed=0)
    model = treetop.LightXML(
        encoder=tiny_bert(), epochs=1, max_length=16, rankers=False, device="cpu", cluster_size=2
    )
    assert model.config.transformer.layers == 5
    before = model.fit(texts, labels).predict(texts[:3])
    model.save(tmp_path / "model")
    after = treetop.load(tmp_path / "model").predict(texts[:3])
    assert np.array_equal(before.indices, after.indices) and np.array_equal(before.scores, after.scores)
