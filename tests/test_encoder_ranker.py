"""Linear rankers on TF-IDF and the vectors of a trained encoder, next to a network with a label tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from tiny_bert import WIDTH, tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError, ModelError
from treetop.features.joined import side_by_side
from treetop.methods import Method
from treetop.neural.device import chosen_device
from treetop.neural.encoder_network import vectors_and_labels
from treetop.neural.inference import InferenceSettings

QUICK = {
    "encoder": tiny_bert(), "epochs": 4, "batch_size": 16, "max_length": 32, "learning_rate": 1e-3,
    "device": "cpu", "threads": 1, "rankers": True,
}  # fmt: skip
METHODS = {
    "lightxml": {"cluster_size": 2, "cluster_beam": 2, "hidden": 8, "layers": 2},
    "cascadexml": {"clusters": (3,), "taps": (1, 2, 2), "cluster_beam": (2,)},
}
ONE_LEVEL = {"cluster_size": 1, "layers": 2}, {"clusters": (100,), "taps": (1, 2)}


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(80, seed=0), source="train")


def fitted(name: str, train: Dataset, **settings) -> Method:
    return treetop.make(name, **(QUICK | METHODS[name] | settings)).fit(train)


def scores(model: Method, data: Dataset) -> np.ndarray:
    return model.predict(data, k=6).to_csr().toarray()


@pytest.mark.parametrize("name", METHODS)
def test_scores_are_those_of_rankers_and_network_by_their_shares(name, train, tmp_path):
    test = Dataset.from_texts(*topic_texts(20, seed=1), source="test")
    found = {}
    for share in (0.0, 0.25, 1.0):
        model = fitted(name, train, head_share=share)
        assert not model.network_alone
        found[share] = scores(model, test)
    alone = fitted(name, train, rankers=False)
    assert alone.network_alone
    assert np.allclose(found[1.0], scores(alone, test), atol=1e-6)
    assert np.allclose(found[0.25], 0.75 * found[0.0] + 0.25 * found[1.0], atol=1e-6)
    assert not np.allclose(found[0.0], found[1.0], atol=0.05)
    model.save(tmp_path / "model")
    assert np.allclose(scores(treetop.load(tmp_path / "model"), test), found[1.0], atol=1e-6)


def vectors_of(model, examples) -> np.ndarray:
    """What the rankers see of the encoder."""
    inference = InferenceSettings(64, chosen_device("cpu"), torch.float32)
    layers = model.config.ranker_layers
    return vectors_and_labels(model.network, examples, 0, inference, layers=layers)[0]


def test_rankers_of_other_vectors_are_refused(train, tmp_path):
    model = fitted("lightxml", train)
    model.ranker.ranker.model.n_features += 16
    model.save(tmp_path / "model")
    with pytest.raises(
        ModelError,
        match=r"model: .* [\d,]+ features in its rankers, but its texts have [\d,]+: retrain the model",
    ):
        treetop.load(tmp_path / "model")


@pytest.mark.parametrize(("name", "settings"), list(zip(METHODS, ONE_LEVEL, strict=True)))
def test_without_clusters(name, settings, train):
    model = fitted(name, train, **settings)
    assert len(model.clusters) == 1 and len(model.predict(train, k=3)) == len(train)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cascadexml", {}),
        ("cascadexml", ONE_LEVEL[1]),
        ("lightxml", {}),
        ("lightxml", ONE_LEVEL[0]),
        ("lightxml", {"negatives": "static"}),
    ],
)
def test_rankers_see_texts_after_the_last_layer(name, settings, train):
    model = fitted(name, train, **({"pooling": "mean"} | settings))
    examples = model._examples(train.texts)
    vectors = vectors_of(model, examples)
    (batch,) = examples.batches([np.arange(len(train))], chosen_device("cpu"))
    last = model.network.encoder.after_layers(batch, [2])[0]
    assert np.allclose(vectors, last.detach().numpy(), atol=1e-5)


def test_rankers_see_as_many_layers_as_are_asked_for(train, tmp_path):
    model = fitted("lightxml", train, ranker_layers=2)
    examples = model._examples(train.texts)
    (batch,) = examples.batches([np.arange(len(train))], chosen_device("cpu"))
    both = model.network.eval().encoder(batch).detach().numpy()
    assert both.shape[1] == 2 * WIDTH
    assert np.allclose(vectors_of(model, examples), both, atol=1e-5)
    model.save(tmp_path / "model")
    assert np.array_equal(scores(treetop.load(tmp_path / "model"), train), scores(model, train))
    for name in ("flat-transformer", "cascadexml"):
        with pytest.raises(ConfigError, match="ranker_layers=2: the rankers cannot use more layers"):
            treetop.make(name, ranker_layers=2)


@pytest.mark.parametrize("flat", [{"one_vs_all": True}, {"ranking.tree.leaf_size": 100}])
def test_a_tree_of_one_level_is_dismec(flat, train, tmp_path):
    """DiSMEC's scores s of the same features, as exp(-max(0, 1 - s)³)."""
    model = fitted("cascadexml", train, head_share=0, **flat)
    assert model.ranker.ranker.model.tree.depth == 1
    vectors = vectors_of(model, model._examples(train.texts))
    features = side_by_side(model.ranker.ranker.features.tfidf.transform(train.texts), vectors)
    dismec = treetop.make("dismec").fit(features, train.Y)
    margins = dismec.predict(features, k=6).to_csr().toarray()
    assert np.allclose(scores(model, train), np.exp(-(np.maximum(0, 1 - margins) ** 3)), atol=1e-5)
    model.save(tmp_path / "model")
    assert np.array_equal(scores(treetop.load(tmp_path / "model"), train), scores(model, train))
    with pytest.raises(ConfigError, match="one_vs_all=true builds no label tree: leave out the settings"):
        treetop.make("cascadexml", one_vs_all=True, **{"ranking.tree.branching": 8})


def test_cascadexml_has_one_layer_for_each_level():
    for bad in ({"layers": 2}, {"pooling": "pooler"}):
        with pytest.raises(ConfigError, match="each level uses one layer"):
            treetop.make("cascadexml", **bad)
