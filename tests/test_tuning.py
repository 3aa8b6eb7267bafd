"""Tuning: trials that can be repeated, resumed and pruned, and that may fail."""

from __future__ import annotations

import functools
import itertools
import json
import shlex
import sys

import numpy as np
import pytest

import treetop
from commands import call
from small_data import topic_texts
from test_cli import sentences, write_lines
from test_neural_training import QUICK
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.data.held_out import held_out_rows
from treetop.errors import ConfigError, DataError, MissingExtraError, TreetopError
from treetop.methods.kim_cnn import KimCNN
from treetop.methods.xr_linear import XRLinear
from treetop.search_space import Range
from treetop.tuning import tune
from treetop.tuning.task import TuningTask

SMALL = {"threads": 1, "leaf_size": 3, "branching": 2}
NETWORK = QUICK | {"embedding_dropout": 0.0}
LEARNING = {"cnn.dropout": Range(0.0, 0.5)}
POWERS = {"vote.power": Range(0, 4)}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0), source="train")


def drawn(tuning: treetop.tuning.Tuning) -> list:
    return [(trial.state, trial.value, trial.settings) for trial in tuning.trials]


def test_a_trial_is_a_model_of_most_examples_measured_on_the_rest(data):
    tuning = tune("xr-linear", data, trials=4, settings=SMALL | {"seed": 3}, metric="nDCG@3")
    assert tuning.counts() == {"complete": 4, "pruned": 0, "failed": 0}
    assert tuning.fixed == {"threads": 1, "tree.leaf_size": 3, "tree.branching": 2, "seed": 3}
    assert set(tuning.space) == set(XRLinear.search_space) - {"tree.leaf_size", "tree.branching"}
    kept, held_out = held_out_rows(data, 0.2, 3, "tuning")
    assert len(held_out) == 12
    for trial in tuning.trials:
        model = XRLinear(**(tuning.fixed | trial.settings)).fit(data[kept])
        assert model.evaluate(data[held_out])["nDCG@3"] == trial.value
    values = [trial.value for trial in tuning.trials]
    assert tuning.best.value == max(values) and [t.value for t in tuning.ranked] == sorted(values)[::-1]
    assert tuning.settings == tuning.fixed | tuning.best.settings
    model = tuning.make()
    assert model.config.linear.cost_positive == tuning.best.settings["linear.cost_positive"]
    assert json.loads(json.dumps(tuning.to_dict()))["trials"][0]["number"] == 1


def test_the_same_seed_draws_the_same_trials(data):
    first = tune("neighbours", data, trials=3, settings={"seed": 1})
    assert drawn(tune("neighbours", data, trials=3, settings={"seed": 1})) == drawn(first)
    assert drawn(tune("neighbours", data, trials=3, settings={"seed": 2})) != drawn(first)
    assert len(tune("neighbours", data, trials=12, sampler="tpe", space=POWERS).trials) == 12


def test_settings_drawn_twice_are_trained_once(data, monkeypatch):
    fits = []
    fit = XRLinear._fit
    monkeypatch.setattr(
        XRLinear, "_fit", lambda self, *a, **k: (fits.append(self.config), fit(self, *a, **k))
    )
    space = dict.fromkeys(set(XRLinear.search_space) - {"linear.beam"}, None)
    fixed = {name: XRLinear().config.value(name) for name in space}
    tuning = tune("xr-linear", data, trials=8, settings=fixed, space={"beam": (1, 2)})
    assert len(fits) == len(tuning.ranked) == 2
    assert len(tuning.trials) == 8
    repeated = [trial for trial in tuning.trials if trial.repeats is not None]
    for trial in repeated:
        earlier = next(other for other in tuning.trials if other.number == trial.repeats)
        assert (earlier.value, earlier.settings) == (trial.value, trial.settings)


def test_a_killed_study_goes_on_with_what_it_would_have_tried(data, tmp_path, monkeypatch):
    whole = tune("neighbours", data, trials=5)
    fit = treetop.NearestNeighbours._fit
    fits = itertools.count(1)

    def dying(self, *arguments):
        if next(fits) == 3:
            raise KeyboardInterrupt
        fit(self, *arguments)

    monkeypatch.setattr(treetop.NearestNeighbours, "_fit", dying)
    study = tmp_path / "study.db"
    with pytest.raises(KeyboardInterrupt):
        tune("neighbours", data, trials=5, study=study)
    resumed = tune("neighbours", data, trials=5, study=study)
    assert next(fits) <= 7
    assert drawn(resumed) == drawn(whole)
    assert [trial.number for trial in resumed.trials] == [1, 2, 4, 5, 6]
    assert drawn(tune("neighbours", data, trials=2, study=study)) == drawn(whole)  # there are enough


def test_a_study_of_something_else_is_refused(data, tmp_path):
    study = tmp_path / "study.db"
    given = {"trials": 1, "study": study}
    tune("neighbours", data, **given)
    tune("neighbours", data, settings={"threads": 2}, **given)
    for arguments, options, words in (
        (("dismec", data), {}, "another method"),
        (("neighbours", data[:50]), {}, "other data"),
        (("neighbours", data), {"validation": 0.3}, "another validation set"),
        (("neighbours", data), {"validation": data}, "another validation set"),
        (("neighbours", data), {"metric": "P@3"}, "another metric"),
        (("neighbours", data), {"settings": {"seed": 1}}, "other settings"),
        (("neighbours", data), {"space": {"power": (1, 2)}}, "another search space"),
    ):
        with pytest.raises(DataError, match=f"study.db: contains a study .*{words}"):
            tune(*arguments, **given, **options)
    (tmp_path / "poem.db").write_text("no study at all, but some words that are not a data base")
    with pytest.raises(DataError, match=r"poem\.db: cannot be used as a study"):
        tune("neighbours", data, trials=1, study=tmp_path / "poem.db")
    with pytest.raises(DataError, match=r"folder .* does not exist"):
        tune("neighbours", data, trials=1, study=tmp_path / "none" / "study.db")


def test_a_trial_may_fail(data, monkeypatch):
    evaluate = XRLinear.evaluate

    def failing(self, *arguments, **options):
        if self.config.linear.beam == (1,):
            raise TreetopError("the GPU ran out of memory")
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(XRLinear, "evaluate", failing)
    space = {"beam": (1, 2), "cost_positive": Range(1, 2)}
    tuning = tune("xr-linear", data, trials=6, settings=SMALL, space=space)
    assert tuning.counts()["failed"] > 0 and tuning.counts()["complete"] > 0
    for trial in tuning.trials:
        assert (trial.error == "the GPU ran out of memory") == (trial.settings["linear.beam"] == (1,))
        assert (trial.state == "failed") == (trial.error is not None)
    with pytest.raises(
        ConfigError, match=r"no trial of xr-linear completed \(2 tried\); last error: .* ran out of memory"
    ):
        tune("xr-linear", data, trials=2, settings=SMALL, space={"beam": (1,)})
    monkeypatch.setattr(XRLinear, "evaluate", lambda self, *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tune("xr-linear", data, trials=2, settings=SMALL)


def test_settings_that_do_not_go_together_fail_alone(data):
    space = {"trees": (1, 2), "transform": ("l3-hinge", "sigmoid"), "last_transform": ("none", "raw")}
    tuning = tune("xr-linear", data, trials=8, settings=SMALL, space=space)
    for trial in tuning.trials:
        bad = str(trial.settings["trees"]) == "2" and trial.settings["linear.last_transform"] == "raw"
        assert (trial.state == "failed") == bad
    assert tuning.counts()["failed"] > 0


def scripted(monkeypatch, figures) -> list[KimCNN]:
    """Networks whose validation metrics are ``figures(number of the network, epoch)``."""
    models: list[KimCNN] = []
    counted: dict[int, int] = {}

    def judge(self, validation, train):
        if not any(self is model for model in models):
            models.append(self)
        turn = next(i for i, model in enumerate(models) if self is model)
        counted[turn] = counted.get(turn, 0) + 1
        return {"P@1": figures(turn, counted[turn])}

    monkeypatch.setattr(KimCNN, "_validator", lambda *arguments: lambda: judge(*arguments))
    return models


def test_a_network_is_watched_and_stopped(data, monkeypatch):
    models = scripted(monkeypatch, lambda turn, epoch: 50.0 + (epoch == 2))
    tuning = tune("kim-cnn", data, trials=1, settings=NETWORK, space=LEARNING)
    assert (models[0].config.epochs, models[0].config.training.patience) == (50, 10)
    assert len(models[0].training_log["epochs"]) == 12  # ten after the best were not better
    assert (tuning.best.value, tuning.best.epoch) == (51.0, 2)
    assert tuning.settings["epochs"] == 2 and "training.patience" not in tuning.settings
    final = tuning.make().fit(data)
    assert len(final.training_log["epochs"]) == 2 and final.statistics["examples"] == len(data)
    told = NETWORK | {"epochs": 3, "patience": 2, "training.validation": 0.1}
    tuning = tune("kim-cnn", data, trials=1, settings=told, space=LEARNING)
    assert len(models[1].training_log["epochs"]) == 3
    assert tuning.make().config.training.patience == 0 == tuning.make().config.training.validation


@pytest.mark.slow
@pytest.mark.parametrize("pruning", [True, False])
def test_poor_networks_are_pruned(data, monkeypatch, pruning):
    scripted(monkeypatch, lambda turn, epoch: 50.0 + epoch if turn < 5 else 10.0)
    settings = NETWORK | {"epochs": 6}
    tuning = tune("kim-cnn", data, trials=7, settings=settings, space=LEARNING, pruning=pruning)
    assert [trial.state for trial in tuning.trials[:5]] == ["complete"] * 5
    assert [trial.state for trial in tuning.trials[5:]] == ["pruned" if pruning else "complete"] * 2
    assert tuning.trials[5].value == 10.0 and tuning.best.value == 56.0


def test_a_network_is_really_tuned(data):
    space = {"learning_rate": (0.00001, 0.01)}
    settings = {name: value for name, value in NETWORK.items() if name != "learning_rate"} | {"epochs": 8}
    held_out = Dataset.from_texts(*topic_texts(30, seed=1))
    fixed = settings | {"filters": 12, "dropout": 0.0}
    tuning = tune("kim-cnn", data, trials=6, settings=fixed, space=space, validation=held_out, metric="P@3")
    assert tuning.best.settings == {"training.learning_rate": 0.01}
    best = KimCNN(**tuning.settings).fit(data)
    assert best.evaluate(held_out)["P@3"] == pytest.approx(tuning.best.value)


def shown(model: treetop.Method, data: Dataset) -> tuple:
    found = model.predict(data, k=3)
    return found.indices.tolist(), found.scores.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["linear", "cosine", "cosine-ends"])
def test_a_rate_that_falls_falls_the_same_way_in_the_end(data, schedule, monkeypatch):
    fitted = []
    fit = KimCNN._fit

    @functools.wraps(fit)
    def recorded(self, *arguments, **options):
        fit(self, *arguments, **options)
        fitted.append(self)

    monkeypatch.setattr(KimCNN, "_fit", recorded)
    held_out = Dataset.from_texts(*topic_texts(30, seed=1))
    settings = NETWORK | {"schedule": schedule, "warmup": 0.1, "patience": 1, "training.validation": 0.3}
    space = {"epochs": (2, 3, 5), "filters": (12,), "cnn.dropout": (0.0, 0.5)}
    del settings["filters"]
    tuning = tune(
        "kim-cnn", data, trials=5, settings=settings, space=space, validation=held_out, metric="nDCG@3"
    )
    trained = [trial for trial in tuning.trials if trial.repeats is None]
    for model, trial in zip(fitted, trained, strict=True):
        assert (
            model.config.epochs
            == trial.settings["epochs"]
            == trial.epoch
            == len(model.training_log["epochs"])
        )
        assert model.config.training.schedule == schedule
        assert model.evaluate(held_out, metrics=("nDCG",))["nDCG@3"] == trial.value
    assert len({trial.value for trial in trained}) > 1
    best = fitted[trained.index(tuning.best)]
    final = tuning.make().fit(data)
    assert final.config.epochs == tuning.best.settings["epochs"]
    assert final.config == best.config.replace_settings({"training.metric": "P@1"})
    assert shown(final, held_out) == shown(best, held_out)


def test_the_epochs_of_a_trial_follow_its_schedule(data):
    def told(method: str, settings: dict, **drawn: str) -> tuple[int, int]:
        config = TuningTask.of(method, data, settings, {}, 0.2, "P@1").config_of(drawn)
        return config.epochs, config.training.patience

    linear, constant = {"training.schedule": "linear"}, {"training.schedule": "constant"}
    assert told("lightxml", {}) == told("cascadexml", {}) == (10, 0)
    assert told("lightxml", {"epochs": 4, "patience": 3}) == (4, 0)
    assert told("cascadexml", {}, epochs="8") == (8, 0)
    steady = constant | {"training.warmup": 0}
    assert told("lightxml", steady) == (50, 10) and told("lightxml", constant) == (10, 0)
    assert told("cascadexml", steady, epochs="8") == (8, 10)
    assert told("attention-xml", {}) == (10, 0) and told("attention-xml", {"average": "none"}) == (50, 10)
    assert told("kim-cnn", {}) == told("kim-cnn", {}, **constant) == (50, 10)
    assert told("kim-cnn", {}, **linear) == (KimCNN().config.epochs, 0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["flat-transformer", "lightxml", "cascadexml", "xr-transformer"])
def test_a_transformer_is_handed_over_as_it_was_measured(data, method):
    held_out = Dataset.from_texts(*topic_texts(30, seed=1))
    settings = {"encoder": tiny_bert(), "batch_size": 16, "max_length": 32, "threads": 1, "device": "cpu"}
    own = treetop.methods.method_class(method).search_space
    fixed = {
        name: values[0] for name, values in own.items() if isinstance(values, tuple) and name != "epochs"
    }
    tuning = tune(
        *(method, data), trials=3, settings=settings | fixed, space={"epochs": (2, 3)}, validation=held_out,
        metric="nDCG@5",
    )  # fmt: skip
    final = tuning.make().fit(data)
    assert final.config.epochs == tuning.best.settings["epochs"]
    assert final.config.training.schedule == "linear"
    assert final.evaluate(held_out)["nDCG@5"] == tuning.best.value


def test_what_is_held_out(data):
    groups = [f"g{row // 7}" for row in range(len(data))]
    grouped = Dataset.from_texts(data.texts, [data.labels_of(row) for row in range(len(data))], groups=groups)
    task = TuningTask.of("neighbours", grouped, {}, {}, 0.2, "P@1")
    assert not set(task.train.groups) & set(task.held_out.groups)
    X = np.eye(20, dtype=np.float32)
    features = Dataset.from_matrices(X, X[:, :4] + np.roll(X, 7, 1)[:, :4])
    task = TuningTask.of("xr-linear", features, {}, {}, 0.2, "P@1")
    assert task.space and not any(name.startswith("tfidf.") for name in task.space)


def test_mistakes_are_told(data, monkeypatch):
    for options, words in (
        ({"trials": 0}, "trials must be at least 1"),
        ({"sampler": "genetic"}, "sampler must be one of random, tpe"),
        ({"metric": "ECE@1"}, "metric must be one of P@1"),
        ({"settings": {"leaf": 3}}, "no setting 'leaf'"),
        ({"settings": {"tree": {"leaf_size": 3}}}, "tree is a group of settings"),
        (
            {"settings": {"beam": 3}, "space": {"linear.beam": (1, 2)}},
            "linear.beam is both fixed and searched",
        ),
        ({"validation": 1.5}, "cannot hold out examples for the tuning"),
        ({"validation": Dataset.from_texts(["a"])}, "no example has a label"),
    ):
        with pytest.raises((ConfigError, DataError), match=words):
            tune("xr-linear", data, **options)
    with pytest.raises(ConfigError, match="ensemble has nothing to tune"):
        tune("ensemble", data)
    with pytest.raises(ConfigError, match="metric of tuning"):
        tune("kim-cnn", data, settings={"training.metric": "P@3"})
    with pytest.raises(ConfigError, match="metric of tuning"):
        tune("kim-cnn", data, space={"training.metric": ("P@3",)})
    with pytest.raises(ConfigError, match="calibration does not change the ranking"):
        tune("xr-linear", data, space={"calibration": ("isotonic",)})
    with pytest.raises(DataError, match="needs a labelled Dataset"):
        tune("xr-linear", ["a text"])
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="one process"):
        tune("xr-linear", data)


def test_without_optuna(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'treetop-xmc\[tune\]'$"):
        tune("xr-linear", data)


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command_tunes_trains_and_goes_on(tmp_path, capsys):
    train = write_lines(tmp_path / "train.jsonl", sentences(60))
    model = tmp_path / "model"
    command = [
        *("tune", train, "--method", "xr-linear", "--model", model, "--set", "leaf_size=3", "--threads", 1),
        *("--space", "beam=1,2", "--space", "cost_positive=1..8:log", "--group", "author", "--seed", 4),
    ]
    outcome = call(capsys, *command, "--trials", 2, "--json", tmp_path / "trials.json", quiet=False)
    assert outcome.code == 0, outcome.err
    assert outcome.out.split()[:3] == ["trial", "P@1", "seconds"] and len(outcome.out.splitlines()) == 3
    assert f"{model}.study.db: 2 trials, 2 complete" in outcome.err and "60 examples" in outcome.err
    report = json.loads((tmp_path / "trials.json").read_text())
    assert report["space"]["linear.beam"] == ["1", "2"] and report["counts"]["complete"] == 2
    assert report["study"] == f"{model}.study.db"
    trained = treetop.load(model)
    assert trained.statistics["examples"] == 60 and trained.config.seed == 4
    found = treetop.make("xr-linear", **report["settings"]).config
    assert trained.config == found and found.tree.leaf_size == 3
    again = call(capsys, *command, "--trials", 3, "--json", "-")
    assert again.code == 0, again.err
    assert json.loads(again.out)["trials"][:2] == report["trials"]
    call(capsys, *command, "--metric", "P@3").sentence(2, "another metric")


def test_the_command_says_what_to_type(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "train.jsonl", sentences(60))
    write_lines(tmp_path / "held out.jsonl", sentences(90)[60:])
    outcome = call(
        *(capsys, "tune", "train.jsonl", "--method", "neighbours", "--trials", 2, "--sampler", "tpe"),
        *("--validation", "held out.jsonl", "--no-pruning"),
    )
    assert outcome.code == 0 and (tmp_path / "tune.db").exists()
    last = outcome.out.splitlines()[-1]
    typed = last.partition(": ")[2].split()
    assert typed[:7] == ["treetop", "train", "train.jsonl", "--method", "neighbours", "--model", "model"]
    assert call(capsys, *typed[1:]).code == 0
    assert treetop.load(tmp_path / "model").name == "neighbours"
    call(capsys, "tune", "train.jsonl", "--space", "beam").sentence(2, "--space needs NAME=V,V")
    call(capsys, "tune", "train.jsonl", "--model", "train.jsonl").sentence(2, "not a model folder")
    call(capsys, "tune", "train.jsonl", "--method", "ensemble").sentence(2, "nothing to tune")
    help_text = " ".join(call(capsys, "tune", "--help").out.replace("│", " ").split())
    assert "treetop methods NAME" in help_text
    assert "0.25..8:log" in call(capsys, "methods", "xr-linear").out


def test_what_to_type_reads_the_same_fields(tmp_path, capsys):
    records = [
        {"body": line["text"], "tags": line["labels"], "owner": f"o{at // 2}"}
        for at, line in enumerate(sentences(60))
    ]
    data = write_lines(tmp_path / "train.jsonl", records)
    names = tmp_path / "names.tsv"
    names.write_text(
        "".join(f"{label}\ta {label}\n" for label in sorted({x for r in records for x in r["tags"]}))
    )
    fields = ("--text", "body", "--labels", "tags", "--group", "owner", "--label-texts", names)
    command = ("tune", data, "--method", "xr-linear", "--trials", 1, "--study", tmp_path / "study.db")
    told = call(capsys, *command, *fields).out.strip().splitlines()[-1]
    words = shlex.split(told.partition("treetop ")[2])
    assert words[-4:] == ["--group", "owner", "--label-texts", str(names)]
    words[words.index("--model") + 1] = str(tmp_path / "model")
    assert call(capsys, *words).code == 0


def test_the_command_trains_a_network_for_its_best_epochs(tmp_path, capsys, monkeypatch):
    scripted(monkeypatch, lambda turn, epoch: 90.0 if epoch == 3 else 40.0)
    train = write_lines(tmp_path / "train.jsonl", sentences(60))
    settings = NETWORK | {"filter_sizes": 2, "epochs": 4}
    fixed = [item for name, value in settings.items() for item in ("--set", f"{name}={value}")]
    outcome = call(
        *(capsys, "tune", train, "--method", "kim-cnn", "--model", tmp_path / "model", *fixed),
        *("--trials", 2, "--space", "cnn.dropout=0,0.3"),
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.split()[:5] == ["trial", "P@1", "epoch", "seconds", "dropout"]
    trained = treetop.load(tmp_path / "model")
    assert trained.config.epochs == 3 == len(trained.training_log["epochs"])
    assert "P@1" not in trained.training_log["epochs"][0]
