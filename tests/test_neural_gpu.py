"""What only a GPU can show. Skipped without one."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from test_contract import topic_texts
from test_neural_training import QUICK, weights
from treetop import Dataset, make
from treetop.methods.xml_cnn import XMLCNN
from treetop.neural.training import Training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(400, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


def fitted(train, **settings) -> XMLCNN:
    return XMLCNN(**(QUICK | {"epochs": 3, "hidden": 16, "device": "cuda"} | settings)).fit(train)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clip": 0.5, "schedule": "linear"},
        {"adaptive_clip": True, "schedule": "cosine-ends", "warmup": 0.2},
        {"optimizer": "sgd"},
        {"average": "swa", "average_every": 5},
        {"beta1_cycle": (0.95, 0.85), "schedule": "cosine-ends", "warmup": 0.3, "cooldown": 0.3},
        {"clip": 0.2, "dropout_steps": 9},
    ],
)
def test_recorded_steps_train_as_plain_ones(train, settings):
    settings = {"precision": "fp32", "embedding_dropout": 0, "dropout": 0} | settings
    plain, recorded = (fitted(train, graphs=graphs, **settings) for graphs in (False, True))
    for name, value in weights(plain).items():
        torch.testing.assert_close(weights(recorded)[name], value, rtol=1e-2, atol=1e-3)
    logs = [model.training_log["epochs"] for model in (plain, recorded)]
    losses, clipped = (
        [[entry.get(name, 0) for entry in log] for log in logs] for name in ("loss", "clipped")
    )
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert clipped[0] == pytest.approx(clipped[1], abs=0.1)


def test_nothing_is_collected_while_a_step_is_recorded(train, monkeypatch):
    seen = []
    plain_step = Training.plain_step

    def watched(self, batch):
        seen.append((torch.cuda.is_current_stream_capturing(), gc.isenabled()))
        return plain_step(self, batch)

    monkeypatch.setattr(Training, "plain_step", watched)
    fitted(train)
    assert {(True, False), (False, True)} == set(seen)
    assert gc.isenabled()


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp32"])
def test_every_precision_learns(train, test, precision):
    model = fitted(train, epochs=30, dropout=0.1, precision=precision)
    assert model.evaluate(test)["P@1"] > 90


def test_the_processor_gives_the_same_answers(train, test, tmp_path):
    model = fitted(train, epochs=10, precision="fp32")
    there = model.predict(test, k=5)
    model.config = model.config.replace_settings({"device": "cpu"})
    here = model.predict(test, k=5)
    assert (there.indices == here.indices).mean() > 0.98
    assert abs(there.scores - here.scores).max() < 1e-3


@pytest.mark.parametrize("settings", [{}, {"clusters": (2,), "cluster_beam": 2}, {"dropout_steps": 5}])
def test_attention_learns_and_the_processor_gives_the_same_answers(train, test, settings):
    small = {
        "dimension": 12, "spread": 1, "batch_size": 16, "attention.hidden": 16, "attention.scorer": (16,),
        "epochs": 15, "learning_rate": 0.01, "device": "cuda",
    }  # fmt: skip
    model = make("attention-xml", **(small | settings)).fit(train)
    there = model.predict(test, k=5)
    assert model.evaluate(test)["P@1"] > 90
    model.config = model.config.replace_settings({"device": "cpu"})
    assert abs(there.to_csr() - model.predict(test, k=5).to_csr()).max() < 0.05  # bf16 there, 32 bits here


def test_deterministic_training_gives_the_same_bits(train):
    first, second = (fitted(train, deterministic=True) for _ in range(2))
    assert all(torch.equal(weights(second)[name], value) for name, value in weights(first).items())


@pytest.mark.parametrize("graphs", [False, True])
def test_steps_and_predictions_get_along_with_less_memory(train, graphs, monkeypatch):
    """Memory that does run out: no more than half of what the whole batches took, apart from the weights."""
    settings = {
        "filters": 8192, "batch_size": 256, "epochs": 6, "graphs": graphs, "precision": "fp32",
        "embedding_dropout": 0, "dropout": 0,
    }  # fmt: skip
    sizes = []
    backward = Training._backward

    def watched(self, batch, of):
        sizes.append(len(batch))
        return backward(self, batch, of)

    monkeypatch.setattr(Training, "_backward", watched)

    def course() -> tuple[list[float], np.ndarray, int]:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        sizes.clear()
        model = fitted(train, **settings)
        scores = model.predict(train, k=3).scores
        return (
            [entry["loss"] for entry in model.training_log["epochs"]],
            scores,
            torch.cuda.max_memory_reserved(),
        )

    losses, scores, taken = course()
    assert set(sizes) == {256, 400 - 256}
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction((before + (taken - before) / 2) / total)
    try:
        with_less, scores_with_less, less = course()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert less < taken and 256 in sizes and max(sizes[-4:]) < 256
    assert with_less == pytest.approx(losses, rel=1e-2)
    np.testing.assert_allclose(scores_with_less, scores, atol=0.02)
