"""Transformers on a GPU. Skipped without one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")

QUICK = {
    "encoder": tiny_bert(), "epochs": 4, "batch_size": 32, "max_length": 32, "device": "cuda",
    "learning_rate": 1e-3, "rates": ("head=0.02",), "dropout": 0,
}  # fmt: skip


SMALL = {
    "flat-transformer": {},
    "lightxml": {
        "layers": 2,
        "pooling": "mean",
        "cluster_size": 2,
        "cluster_beam": 2,
        "hidden": 16,
        "epochs": 8,
    },
    "cascadexml": {"pooling": "mean", "clusters": (2,), "cluster_beam": (2,), "dropouts": (0.0,)},
}
"""Clusters where labels are as few as in the tests, and no dropout."""


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(400, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


def fitted(method: str, train: Dataset, **settings) -> treetop.Method:
    return treetop.make(method, **(QUICK | settings)).fit(train)


def losses(model) -> list[float]:
    return [entry["loss"] for entry in model.training_log["epochs"]]


@pytest.mark.parametrize("method", ["flat-transformer", "lightxml", "cascadexml"])
@pytest.mark.parametrize(
    "settings", [{"graphs": True}, {"compile": True}, {"compile": True, "graphs": False}]
)
def test_recorded_and_compiled_steps_train_as_plain_ones(train, method, settings):
    settings = {"precision": "fp32", "rankers": False} | SMALL[method] | settings
    plain = fitted(method, train, **(settings | {"graphs": False, "compile": False}))
    other = fitted(method, train, **settings)
    assert losses(other) == pytest.approx(losses(plain), rel=2e-3)


@pytest.mark.parametrize("method", ["lightxml", "cascadexml"])
def test_recorded_means_over_candidates_train_as_plain_ones(train, method):
    settings = {"precision": "fp32", "rankers": False, "reduction": "mean"} | SMALL[method]
    plain, recorded = (fitted(method, train, **settings, graphs=graphs) for graphs in (False, True))
    assert losses(recorded) == pytest.approx(losses(plain), rel=2e-3)


def test_replayed_steps_are_judged_as_they_are(train, test):
    """The encoder's copy for predictions is rebuilt after each epoch, whatever runs in between."""
    whole = train[: len(train) // 32 * 32]  # no batch is short: every step of later epochs is a replay
    model = treetop.make("flat-transformer", **(QUICK | {"rankers": False, "precision": "bf16"}))
    model.fit(whole, validation=test)
    assert model.training_log["epochs"][-1]["P@1"] == pytest.approx(model.evaluate(test)["P@1"], abs=3)
    assert model.training_log["epochs"][-1]["P@1"] > 90


METHODS = ["flat-transformer", "xr-transformer", "x-transformer", "lightxml", "cascadexml"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_in_bf16(train, test, method):
    assert fitted(method, train, **SMALL.get(method, {})).evaluate(test)["P@1"] > 90


@pytest.mark.parametrize("method", METHODS)
def test_a_loaded_model_and_the_processor_give_the_same_answers(train, test, method, tmp_path):
    model = fitted(method, train, precision="fp32", **SMALL.get(method, {}))
    there = model.predict(test, k=6).to_csr().toarray()
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model").predict(test, k=6).to_csr().toarray()
    assert np.abs(there - again).max() < 1e-4
    here = treetop.load(tmp_path / "model", device="cpu").predict(test, k=6).to_csr().toarray()
    narrow = treetop.load(tmp_path / "model", device="cpu", int8=True).predict(test, k=6).to_csr().toarray()
    assert np.abs(there - here).max() < 1e-2
    assert np.abs(there - narrow).mean() < 0.02


def test_16_bit_weights_of_labels_learn(train, test):
    assert fitted("flat-transformer", train, rankers=False, head_bits=16).evaluate(test)["P@1"] > 90
