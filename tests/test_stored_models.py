"""Model folders that version 0.1.0 wrote load and predict as they did then: see make_stored_models.py."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import treetop
from treetop.methods import METHODS

FOLDER = Path(__file__).parent / "stored_models"
TREELESS = {
    *("dismec", "neighbours", "flat-transformer", "ensemble"),
    *("kim-cnn", "kim-cnn-softmax", "cnn-baseline", "xml-cnn", "xml-cnn-impl"),
}
ARCHIVES = sorted(FOLDER.glob("*.zip"))


def method_of(archive: Path) -> str:
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read("model/manifest.json"))["method"]


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_an_old_model_predicts_as_it_did(archive, tmp_path):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)  # whoever loads a model did not choose its names
        model = treetop.load(tmp_path / "model")
    found = model.predict(json.loads((FOLDER / "texts.json").read_text()), k=4)
    with np.load(tmp_path / "predicted.npz") as expected:
        assert np.array_equal(found.indptr, expected["indptr"])
        assert np.array_equal(found.indices, expected["indices"])
        if model.same_on_any_threads:
            assert np.array_equal(found.scores, expected["scores"])
        else:
            np.testing.assert_allclose(found.scores, expected["scores"], rtol=0, atol=1e-6)
    assert (model.tree is None) == (model.name in TREELESS)  # info and report show it
    model.save(tmp_path / "again")
    assert np.array_equal(
        treetop.load(tmp_path / "again").predict(["boat"]).scores, model.predict(["boat"]).scores
    )


def test_every_method_of_that_version_has_one():
    methods = set(map(method_of, ARCHIVES))
    assert len(methods) == 19 and methods <= set(METHODS)
