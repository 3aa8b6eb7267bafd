"""The full-label transformer: what it starts from."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError
from treetop.methods.flat_transformer import FlatTransformer
from treetop.tuning import tune

QUICK = {
    "encoder": tiny_bert(), "epochs": 1, "batch_size": 16, "max_length": 32, "device": "cpu", "threads": 1,
    "learning_rate": 1e-9, "rates": (), "dropout": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Dataset:
    data = Dataset.from_texts(*topic_texts(80, seed=0), source="train")
    return data.with_label_texts({name: name for name in data.labels})


def head(train, **settings) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases after steps so small that they are the first ones."""
    found = FlatTransformer(**(QUICK | settings)).fit(train).network.head
    return found.weight.detach().float().numpy(), found.bias.detach().numpy()


def test_biases_are_the_log_odds_of_the_frequencies(train):
    share = train.label_counts / len(train)
    for start in ("frequency", "pifa", "label-text"):
        assert np.allclose(head(train, start=start)[1], np.log(share / (1 - share)), atol=1e-5)
    assert np.allclose(head(train, start="random")[1], 0, atol=1e-6)


def test_vectors_of_the_texts_of_a_label(train):
    model = FlatTransformer(**QUICK)
    reader = model.config.new_reader(train.texts, threads=1)
    encoder, tokens = reader.encoder, reader.tokens(train.texts)
    from treetop.neural.batches import Examples
    from treetop.neural.encoder_network import text_vectors
    from treetop.neural.inference import InferenceSettings

    vectors = text_vectors(
        encoder, Examples(tokens), InferenceSettings(80, torch.device("cpu"), torch.float32)
    )
    centred = vectors - vectors.mean(0)
    means = np.array([centred[train.Y[:, label].toarray().ravel() > 0].mean(0) for label in range(6)])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True) / np.linalg.norm(centred, axis=1).mean()
    assert np.allclose(head(train, start="pifa")[0], expected, atol=1e-5)


def test_vectors_of_the_labels_own_texts(train):
    W, _ = head(train, start="label-text")
    assert len({round(float(np.linalg.norm(row)), 5) for row in W}) == 1
    nameless = Dataset.from_texts(*topic_texts(80, seed=0), source="train")
    with pytest.raises(ConfigError, match="start=label-text needs texts of the labels"):
        head(nameless, start="label-text")


# -- the rankers ---------------------------------------------------------------------------------------------

LEARNING = QUICK | {"epochs": 8, "learning_rate": 1e-3, "rates": ("head=0.05",)}


def test_scores_are_those_of_rankers_and_head_by_their_shares(train):
    test = Dataset.from_texts(*topic_texts(20, seed=1), source="test")
    lists = {}
    for share in (0.0, 0.25, 1.0):
        found = FlatTransformer(**(LEARNING | {"head_share": share})).fit(train).predict(test, k=6)
        lists[share] = found.to_csr().toarray()
    alone = (
        FlatTransformer(**(LEARNING | {"rankers": False})).fit(train).predict(test, k=6).to_csr().toarray()
    )
    assert np.allclose(lists[1.0], alone, atol=1e-6)
    assert np.allclose(lists[0.25], 0.75 * lists[0.0] + 0.25 * lists[1.0], atol=1e-6)
    assert not np.allclose(lists[0.0], lists[1.0], atol=0.05)


def test_rankers_see_words_that_the_encoder_cuts_off(train):
    texts = [f"the boat and the wind {'the ' * 40}{word}" for word in ("regatta", "patisserie") * 10]
    data = Dataset.from_texts(texts, [["race"], ["cake"]] * 10)
    model = FlatTransformer(**(QUICK | {"max_length": 16})).fit(data)
    assert model.evaluate(data)["P@1"] == 100
    blind = FlatTransformer(**(QUICK | {"max_length": 16, "rankers": False})).fit(data)
    assert blind.evaluate(data)["P@1"] == 50


def test_a_trial_is_judged_with_its_rankers(train):
    values = {}
    for share in (0.0, 1.0):
        settings = {name: value for name, value in QUICK.items() if name != "dropout"} | {"head_share": share}
        space = {"transformer.dropout": (0.0,), "training.learning_rate": (1e-9,), "epochs": (1,)}
        del settings["learning_rate"], settings["epochs"]
        tuning = tune("flat-transformer", train, trials=1, settings=settings, space=space)
        values[share] = tuning.best.value
    assert values[0.0] > values[1.0] + 30  # the network has learned nothing
