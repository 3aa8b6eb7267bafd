"""CascadeXML: levels, what is sampled, and scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from test_lightxml import positives_of
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError, DataError
from treetop.methods.cascade_analysis import level_recall
from treetop.methods.cascadexml import usual_clusters
from treetop.neural.batches import Positives
from treetop.neural.cascade_head import CascadeHead, distinct
from treetop.neural.cascade_network import usual_taps

PARENTS = [np.zeros(3, np.int64), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 2, 2, 3, 4, 5, 5])]


def head(**settings) -> CascadeHead:
    torch.manual_seed(0)
    given = {"beam": [2, 2], "dropouts": [0.0] * 3, "score": "weighted"} | settings
    made = CascadeHead(4, PARENTS, **given).eval()
    for level in made.levels:
        torch.nn.init.normal_(level.bias)
    return made


def logits(made: CascadeHead, vectors: list[torch.Tensor]) -> list[torch.Tensor]:
    seen = [made.project(vectors[0]), *vectors[1:]]
    return [v @ level.weight.T + level.bias for v, level in zip(seen, made.levels, strict=True)]


def vectors_of(texts: int) -> list[torch.Tensor]:
    return [torch.randn(texts, 8), torch.randn(texts, 4), torch.randn(texts, 4)]


def test_every_ancestor_counts_once():
    found = distinct(positives_of([1, 1, 2], [0]), 3)
    assert found.weights.tolist() == [1, 0, 1, 1, 0]
    one = distinct(Positives(torch.tensor([0]), torch.tensor([0]), torch.tensor([0.0])), 3)
    assert one.weights.tolist() == [0]


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 3.0]])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_loss_by_hand(weights, reduction, sparse):
    made = head(weights=weights, reduction=reduction, sparse=sparse)
    vectors, rows = vectors_of(2), ([0, 1, 8], [3])
    z = logits(made, vectors)
    expected = 0.0
    for text, own in enumerate(rows):
        true = [set(), set(), set(own)]
        for level in (2, 1):
            true[level - 1] = {int(PARENTS[level][node]) for node in true[level]}
        candidates = [0, 1, 2]
        for level in range(3):
            factor = (weights or [1, 1, 1])[level] / (len(candidates) if reduction == "mean" else 1)
            for node in candidates:
                sign = 1 if node in true[level] else -1
                lost = torch.nn.functional.softplus(-sign * z[level][text, node])
                expected += factor * float(lost.detach())
            if level < 2:
                order = sorted(candidates, key=lambda n: -float(z[level][text, n].detach()))
                rest = [node for node in order if node not in true[level]]
                kept = true[level] | set(rest[: max(0, 2 - len(true[level]))])
                candidates = [n for n, parent in enumerate(PARENTS[level + 1]) if int(parent) in kept]
    assert made.loss(vectors, positives_of(*rows)).item() == pytest.approx(expected / 2, rel=1e-5)


def test_sparse_gradients_are_the_dense_ones():
    dense, sparse = head(beam=[1, 1]), head(beam=[1, 1], sparse=True)
    sparse.load_state_dict(dense.state_dict())
    vectors, positives = vectors_of(2), positives_of([0, 1], [4])
    losses = [made.loss(vectors, positives) for made in (dense, sparse)]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-6)
    for loss in losses:
        loss.backward()
    for number, rows in enumerate([None, [0, 1, 2, 3], [0, 1, 3, 4]]):
        expected, found = (made.level(number).weight.grad for made in (dense, sparse))
        assert found.is_sparse == (number > 0)
        if rows is not None:
            assert found.coalesce().indices()[0].tolist() == rows
            found = found.to_dense()
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(sparse.level(number).bias.grad, dense.level(number).bias.grad)


def test_scores_begin_with_frequencies():
    """Children of beams of 2 among 3 and 6 are listed in 20 or 10 of 30 texts, or as often as a node is."""
    made = head()
    counts = [np.array([25, 10, 6]), np.array([20, 12, 6, 4, 3, 3]), np.array([15, 5, 12, 3, 3, 4, 3, 1, 2])]
    made.start(counts, 30)
    trials = [
        np.full(3, 30),
        np.array([25, 25, 20, 20, 20, 20]),
        np.array([20, 20, 12, 10, 10, 10, 10, 10, 10]),
    ]
    for level, own, listed in zip(made.levels, counts, trials, strict=True):
        expected = np.log(own / np.maximum(listed - own, 0.5))
        torch.testing.assert_close(level.bias.data, torch.from_numpy(expected.astype(np.float32)))


def test_nodes_are_counted_level_by_level():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "taps": "1-1-2", "clusters": "2"}
    model = treetop.make("cascadexml", **settings).fit(train)
    above, own = model.clusters.counts(train.Y)
    assert own.tolist() == train.label_counts.tolist()
    rows = [set(model.clusters.parents[-1][row.indices]) for row in train.Y]
    assert above.tolist() == [sum(node in row for row in rows) for node in range(2)]


def test_no_node_outside_the_beam_is_sampled():
    """One of three nodes is in the beam, and has two children: no more are there for the next level."""
    made, vector = head(beam=[1, 6]), torch.randn(2, 4)
    above = torch.tensor([[True, False, False], [False, False, True]])
    found = made._sampled(1, vector, above, positives_of([1], [4]))
    assert found.tolist() == [[True, True, False, False, False, False], [False] * 4 + [True, True]]


@pytest.mark.parametrize("score", ["weighted", "level", "path"])
def test_scores_by_hand(score):
    made, vectors = head(score=score), vectors_of(3)
    p = [torch.sigmoid(z).detach() for z in logits(made, vectors)]
    for text in range(3):
        first = p[0][text].topk(2)[1].tolist()
        inside = [n for n in range(6) if int(PARENTS[1][n]) in first]
        second = sorted(inside, key=lambda n: -float(p[1][text, n]))[:2]
        values = {}
        for label in range(9):
            node = int(PARENTS[2][label])
            if node in second:
                above = float(p[1][text, node])
                factor = {
                    "weighted": above,
                    "level": 1.0,
                    "path": above * float(p[0][text, PARENTS[1][node]]),
                }
                values[label] = float(p[2][text, label]) * factor[score]
        best = sorted(values, key=lambda label: -values[label])[:2]
        scores, labels = made.top([v[text : text + 1] for v in vectors], 2)
        assert labels[0].tolist() == best
        assert scores[0].tolist() == pytest.approx([values[label] for label in best], rel=1e-5)


@pytest.mark.parametrize(
    ("levels", "depth", "expected"),
    [
        (4, 12, [5, 6, 8, 10, 12]),
        (3, 12, [9, 10, 11, 12]),
        (3, 6, [3, 4, 5, 6]),
        (4, 6, [2, 3, 4, 5, 6]),
        (5, 12, [1, 2, 5, 7, 10, 12]),
        (5, 4, [1, 1, 1, 2, 3, 4]),
    ],
)
def test_taps_scale_with_the_encoder(levels, depth, expected):
    assert usual_taps(levels, depth) == expected


@pytest.mark.parametrize(
    ("labels", "expected"), [(32, ()), (33, (2,)), (19_348, (1024,)), (670_091, (1024, 8192, 65536))]
)
def test_usual_clusters(labels, expected):
    assert usual_clusters(labels) == expected


@pytest.mark.parametrize("clusters", ["", "2-3"])
def test_a_model_is_what_it_was_when_loaded(clusters, tmp_path):
    train = Dataset.from_texts(*topic_texts(200, seed=0), source="train")
    settings = {
        "encoder": tiny_bert(),
        "rankers": False,
        "epochs": 2,
        "max_length": 16,
        "cluster_beam": "2",
        "clusters": clusters or (),
    }
    model = treetop.make("cascadexml", **settings, taps="1-2" if not clusters else "1-1-2-2").fit(train)
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model")
    expected, found = (m.predict(train.texts, k=3).to_csr() for m in (model, again))
    assert np.allclose(expected.toarray(), found.toarray(), atol=1e-6)
    assert again.clusters.sizes == model.clusters.sizes


def test_a_step_moves_only_labels_that_it_has_scored():
    train = Dataset.from_texts(*topic_texts(200, seed=0), source="train")
    settings = {
        "encoder": tiny_bert(), "epochs": 4, "max_length": 16, "clusters": "4", "taps": "1-1-2",
        "cluster_beam": "1", "sparse": True, "rankers": False, "learning_rate": 1e-3, "rates": ("head=0.02",),
        "pooling": "mean", "batch_size": 16,
    }  # fmt: skip
    model = treetop.make("cascadexml", **settings).fit(train)
    assert model.training_log["epochs"][-1]["loss"] < 0.6 * model.training_log["epochs"][0]["loss"]
    with pytest.raises(ConfigError, match="sparse=true needs head_bits=32"):
        treetop.make("cascadexml", sparse=True, head_bits=16)


def test_weights_of_levels_and_means_reach_the_head():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "taps": "1-1-2", "clusters": "2"}
    settings["rankers"] = False
    model = treetop.make("cascadexml", **settings, level_weights="0.5,2,3", reduction="mean").fit(train)
    assert model.network.head.weights == [2, 3]  # a list is for the lowest levels
    assert {level.reduction for level in model.network.head.levels} == {"mean"}
    usual = treetop.make("cascadexml", **settings).fit(train).network.head
    assert usual.weights == [1, 1] and {level.reduction for level in usual.levels} == {"sum"}
    for bad, message in (("0", "level_weights must be above 0"), ("", "need at least one entry")):
        with pytest.raises(ConfigError, match=message):
            treetop.make("cascadexml", level_weights=bad)


def test_taps_must_fit():
    train = Dataset.from_texts(*topic_texts(50, seed=0), source="train")
    with pytest.raises(ConfigError, match="taps: there is no layer 3, the encoder has 2"):
        treetop.make("cascadexml", encoder=tiny_bert(), max_length=16, taps="2-3").fit(train)
    with pytest.raises(ConfigError, match="taps must name 2 layers, one more than the levels, not 1"):
        treetop.make("cascadexml", encoder=tiny_bert(), max_length=16, taps="2").fit(train)
    with pytest.raises(ConfigError, match="no level can use an earlier layer than the level above it"):
        treetop.make("cascadexml", taps="3-1-2")
    with pytest.raises(ConfigError, match="increase from level to level"):
        treetop.make("cascadexml", clusters="8-4")


def test_recall_of_levels_by_hand():
    made, vectors, rows = head(), vectors_of(3), ([0, 1, 8], [3], [])
    p = [torch.sigmoid(z).detach() for z in logits(made, vectors)]
    expected = []
    for text, own in enumerate(rows):
        first = set(p[0][text].topk(2)[1].tolist())
        inside = [n for n in range(6) if int(PARENTS[1][n]) in first]
        second = set(sorted(inside, key=lambda n: -float(p[1][text, n]))[:2])
        labels = {n for n in range(9) if int(PARENTS[2][n]) in second}
        middle = {int(PARENTS[2][label]) for label in own}
        true = {int(PARENTS[1][node]) for node in middle}, middle, set(own)
        chosen = first, second, labels
        expected.append([[len(t), len(t & c), len(c)] for t, c in zip(true, chosen, strict=True)])
    found = made.recalled(vectors, positives_of(*rows))
    assert found.tolist() == expected
    assert 0 < sum(level[1] for text in expected for level in text) < 7  # some are found, and some are not


def test_recall_of_levels_of_a_model():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "batch_size": 16, "device": "cpu"}
    settings["rankers"] = False
    shape = {"clusters": "2-3", "taps": "1-1-2-2"}
    model = treetop.make("cascadexml", **settings, **shape, cluster_beam="1").fit(train)
    levels = level_recall(model, train)
    assert [(level["level"], level["nodes"]) for level in levels] == [(1, 2), (2, 3), (3, 6)]
    assert levels[0]["chosen"] == levels[1]["chosen"] == 1 and 1 <= levels[2]["chosen"] <= 3
    # Labels that have a score above 0 are those of the chosen clusters.
    listed = model.predict(train, k=6).above(0).to_csr() > 0
    assert levels[2]["chosen"] == listed.sum() / 60
    assert levels[2]["recall"] == pytest.approx(100 * listed.multiply(train.Y > 0).sum() / train.Y.nnz)
    texts, labels = topic_texts(60, seed=0)
    other = Dataset.from_texts(texts, [[*names, "juggling"] for names in labels])
    assert level_recall(model, other) == levels  # a label unknown to the model counts for nothing
    whole = treetop.make("cascadexml", **settings, **shape, cluster_beam="8").fit(train)
    assert [level["recall"] for level in level_recall(whole, train)] == [100] * 3
    flat = treetop.make("cascadexml", **settings, clusters="100", taps="1-2").fit(train)
    assert level_recall(flat, train) == [{"level": 1, "nodes": 6, "chosen": 6, "recall": 100}]


def test_recall_needs_labels():
    train = Dataset.from_texts(*topic_texts(30, seed=0), source="train")
    model = treetop.make("cascadexml", encoder=tiny_bert(), epochs=1, max_length=16, taps="1-2").fit(train)
    for data, message in (
        (["boat"], "needs a labelled Dataset"),
        (Dataset.from_texts(["boat"]), "needs labelled texts"),
        (Dataset.from_texts(["boat"], [["juggling"]]), "no text has a label that the model knows"),
    ):
        with pytest.raises(DataError, match=message):
            level_recall(model, data)


def test_clusters_of_labels_by_their_own_texts():
    """A label that no text has is in the data, not in the network: rows must not be mixed up."""
    words = {"a": "boat wind", "b": "boat sail", "c": "snow slope", "d": "snow lift", "e": "the"}
    texts = [f"{words[x]} and {words[y]}" for x, y in ("ac", "ad", "bc", "bd")] * 5
    labels = [[x, y] for x, y in ("ac", "ad", "bc", "bd")] * 5
    train = Dataset.from_texts([*texts, "the"], [*labels, ["0"]], source="train").with_label_texts(words)
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "clusters": "2", "rankers": False}
    by_text = {"tree.vectors": "label-text"}
    model = treetop.make("cascadexml", **settings, **by_text).fit(train[: len(texts)])
    names = [model.labels[at] for at in model.used]
    clusters = dict(zip(names, model.clusters.parents[-1].tolist(), strict=True))
    assert names == list("abcd") and clusters["a"] == clusters["b"] != clusters["c"] == clusters["d"]
    with pytest.raises(ConfigError, match=r"tree\.vectors=label-text needs .* label texts"):
        bare = Dataset.from_texts(texts, labels, source="train")
        treetop.make("cascadexml", **settings, **by_text).fit(bare)
