"""PWCCA of layers, against whitened covariances, and of trained models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

import treetop
from test_contract import topic_texts
from tiny_bert import WIDTH, tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError, DataError
from treetop.methods.cascade_analysis import layer_similarity
from treetop.neural import layer_similarity as similarity
from treetop.neural.layer_similarity import layer_vectors, pwcca
from treetop.report.layers import draw_similarity

SETTINGS = {
    "encoder": tiny_bert(3), "epochs": 1, "max_length": 16, "batch_size": 16, "learning_rate": 1e-3,
    "rankers": False, "device": "cpu", "threads": 1,
}  # fmt: skip


def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    """Of a symmetric positive matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


def plain(X: np.ndarray, Y: np.ndarray) -> float:
    """The correlations are the singular values of Σ_xx^(-1/2) Σ_xy Σ_yy^(-1/2)."""
    X, Y = X - X.mean(0), Y - Y.mean(0)
    left, correlations, _ = np.linalg.svd(
        power(X.T @ X, -0.5) @ (X.T @ Y) @ power(Y.T @ Y, -0.5), full_matrices=False
    )
    directions = X @ power(X.T @ X, -0.5) @ left
    weights = [sum(abs(direction @ column) for column in X.T) for direction in directions.T]
    return float(np.average(correlations, weights=weights))


@pytest.mark.parametrize(("p", "q"), [(4, 4), (3, 5), (5, 3)])
def test_pwcca_is_that_of_whitened_covariances(p, q):
    rng = np.random.default_rng(p)
    X = rng.normal(size=(60, p)) * [1, 10, 0.1, 3, 2][:p] + 5
    Y = X[:, :2] @ rng.normal(size=(2, q)) + rng.normal(size=(60, q))
    assert pwcca(X, Y) == pytest.approx(plain(X, Y), rel=1e-9)
    assert 0.1 < pwcca(X, Y) < 0.99


def test_by_hand():
    """x_1 is y_1 and x_2 has nothing to do with Y: correlations 1 and 0, weights |x_1|² / |x_1| = 2 and 4."""
    X = np.array([[1, 2], [1, -2], [-1, 2], [-1, -2.0]])
    Y = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1.0]])
    assert pwcca(X, Y) == pytest.approx(2 / 6)
    assert pwcca(Y, X) == pytest.approx(1 / 2)


def test_linear_maps_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = X @ rng.normal(size=(4, 4)) + 2 * rng.normal(size=(80, 4))
    assert pwcca(X, X) == pytest.approx(1) and pwcca(X, X @ rng.normal(size=(4, 4)) + 7) == pytest.approx(1)
    assert pwcca(X, Y @ rng.normal(size=(4, 4)) - 3) == pytest.approx(pwcca(X, Y))
    assert pwcca(9 * X + 1, Y) == pytest.approx(pwcca(X, Y))
    # A direction that is a sum of others, as after layer normalisation, adds nothing.
    assert pwcca(X, np.column_stack([Y, Y.sum(1)])) == pytest.approx(pwcca(X, Y))


def test_matrices_that_do_not_fit():
    with pytest.raises(DataError, match="must have the same number of rows, not 3 and 4"):
        pwcca(np.eye(3), np.eye(4))
    with pytest.raises(DataError, match="all vectors are equal"):
        pwcca(np.ones((5, 2)), np.eye(5))


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_texts(*topic_texts(3 * WIDTH, seed=0), source="train")


@pytest.fixture(scope="module")
def model(data):
    shape = {"clusters": "2", "taps": "1-2-3", "pooling": "cls"}
    return treetop.make("cascadexml", **SETTINGS, **shape).fit(data)


def test_layers_of_a_model(model, data):
    found = layer_similarity(model, data.texts)
    assert found.layers == (1, 2, 3) and found.values.shape == (3, 3)
    assert found.to_same == pytest.approx(np.ones(3), abs=1e-6)
    assert (found.values[~np.eye(3, dtype=bool)] < 0.999).all() and (found.values > 0.2).all()
    assert found.to_next.tolist() == [found.values[0, 1], found.values[1, 2]]
    assert found.to_last.tolist() == found.values[:, 2].tolist()
    chosen = layer_similarity(model, data.texts, [3, 1])
    assert chosen.layers == (1, 3) and chosen.values.tolist() == found.values[::2, ::2].tolist()


def test_layers_before_training(model, data, monkeypatch):
    """The vectors are the states of the first token, by transformers alone."""
    seen = []
    monkeypatch.setattr(
        similarity,
        "layer_vectors",
        lambda *arguments: seen.append(layer_vectors(*arguments)) or seen[-1],
    )
    published = layer_similarity(model, data.texts, [3, 1], first="published", second="published")
    bert = transformers.AutoModel.from_pretrained(tiny_bert(3)).eval()
    (batch,) = model._examples(data.texts).batches([np.arange(len(data))], torch.device("cpu"))
    inside = torch.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    with torch.no_grad():
        states = bert(batch.tokens.long(), attention_mask=inside.long(), output_hidden_states=True)
    (vectors,) = seen
    for found, layer in zip(vectors, (1, 3), strict=True):
        assert np.allclose(found, states.hidden_states[layer][:, 0], atol=1e-5)
    assert published.values[0, 1] == pytest.approx(pwcca(*vectors))
    seen.clear()
    change = layer_similarity(model, data.texts, first="published")
    assert change.values[0, 2] == pytest.approx(pwcca(seen[0][0], seen[1][2]))
    assert (change.to_same < 0.9999).all() and change.to_same[0] > 0.5


def test_other_models(data):
    light = treetop.make("lightxml", **SETTINGS, layers=2).fit(data)
    assert layer_similarity(light, data.texts).layers == (1, 2, 3)
    for name, settings in (("kim-cnn", {"epochs": 1, "dimension": 4, "filters": 2}), ("xr-linear", {})):
        with pytest.raises(ConfigError, match=f"needs a model with a text encoder: {name} has none"):
            layer_similarity(treetop.make(name, **settings).fit(data), data.texts)


def test_what_does_not_fit(model, data):
    with pytest.raises(DataError, match=r"20 texts are too few .* of 32 dimensions: give more than 64"):
        layer_similarity(model, data.texts[:20])
    with pytest.raises(ConfigError, match="there is no layer 4: the encoder has 3"):
        layer_similarity(model, data.texts, [4])
    with pytest.raises(ConfigError, match="first and second must be one of trained, published, not 'before'"):
        layer_similarity(model, data.texts, first="before")


def test_a_picture(model, data, tmp_path):
    pytest.importorskip("matplotlib")
    similarity = layer_similarity(model, data.texts)
    draw_similarity({"cascadexml": similarity, "other": similarity}, tmp_path / "layers.svg")
    picture = (tmp_path / "layers.svg").read_text()
    assert all(word in picture for word in ("cascadexml", "other", "PWCCA with the last layer"))
    with pytest.raises(DataError, match="there is no similarity to draw"):
        draw_similarity({"cascadexml": layer_similarity(model, data.texts, 2)}, tmp_path / "layers.svg")
