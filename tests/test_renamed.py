"""Names of one version ago still work, and a warning says what to write instead."""

from __future__ import annotations

import importlib

import pytest

import treetop
from treetop.comparison.results import Contrast
from treetop.deprecation import RenamedWarning
from treetop.errors import ConfigError
from treetop.registry import METHODS

TEXTS = ["oven flour", "boat wind", "flour sugar", "wind sail"]
LABELS = [["baking"], ["sailing"], ["baking"], ["sailing"]]
SETTINGS = [
    (name, old, new)
    for name in METHODS
    for old, new in treetop.make(name).config._old_names().items()
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), SETTINGS)
def test_settings(name, old, new):
    config = treetop.make(name).config
    value = config.value(new) if new else True
    with pytest.warns(RenamedWarning, match=f"use {new}" if new else "leave it out") as caught:
        changed = config.replace_settings({old: value})
    assert caught[0].filename == __file__
    assert changed == config


def test_the_settings_are_those_that_were_renamed():
    renamed = {(name, old) for name, old, _ in SETTINGS}
    assert renamed >= {("lightxml", "visited"), ("attention-xml", "chosen"), ("x-transformer", "keep_data")}


def test_a_setting_under_both_names():
    with (
        pytest.warns(RenamedWarning),
        pytest.raises(ConfigError, match="cluster_beam and visited are the same setting"),
    ):
        treetop.make("lightxml", cluster_beam=9, visited=7)


def test_the_value_of_an_old_setting():
    config = treetop.make("lightxml", cluster_beam=9).config
    with pytest.warns(RenamedWarning, match="use cluster_beam"):
        assert config.visited == 9
    with pytest.raises(AttributeError, match="no setting 'colour'"):
        config.colour  # noqa: B018


@pytest.mark.parametrize(
    ("name", "old"),
    [
        (name, old)
        for name in ("xr-linear", "dismec", "neighbours")
        for old in ("tfidf", "n_features", "kept", "course")
    ],
)  # fmt: skip
def test_attributes_of_models(name, old):
    model = treetop.make(name).fit(TEXTS, LABELS)
    with pytest.warns(RenamedWarning, match=rf"{old} is deprecated: use") as caught:
        found = getattr(model, old)
    assert caught[0].filename == __file__
    now = model.training_log if old == "course" else getattr(model.features, old)
    assert found is now or found == now


def test_attributes_of_networks():
    settings = {"epochs": 1, "filters": 4, "dimension": 8, "device": "cpu"}
    model = treetop.make("kim-cnn", **settings).fit(TEXTS, LABELS)
    with pytest.warns(RenamedWarning, match=r"use reader\.words"):
        assert model.words is model.reader.words
    with pytest.warns(RenamedWarning, match="use training_log"):
        assert model.course is model.training_log


def test_results_of_comparisons():
    contrast = Contrast(1.0, None, None, 0.5, 1.5, 0.01)
    with pytest.warns(RenamedWarning, match="use significant"):
        assert contrast.decided is contrast.significant is True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("treetop.studies.Study", "treetop.ablations.Ablation"),
        ("treetop.studies.load_study", "treetop.ablations.load_ablation"),
        ("treetop.studies.study_names", "treetop.ablations.ablation_names"),
        ("treetop.recipes.Source", "treetop.recipes.Paper"),
        ("treetop.recipes.DataSet", "treetop.recipes.Benchmark"),
        ("treetop.recipes.Published", "treetop.recipes.PublishedScores"),
        ("treetop.report.pages.write_report", "treetop.report.build.write_report"),
        ("treetop.calibration.DEPTH", "treetop.calibration.CALIBRATED_LABELS"),
    ],
)
def test_names_in_modules(old, new):
    def named(path: str) -> object:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    with pytest.warns(RenamedWarning, match=f"{old} is deprecated: use {new}"):
        assert named(old) is named(new)
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        named(f"{old.rpartition('.')[0]}.colour")


def test_methods_that_are_functions_now(monkeypatch):
    from treetop.methods import cascade_analysis

    monkeypatch.setattr(cascade_analysis, "level_recall", lambda model, data: (model, data))
    model = treetop.make("cascadexml")
    with pytest.warns(RenamedWarning, match=r"use treetop\.methods\.cascade_analysis\.level_recall"):
        assert model.level_recall("data") == (model, "data")


def test_the_command_notes_an_old_setting(tmp_path, run):
    train = tmp_path / "train.jsonl"
    treetop.write(treetop.Dataset.from_texts(TEXTS, LABELS), train)
    out = run(
        "train",
        train,
        "--model",
        tmp_path / "m",
        "--method",
        "attention-xml",
        "--set",
        "chosen=0",
        quiet=False,
    )
    assert "the setting chosen is deprecated: use cluster_beam" in out.err and "FutureWarning" not in out.err


@pytest.mark.filterwarnings("ignore::treetop.deprecation.RenamedWarning")
def test_a_short_name_keeps_its_meaning():
    config = treetop.make("lightxml", visited=7, beam=50).config
    assert (config.cluster_beam, config.ranking.linear.beam) == (7, (50,))
