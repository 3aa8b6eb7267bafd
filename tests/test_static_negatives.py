"""LightXML with static negatives: two stages, and which weights move in each."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from test_encoder_ranker import vectors_of
from test_lightxml import CLUSTER_OF, by_hand, head, positives_of
from tiny_bert import WIDTH, tiny_bert
from treetop import Dataset, checkpoints
from treetop.errors import ConfigError
from treetop.methods.lightxml import LightXML
from treetop.neural.batches import Examples
from treetop.neural.inference import InferenceSettings
from treetop.neural.losses import Shortlist
from treetop.neural.static_negatives import StaticNegatives, fixed_clusters

QUICK = {
    "encoder": tiny_bert(), "epochs": 2, "batch_size": 16, "max_length": 16, "layers": 2, "cluster_size": 2,
    "hidden": 8, "cluster_beam": 2, "device": "cpu", "threads": 1, "learning_rate": 1e-3,
    "rankers": False,
}  # fmt: skip
KINDS = ["static", "static-own"]


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0), source="train")


def weights(part: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in part.state_dict().items()}


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, second[name]) for name, value in first.items())


def test_the_two_losses_add_up_to_that_of_dynamic_negatives():
    made, vectors, positives = head(), torch.randn(3, 5), positives_of([1, 2], [6], [0, 3, 6])
    sampled = made.sampled(vectors, positives)
    parts = made.cluster_loss(vectors, positives) + made.label_loss(vectors, positives, sampled)
    assert parts.item() == pytest.approx(made.loss(vectors, positives).item(), rel=1e-6)


def test_the_loss_of_labels_in_given_clusters_by_hand():
    made, vectors, rows, listed = head(), torch.randn(2, 5), ([1], [0, 6]), ({1, 2}, {0, 3})
    _, labels = by_hand(made, vectors)
    expected = 0.0
    for text, own in enumerate(rows):
        for label, cluster in enumerate(CLUSTER_OF.tolist()):
            if cluster in listed[text]:
                sign = 1 if label in own else -1
                expected += float(torch.nn.functional.softplus(-sign * labels[text, label]).detach())
    sampled = Shortlist.of(torch.tensor([[2, 3, 0], [1, 4, 0]]), made.cluster_of, 4).chosen
    found = made.label_loss(vectors, positives_of(*rows), sampled)
    assert found.item() == pytest.approx(expected / 2, rel=1e-5)


@pytest.mark.parametrize("negatives", KINDS)
def test_what_moves_in_which_stage(negatives, train, monkeypatch):
    seen = {}

    def watched(stage: str):
        begin = getattr(StaticNegatives, stage)

        def run(network: StaticNegatives) -> None:
            begin(network)
            seen[stage] = {name: weights(part) for name, part in parts(network).items()}

        return run

    def parts(network: StaticNegatives) -> dict[str, torch.nn.Module]:
        found = {"encoder": network.encoder, "clusters": network.head.clusters}
        found |= {"hidden": network.head.hidden, "labels": network.head.labels}
        return found if network.own is None else found | {"own": network.own}

    for stage in ("begin_clusters", "begin_labels"):
        monkeypatch.setattr(StaticNegatives, stage, watched(stage))
    network = treetop.make("lightxml", **QUICK, negatives=negatives).fit(train).network
    first, second, end = seen["begin_clusters"], seen["begin_labels"], parts(network)
    for name, part in end.items():
        moved_first = not same(first[name], second[name])
        moved_then = not same(second[name], weights(part))
        if name == "own":
            assert same(second["encoder"], second["own"]) and moved_then
        else:
            early = name in ("encoder", "clusters")
            assert (moved_first, moved_then) == (early, not early)
    assert ("own" in end) == (negatives == "static-own")


def test_a_frozen_transformer_drops_nothing_but_of_its_vectors(train):
    network = treetop.make("lightxml", **QUICK, negatives="static").fit(train).network.train()
    assert network.encoder.dropout.training and not network.encoder.transformer.training


def test_clusters_that_are_fixed_by_hand(train):
    model = treetop.make("lightxml", **(QUICK | {"cluster_beam": 1}), negatives="static").fit(train)
    network, place = model.network, torch.device("cpu")
    tokens = model.reader.tokens(train.texts)
    inference = InferenceSettings(7, place, torch.float32)
    found = fixed_clusters(network, Examples(tokens, train.Y), inference).toarray()
    (batch,) = Examples(tokens).batches([np.arange(len(train))], place)
    logits = network.head.clusters(network.encoder(batch)).detach().numpy()
    for text in range(len(train)):
        true = set(model.clusters.parents[-1][train.Y[text].indices].tolist())
        assert set(np.flatnonzero(found[text]).tolist()) == (true or {int(logits[text].argmax())})


def test_labels_have_an_encoder_of_their_own(train):
    model = treetop.make("lightxml", **QUICK, negatives="static-own").fit(train)
    network = model.network
    (batch,) = model._examples(train.texts).batches([np.arange(len(train))], torch.device("cpu"))
    clusters = torch.sigmoid(by_hand(network.head, network.encoder(batch))[0])
    labels = torch.sigmoid(by_hand(network.head, network.own(batch))[1])
    kept = torch.zeros_like(clusters).scatter_(1, *reversed(clusters.topk(2)))
    expected = (kept[:, model.clusters.parents[-1]] * labels).detach().numpy()
    assert np.allclose(model.predict(train, k=6).to_csr().toarray(), expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("negatives", KINDS)
def test_a_training_that_is_stopped_goes_on_to_the_same_end(negatives, train, tmp_path):
    settings = QUICK | {"negatives": negatives}
    whole = treetop.make("lightxml", **settings).fit(train)

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), checkpoints.keeping(tmp_path / "kept", resume=True):
        treetop.make("lightxml", **settings).fit(train, on_epoch=stop)
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        again = treetop.make("lightxml", **settings).fit(train)
    assert same(weights(whole.network), weights(again.network))
    assert [entry["stage"] for entry in again.training_log["epochs"]] == [1, 1, 2, 2]


def test_the_best_epoch_counts_those_of_both_stages(train, tmp_path, monkeypatch):
    figures = iter([80.0, 70.0])
    monkeypatch.setattr(LightXML, "_validator", lambda *_: lambda: {"P@1": next(figures)})
    with checkpoints.keeping(tmp_path / "kept", resume=False):
        model = treetop.make("lightxml", **QUICK, negatives="static").fit(train, validation=train)
        lines = (tmp_path / "kept" / "log.jsonl").read_text().splitlines()
    assert model.training_log["best_epoch"] == 3 and model.training_log["epochs"][2]["P@1"] == 80
    assert [json.loads(line)["stage"] for line in lines] == [1, 1, 2, 2]


@pytest.mark.parametrize("size", [0, 1, 6, 100])
def test_without_clusters_there_are_no_static_negatives(size, train):
    with pytest.raises(ConfigError, match="negatives=static needs clusters of labels, and there are none"):
        treetop.make("lightxml", **(QUICK | {"cluster_size": size}), negatives="static").fit(train)


def test_rankers_see_the_vectors_of_the_labels_encoder(train):
    model = treetop.make("lightxml", **(QUICK | {"rankers": True}), negatives="static-own").fit(train)
    (batch,) = model._examples(train.texts).batches([np.arange(len(train))], torch.device("cpu"))
    found = vectors_of(model, model._examples(train.texts))
    own = model.network.own(batch).detach().numpy()
    assert np.allclose(found, own[:, -WIDTH:], atol=1e-5)
