"""The commands that make models from models: ensemble and calibrate."""

from __future__ import annotations

import json

import numpy as np
import pytest

import treetop
from test_cli import ANIMALS, LABELS, sentences, write_lines
from treetop.methods import METHODS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train.jsonl, test.jsonl, and two models, of which one knows the animals only."""
    home = tmp_path_factory.mktemp("models")
    train = write_lines(home / "train.jsonl", sentences(200))
    write_lines(home / "test.jsonl", sentences(230)[200:])
    treetop.XRLinear(threads=2).fit(treetop.read(train)).save(home / "all")
    animals = [record | {"labels": record["labels"][:1]} for record in sentences(200)]
    treetop.XRLinear().fit(treetop.read(write_lines(home / "animals.jsonl", animals))).save(home / "animals")
    return home


def test_ensemble(folder, tmp_path, run):
    outcome = run("ensemble", tmp_path / "e", folder / "all", folder / "animals")
    assert outcome.code == 0 and outcome.err == ""
    assert [line.split()[1:] for line in outcome.out.splitlines()[1:]] == [["xr-linear", "0.500"]] * 2
    test = treetop.read(folder / "test.jsonl")
    loaded = treetop.load(tmp_path / "e")
    expected = treetop.Ensemble([treetop.load(folder / name) for name in ("all", "animals")]).predict(test)
    assert np.array_equal(loaded.predict(test).scores, expected.scores)
    assert run("evaluate", tmp_path / "e", folder / "test.jsonl").code == 0

    facts = json.loads(run("info", tmp_path / "e", "--json").out)
    assert facts["method"] == "ensemble" and facts["calibration"] is None
    assert [member["weight"] for member in facts["members"]] == [0.5, 0.5]
    assert [member["data"]["labels"] for member in facts["members"]] == [LABELS, len(ANIMALS)]
    shown = run("info", tmp_path / "e").out
    assert "members" in shown and "not calibrated" in shown and "weight" in shown


def test_the_device_reaches_the_networks_of_an_ensemble(folder, tmp_path, run):
    pytest.importorskip("torch")
    named = ("--method", "ensemble", "--set", "methods=xr-linear,kim-cnn")
    quick = ("--set", "member_settings=epochs=1,filters=4,max_length=8")
    train = ("train", folder / "train.jsonl", "--threads", 1)
    assert run(*train, "--model", tmp_path / "e", *named, *quick, "--device", "cpu").code == 0
    member = treetop.load(tmp_path / "e").members[1]
    assert member.config.device == "cpu" and member.config.epochs == 1
    assert run(*train, "--model", tmp_path / "l", "--device", "cpu").code == 0
    run(*train, "--model", tmp_path / "m", "--device", "cuda").sentence(
        2, "--device cuda: hybrid is not a network"
    )


def test_ensemble_rules(folder, tmp_path, run):
    models = (folder / "all", folder / "animals")
    assert run("ensemble", tmp_path / "w", *models, "--weights", "3,1", "--threads", 1).code == 0
    model = treetop.load(tmp_path / "w")
    assert model.weights.tolist() == [0.75, 0.25] and model.config.rule == "weighted"
    assert model.config.threads == 1
    assert run("ensemble", tmp_path / "r", *models, "--rule", "rank").code == 0
    outcome = run("ensemble", tmp_path / "l", *models, "--validation", folder / "test.jsonl", quiet=False)
    assert outcome.code == 0 and "Learning the rule" in outcome.err
    assert f"{tmp_path / 'l'}: 2 models, 12 labels, learned" in outcome.err
    assert treetop.load(tmp_path / "l").config.rule == "learned"
    validation = ("--validation", folder / "test.jsonl")
    assert run("ensemble", tmp_path / "s", *models, "--rule", "stacked", *validation).code == 0
    stacked = treetop.load(tmp_path / "s")
    assert stacked.config.rule == "stacked" and stacked.weights.sum() == pytest.approx(1)
    shown = run("info", tmp_path / "s").out
    assert "share" in shown and "weight" not in shown
    assert run("evaluate", tmp_path / "s", folder / "test.jsonl").code == 0
    text = stacked.predict("the lion", k=1)[0][0]
    assert "log-odds" in run("explain", tmp_path / "s", "the lion", "--label", text.label).out


def test_ensemble_mistakes(folder, tmp_path, run):
    models = (folder / "all", folder / "animals")
    out = tmp_path / "e"
    run("ensemble", out, *models, "--rule", "median").sentence(2, "rule", "mean, rank", "'median'")
    run("ensemble", out, *models, "--rule", "learned").sentence(2, "--rule learned or stacked must be used")
    run("ensemble", out, *models, "--rule", "mean", "--validation", "x").sentence(2, "must be used together")
    run("ensemble", out, *models, "--weights", "1,2,3").sentence(2, "3 weights for 2 members")
    run("ensemble", out, *models, "--weights", "1,much").sentence(2, "weights", "'much'")
    run("ensemble", out, folder / "absent", folder / "all").sentence(2, "absent", "not a model folder")
    run("ensemble", folder / "all", *models).sentence(2, "is one of the models")
    run("ensemble", folder, *models).sentence(2, "not a model folder; choose another name")
    features = treetop.XRLinear().fit(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32))
    features.save(tmp_path / "features")
    run("ensemble", out, folder / "all", tmp_path / "features").sentence(2, "member 1 takes texts")
    assert not out.exists()


def test_calibrate(folder, tmp_path, run):
    copied = tmp_path / "model"
    treetop.load(folder / "all").save(copied)
    before = treetop.load(copied)
    assert "not calibrated" in run("info", copied).out
    outcome = run("calibrate", copied, folder / "test.jsonl", "--threads", 1, quiet=False)
    assert outcome.code == 0, outcome.err
    assert outcome.err.splitlines()[-1].startswith(
        f"{copied}: scores are now probabilities (isotonic, fitted"
    )
    model = treetop.load(copied)
    assert model.config == before.config and model.config.threads == 2
    assert "probabilities (isotonic, fitted on 30 examples)" in run("info", copied).out
    facts = json.loads(run("info", copied, "--json").out)
    assert facts["calibration"]["kind"] == "isotonic"
    outcome = run(
        "calibrate", copied, folder / "test.jsonl", "--kind", "platt", "--output", tmp_path / "other"
    )
    assert outcome.code == 0 and treetop.load(tmp_path / "other").statistics["calibration"]["kind"] == "platt"
    assert treetop.load(copied).statistics["calibration"]["kind"] == "isotonic"


def test_calibrate_while_training(folder, tmp_path, run):
    options = ("--set", "calibration=platt", "--set", "calibration_share=0.2", "--group", "author")
    outcome = run("train", folder / "train.jsonl", "--model", tmp_path / "m", *options)
    assert outcome.code == 0, outcome.err
    learned = treetop.load(tmp_path / "m").statistics["calibration"]
    assert learned["examples"] in (48, 56)  # all sentences of one of the four authors


def test_calibrate_mistakes(folder, tmp_path, run):
    model, test = folder / "all", folder / "test.jsonl"
    run("calibrate", model, test, "--kind", "sigmoid").sentence(2, "'sigmoid'", "isotonic, platt")
    run("calibrate", tmp_path / "m", test).sentence(2, "not a model folder")
    run("calibrate", model, test, "--output", folder).sentence(2, "not a model folder; choose another name")
    other = write_lines(tmp_path / "other.jsonl", [{"text": "the cat", "labels": ["zebra"]}])
    run("calibrate", model, other).sentence(2, "other.jsonl", "no predicted label is correct")
    run("predict", model, test, "--threshold", "nan").sentence(2, "threshold must be a number, not nan")
    run("evaluate", model, test, "--threshold", "nan").sentence(2, "threshold must be a number, not nan")
    assert treetop.load(model).calibration is None


def test_help(run):
    text = " ".join(run("ensemble", "--help").out.replace("│", " ").split())
    assert "mean, rank, sigmoid, softmax, weighted, learned, stacked" in text and "OUT" in text
    assert "isotonic, platt" in " ".join(run("calibrate", "--help").out.replace("│", " ").split())
    assert "ensemble" in METHODS and "rule" in run("methods", "ensemble").out


def test_update(folder, tmp_path, run):
    new = [
        {"text": f"the zebra {deed} in the steppe", "labels": ["zebra", deed]} for deed in ("runs", "eats")
    ]
    more = write_lines(tmp_path / "more.jsonl", new * 5)
    outcome = run(
        "update", folder / "all", more, "--data", folder / "train.jsonl", "-o", tmp_path / "m", quiet=False
    )
    assert outcome.code == 0, outcome.err
    assert f"{tmp_path / 'm'}: added 10 examples and 1 label; 210 examples in total" in outcome.err
    model = treetop.load(tmp_path / "m")
    assert len(model.labels) == LABELS + 1 and model.config == treetop.load(folder / "all").config
    shown = run("info", tmp_path / "m").out
    assert "210 examples" in shown and "once: added 10 examples and 1 label" in shown
    assert len(treetop.load(folder / "all").labels) == LABELS

    keeping = ("train", folder / "train.jsonl", "--method", "xr-linear", "--set", "keep_data=true")
    assert run(*keeping, "--model", tmp_path / "k").code == 0
    assert run("update", tmp_path / "k", more, "--new-positives", 0, "--new-examples", 0).code == 0
    assert run("update", tmp_path / "k", more, "--threads", 1).code == 0
    assert treetop.load(tmp_path / "k").statistics["updates"] == {"times": 2, "examples": 20, "labels": 1}


def test_update_mistakes(folder, tmp_path, run):
    new, model = folder / "test.jsonl", folder / "all"
    run("update", model, new).sentence(2, "needs the examples", "keep_data=true")
    run("update", model, new, "--data", new).sentence(2, "has 30 examples, but the model was trained on 200")
    run("update", model, new, "--output", folder).sentence(2, "not a model folder; choose another name")
    run("update", tmp_path / "m", new).sentence(2, "not a model folder")
