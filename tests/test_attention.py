"""The parts of AttentionXML: the bidirectional LSTM and the label-wise attention."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional

import treetop
from test_contract import topic_texts
from treetop import Dataset, checkpoints
from treetop.methods.attention_xml import AttentionXML, shortlisted
from treetop.neural import attention_network
from treetop.neural.attention_network import (
    AttentionConfig,
    AttentionLevels,
    AttentionNetwork,
    children_table,
)
from treetop.neural.batches import Batch, Positives
from treetop.neural.bilstm import BiLSTM
from treetop.neural.label_attention import LabelAttention
from treetop.tree.label_clusters import LabelClusters

LENGTHS = torch.tensor([5, 1, 3])
SMALL = AttentionConfig(hidden=3, scorer=(5,))


def test_both_ways_are_those_of_packed_texts():
    torch.manual_seed(0)
    ours, theirs = BiLSTM(4, 3), nn.LSTM(4, 3, batch_first=True, bidirectional=True)
    for name, value in ours.forth.named_parameters():
        getattr(theirs, name).data.copy_(value)
    for name, value in ours.back.named_parameters():
        getattr(theirs, f"{name}_reverse").data.copy_(value)
    nn.init.normal_(ours.first)
    words = torch.randn(3, 6, 4)
    packed = nn.utils.rnn.pack_padded_sequence(words, LENGTHS, batch_first=True, enforce_sorted=False)
    start = tuple(ours.first[:, part][:, None].expand(-1, 3, -1).contiguous() for part in (0, 1))
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed, start)[0], batch_first=True, total_length=6)
    inside = torch.arange(6) < LENGTHS[:, None]
    found = ours(words, LENGTHS)
    assert torch.allclose(found[inside], expected[inside], atol=1e-6)
    other = words.clone()
    other[~inside] = 100.0  # padding has no say
    assert torch.allclose(ours(other, LENGTHS)[inside], found[inside], atol=1e-6)


def test_attention_by_hand():
    torch.manual_seed(0)
    attention, states = LabelAttention(4, 7, [5, 3]), torch.randn(3, 6, 4)
    found = attention(states, LENGTHS)
    for text, length in enumerate(LENGTHS.tolist()):
        H = states[text, :length]
        for label in range(7):
            shares = torch.softmax(H @ attention.looks.weight[label], 0)
            expected = attention.scorer((shares[:, None] * H).sum(0))
            assert torch.allclose(found[text, label], expected, atol=1e-5)
    candidates = torch.tensor([[0, 6], [3, 3], [5, 1]])
    some = attention(states, LENGTHS, candidates)
    assert torch.allclose(some, found.gather(1, candidates), atol=1e-5)


def test_a_text_without_words_has_scores():
    attention = LabelAttention(4, 2, [3])
    assert attention(torch.zeros(1, 1, 4), torch.tensor([0])).isfinite().all()


def test_children_and_candidates_by_hand():
    parents = np.array([1, 0, 1, 1, 2])
    assert children_table(parents).tolist() == [[1, -1, -1], [0, 2, 3], [4, -1, -1]]
    network = AttentionNetwork(nn.Embedding(9, 4), SMALL, parents, first=False)
    nodes, inside = network.candidates(torch.tensor([[2, 0], [3, 1]]))  # 1 + the number of a parent
    assert nodes[inside].tolist() == [0, 2, 3, 4, 1]
    assert inside.tolist() == [[True] * 3 + [False] * 3, [True, False, False] * 2]


def batch_of(rng, lengths, positives, parents=None):
    tokens = torch.from_numpy(rng.integers(1, 9, (len(lengths), max(lengths))))
    texts, labels = (torch.tensor(values) for values in zip(*positives, strict=True))
    marks = Positives(texts, labels, torch.ones(len(texts)))
    return Batch(tokens, torch.tensor(lengths), torch.arange(len(lengths)), marks, parents)


def test_loss_is_the_sum_over_candidates():
    torch.manual_seed(0)
    parents = np.array([1, 0, 1, 1, 2])
    network = AttentionNetwork(nn.Embedding(9, 4), SMALL, parents, first=False).eval()
    batch = batch_of(
        np.random.default_rng(0), [3, 2], [(0, 3), (1, 1)], parents=torch.tensor([[2, 0], [1, 3]])
    )
    scores = network.attention(network.states(batch), batch.lengths)
    terms = [(0, 0, 0.0), (0, 2, 0.0), (0, 3, 1.0), (1, 1, 1.0), (1, 4, 0.0)]
    expected = (
        sum(
            functional.binary_cross_entropy_with_logits(scores[text, node], torch.tensor(target))
            for text, node, target in terms
        )
        / 2
    )
    assert torch.allclose(network(batch), expected, atol=1e-6)


def test_levels_have_the_loss_of_the_last_one_searched():
    torch.manual_seed(0)
    top = AttentionNetwork(nn.Embedding(9, 4), SMALL, np.zeros(3, np.int64), first=True)
    below = AttentionNetwork(nn.Embedding(9, 4), SMALL, np.array([1, 0, 1, 1, 2]), first=False)
    levels = AttentionLevels([top, below], beam=2).eval()
    batch = batch_of(
        np.random.default_rng(0), [3, 2], [(0, 2), (1, 1)], parents=torch.tensor([[2, 0], [1, 3]])
    )
    losses = [top(batch), below(batch)]
    assert losses[0] != losses[1]
    assert levels(batch) == losses[1]
    levels.depth = 1
    assert levels(batch) == losses[0]


def test_all_nodes_in_blocks_are_the_same(monkeypatch):
    torch.manual_seed(0)
    network = AttentionNetwork(nn.Embedding(9, 4), SMALL, np.zeros(7, np.int64), first=True).eval()
    batch = batch_of(np.random.default_rng(1), [4, 2, 3], [(0, 3), (1, 1), (2, 6)])

    def loss_and_slopes():
        network.zero_grad()
        loss = network(batch)
        loss.backward()
        return [loss.detach(), *(weight.grad.clone() for weight in network.parameters())]

    whole = loss_and_slopes()
    monkeypatch.setattr(attention_network, "BLOCK", 3 * 4 * 2)
    for a, b in zip(whole, loss_and_slopes(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_scores_are_products_down_the_path():
    torch.manual_seed(0)
    words = nn.Embedding(9, 4)
    top = AttentionNetwork(words, SMALL, np.zeros(3, np.int64), first=True)
    parents = np.array([1, 0, 1, 1, 2])
    below = AttentionNetwork(nn.Embedding(9, 4), SMALL, parents, first=False)
    levels = AttentionLevels([top, below], beam=2).eval()
    batch = batch_of(np.random.default_rng(2), [3, 2], [(0, 3), (1, 1)])
    with torch.no_grad():
        upper = torch.sigmoid(top.attention(top.states(batch), batch.lengths))
        lower = torch.sigmoid(below.attention(below.states(batch), batch.lengths))
        scores, labels = levels.top(batch, 5)
    for text in range(2):
        kept = upper[text].topk(2)[1].tolist()
        expected = {
            label: float(upper[text, parent] * lower[text, label])
            for label, parent in enumerate(parents)
            if parent in kept
        }
        found = {
            int(label): float(score)
            for label, score in zip(labels[text], scores[text], strict=True)
            if score >= 0
        }
        assert found == pytest.approx(expected)
    levels.depth = 1
    assert torch.equal(levels.top(batch, 3)[0], upper.sort(dim=1, descending=True)[0])


def test_shortlists_hold_true_nodes_first():
    true = sparse.csr_matrix(np.array([[0, 1, 0, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]], np.float32))
    found = np.array([3, 0, 2, 2, 4, 1, 0, 1, 2])
    lists = shortlisted(true, np.array([0, 3, 6, 9]), found, 3)
    assert [row.indices.tolist() for row in lists] == [[0, 1, 3], [0, 1, 2], [0, 1, 4]]
    two = shortlisted(true, np.array([0, 3, 6, 9]), found, 2)
    assert [row.indices.tolist() for row in two] == [[1, 3], [1, 2], [0, 4]]


def test_odds_are_of_candidates_alone():
    model = treetop.make("attention-xml")
    model.clusters = LabelClusters((np.zeros(3, np.int64), np.array([1, 0, 1, 1, 2])))
    true = sparse.csr_matrix(np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]], np.float32))
    assert model._odds(true, None, 0) == pytest.approx(math.log(4 / 6))
    lists = sparse.csr_matrix(np.array([[0, 1, 0], [1, 0, 1]], np.float32))
    # The candidates of the first text are 0, 2, 3, of which 0 and 3 are right; those of the other, 1 and 4.
    assert model._odds(true, lists, 1) == pytest.approx(math.log(3 / 2))


SETTINGS = {
    "epochs": 24,
    "batch_size": 32,
    "hidden": 16,
    "scorer": (16,),
    "dimension": 24,
    "spread": 0.5,
    "learning_rate": 0.01,
}


SHORT = SETTINGS | {"epochs": 3, "dropout": 0.9, "average": "none", "device": "cpu"}
TREE = {"clusters": (3,), "cluster_beam": 2}


@pytest.mark.parametrize("settings", [{"flat": True}, TREE])
def test_epochs_are_judged_by_the_network_as_it_answers(settings):
    train = Dataset.from_texts(*topic_texts(100, seed=0), source="train")
    test = Dataset.from_texts(*topic_texts(40, seed=1), source="test")
    told = []
    model = treetop.make("attention-xml", **(SHORT | settings)).fit(
        train, validation=test, on_epoch=told.append
    )
    assert max(entry["P@1"] for entry in told) == pytest.approx(model.evaluate(test)["P@1"])
    assert len(told) == SHORT["epochs"]  # only of the level that is judged


def test_the_best_epoch_is_a_place_among_those_of_all_levels(tmp_path, monkeypatch):
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    figures = iter([50.0, 80.0, 70.0])
    monkeypatch.setattr(AttentionXML, "_validator", lambda *_: lambda: {"P@1": next(figures)})
    with checkpoints.keeping(tmp_path / "kept", resume=False):
        model = treetop.make("attention-xml", **(SHORT | TREE)).fit(train, validation=train)
        lines = (tmp_path / "kept" / "log.jsonl").read_text().splitlines()
    entries = model.training_log["epochs"]
    assert model.training_log["best_epoch"] == 5 and entries[4]["P@1"] == 80
    assert [json.loads(line) for line in lines] == entries
    assert [(entry["level"], entry["epoch"]) for entry in entries] == [
        (level, epoch) for level in (1, 2) for epoch in (1, 2, 3)
    ]
    assert (
        treetop.make("attention-xml", **(SHORT | TREE)).fit(train).training_log["best_epoch"] == 6
    )  # the last


@pytest.mark.parametrize("settings", [{"flat": True}, TREE])
def test_few_texts_are_read_at_a_time_on_a_processor(settings, monkeypatch):
    """The states of all words, and what every candidate sees of them, take memory."""
    train = Dataset.from_texts(*topic_texts(100, seed=0), source="train")
    model = treetop.make("attention-xml", **(SHORT | settings | {"epochs": 1, "batch_size": 50})).fit(train)
    forward, sizes = BiLSTM.forward, []

    def watched(self, words, lengths):
        sizes.append(len(words))
        return forward(self, words, lengths)

    monkeypatch.setattr(BiLSTM, "forward", watched)
    model.predict(train, k=3)
    assert sum(sizes) >= len(train) and max(sizes) == attention_network.ON_PROCESSOR


def test_parts_of_batches_add_up():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    plain = {"epochs": 1, "optimizer": "sgd", "learning_rate": 0.5, "dropout": 0, "embedding_dropout": 0}
    whole, parts = (
        treetop.make("attention-xml", **(SHORT | TREE | plain), micro_batch=size).fit(train)
        for size in (0, 5)
    )
    for name, value in whole.network.state_dict().items():
        torch.testing.assert_close(parts.network.state_dict()[name], value, atol=1e-5, rtol=1e-4)


def test_levels_without_a_warm_start_have_their_own_new_words():
    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings = SHORT | TREE | {"epochs": 1, "learning_rate": 1e-9, "spread": 0.01, "warm_start": False}
    model = treetop.make("attention-xml", **settings).fit(train)
    first, second = (model.network.level(number).words.weight for number in range(2))
    assert first.std() < 0.02 and second.std() < 0.02 and not torch.equal(first, second)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"flat": True}, {"clusters": (4,), "cluster_beam": 2}, {"clusters": (2, 4), "warm_start": False}],
)
def test_the_method_learns_and_comes_back(settings, tmp_path):
    train = Dataset.from_texts(*topic_texts(300, seed=0), source="train")
    test = Dataset.from_texts(*topic_texts(40, seed=1), source="test")
    model = treetop.make("attention-xml", **(SETTINGS | settings)).fit(train)
    assert model.evaluate(test)["P@1"] > 85
    levels = len(settings.get("clusters", ())) + 1
    assert [entry.get("level") for entry in model.training_log["epochs"][:: SETTINGS["epochs"]]] == [
        *range(1, levels + 1)
    ]
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model").predict(test)
    assert np.array_equal(again.scores, model.predict(test).scores)
    assert np.array_equal(again.indices, model.predict(test).indices)
