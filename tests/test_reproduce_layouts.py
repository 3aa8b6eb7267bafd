"""`treetop reproduce` on folders as benchmarks are distributed: one member, and an ensemble of three."""

from __future__ import annotations

import json

import pytest

from commands import call
from test_layouts import LAYOUTS
from tiny_bert import tiny_bert

pytestmark = pytest.mark.slow

WITH_FEATURES = ("PECOS", "X-Transformer", "LightXML", "AttentionXML", "bag of words")
WITHOUT = ("the XML-CNN study", "raw text")
SETTINGS = {"batch_size": 2, "max_length": 8, "steps": 1, "device": "cpu", "threads": 1, "tfidf.min_df": 1}


def reproduced(capsys, folder, out, recipe, *options):
    words = ["reproduce", recipe, folder, "--output", out, *options]
    for name, value in SETTINGS.items() if recipe.startswith("xr-transformer") else ():
        words += ["--set", f"{name}={value}"]
    call(capsys, *words)
    return json.loads((out / "results.json").read_text())


@pytest.mark.parametrize("layout", [*WITH_FEATURES, *WITHOUT])
def test_a_member(tmp_path, capsys, layout):
    folder = LAYOUTS[layout](tmp_path / "data")
    options = ("--single", "bert", "--encoder", tiny_bert())
    results = reproduced(capsys, folder, tmp_path / "out", "xr-transformer/eurlex-4k", *options)
    assert 0 <= results["measured"]["bert"]["P@1"] <= 100
    differences = "\n".join(results["differences"])
    assert ("the data have none: treetop's own TF-IDF takes their place" in differences) == (
        layout in WITHOUT
    )
    told = (
        layout in WITH_FEATURES and layout != "AttentionXML"
    )  # whose files do not say the number of columns
    assert ("the features of EUR-Lex-4K have 186,104 columns, these have 4" in differences) == told


@pytest.mark.parametrize("layout", ["PECOS", "raw text"])
def test_an_ensemble(tmp_path, capsys, layout):
    folder = LAYOUTS[layout](tmp_path / "data")
    options = ("--encoder", tiny_bert())
    results = reproduced(capsys, folder, tmp_path / "out", "xr-transformer/eurlex-4k", *options)
    assert list(results["measured"]) == ["bert", "roberta", "xlnet", "ensemble"]


@pytest.mark.parametrize("layout", ["LIBSVM", "features and labels in one file", *WITH_FEATURES])
def test_a_linear_recipe(tmp_path, capsys, layout):
    folder = LAYOUTS[layout](tmp_path / "data")
    results = reproduced(capsys, folder, tmp_path / "out", "parabel/eurlex-4k")
    assert results["measured"]["parabel"]["P@1"] >= 0
