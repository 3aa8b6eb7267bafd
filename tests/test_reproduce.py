"""`treetop reproduce`: recipes and ablations on small made-up data, with tiny encoders."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time

import numpy as np
import pytest

import treetop
from commands import call
from small_data import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset, recipes
from treetop.cli.reproduce import parse_encoders
from treetop.errors import ConfigError, ModelError
from treetop.methods.xr_transformer import XRTransformer
from treetop.reproduction import Plan, TableRow, reproduce
from treetop.reproduction.differences import size_of
from treetop.reproduction.table import cells

SMALL = {"batch_size": "16", "max_length": "32", "steps": "4", "device": "cpu", "threads": "1"}
RECIPE = "xr-transformer/eurlex-4k"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    for name, count, seed in (("train", 60, 0), ("test", 20, 1)):
        texts, labels = topic_texts(count, seed=seed)
        rows = zip(texts, labels, strict=True)
        lines = [json.dumps({"text": text, "labels": list(names)}) for text, names in rows]
        (place / f"{name}.jsonl").write_text("\n".join(lines))
    return place


@pytest.fixture(scope="module")
def train(folder) -> Dataset:
    return treetop.read(folder / "train.jsonl")


@pytest.fixture(scope="module")
def test(folder) -> Dataset:
    return treetop.read(folder / "test.jsonl")


def settings(changes=SMALL) -> list[str]:
    return [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]


def plan(train, test, recipe: str = RECIPE, **options) -> Plan:
    options = {"encoders": {"": tiny_bert()}, "settings": SMALL} | options
    return Plan.of(recipes.find_recipe(recipe), train, test, **options)


@pytest.fixture(scope="module")
def finished(train, test, tmp_path_factory):
    place = tmp_path_factory.mktemp("finished") / "out"
    return place, reproduce(plan(train, test), train, test, place)


def test_the_members_and_their_ensemble(finished, train, test):
    """Every member is the model that its settings give, and the ensemble combines their lists by the rule."""
    place, measured = finished
    assert [one.name for one in measured] == ["bert", "roberta", "xlnet", "ensemble"]
    members = [treetop.load(place / "members" / one.name) for one in measured[:3]]
    for member, one in zip(members, measured, strict=False):
        assert member.statistics["recipe"] == RECIPE and member.statistics["recipe_member"] == one.name
        own = member.evaluate(test)
        assert own["P@1"] == one.numbers["P@1"] and own["nDCG@5"] == pytest.approx(one.numbers["nDCG@5"])
        assert 0 < one.numbers["training hours"] < 1 and 0 < one.numbers["model GB"] < 0.1
    assert [member.config.linear.level_costs[-1] for member in members[:2]] == ["2/4", "2/1"]
    for one in measured[:3]:
        assert one.facts["training"].startswith("1 epoch, last loss ")
        assert one.facts["training"].endswith("% of the steps")
    together = treetop.Ensemble(members, rule="softmax").predict(test, k=5)
    combined = measured[3].predictions.top(5)
    assert np.array_equal(together.indices, combined.indices)
    np.testing.assert_allclose(together.scores, combined.scores, atol=1e-6)


def test_the_command(folder, tmp_path, capsys):
    words = ["reproduce", RECIPE, folder, "--encoder", tiny_bert(), *settings(), "--single", "roberta"]
    out = call(capsys, *words, "--output", tmp_path / "out").out
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:2] == ["roberta", "measured"] and not any(line[:1] == ["ensemble"] for line in lines)
    assert "EUR-Lex-4K has 15,449 training texts, these data have 60" in out
    assert "roberta: steps is 4, not 600,800,1200" in out
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["measured"].keys() == {"roberta"} and results["recipe"]["name"] == RECIPE
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Differences from the published setup" in page and "not roberta-base" in page

    again = call(capsys, *words, "--output", tmp_path / "out")
    again.sentence(2, "holds an earlier run: add --resume to continue it")
    assert call(capsys, *words, "--output", tmp_path / "out", "--resume").out == out
    other = [*words, "--output", tmp_path / "out", "--resume", "--set", "batch_size=8"]
    call(capsys, *other).sentence(2, "roberta was begun with batch_size=16, not with batch_size=8")


def test_members_trained_one_by_one(finished, train, test, tmp_path):
    """Each by its own command, as on several machines with one disk, then the ensemble."""
    _, whole = finished
    for name in ("xlnet", "bert", "roberta"):
        reproduce(plan(train, test, single=name), train, test, tmp_path / "out", resume=True)
    began = (tmp_path / "out" / "members" / "bert" / "manifest.json").stat().st_mtime_ns
    together = reproduce(plan(train, test), train, test, tmp_path / "out", resume=True)
    assert [one.name for one in together] == ["bert", "roberta", "xlnet", "ensemble"]
    for one, expected in zip(together, whole, strict=True):
        assert np.array_equal(one.predictions.scores, expected.predictions.scores)
    assert (tmp_path / "out" / "members" / "bert" / "manifest.json").stat().st_mtime_ns == began


def test_members_with_one_encoder_have_other_seeds(train, test):
    """Those with other encoders in the paper: else an ensemble would be three times the same model."""

    def seeds(recipe: str, **options) -> dict[str, int]:
        return {
            one.name: one.config.seed for one in plan(train, test, recipe, settings={}, **options).members
        }

    light = "lightxml/eurlex-4k"
    assert seeds(light) == {"bert": 0, "roberta": 1, "xlnet": 2}
    assert seeds(light, single="xlnet") == {"xlnet": 2}
    assert seeds(light, encoders={"roberta": tiny_bert()}) == {"bert": 0, "roberta": 0, "xlnet": 0}
    assert seeds(RECIPE) == {"bert": 0, "roberta": 1, "xlnet": 2}
    nine = seeds("x-transformer/eurlex-4k")
    assert list(nine.values()) == [0, 1, 2] * 3
    assert plan(train, test, light, settings={}).differences[-1] == (
        "roberta, xlnet: the encoder is that of another member, so the seed differs instead (1, 2)"
    )


@pytest.mark.parametrize("recipe", [one.name for one in recipes.all_recipes().values() if one.members])
def test_every_recipe_can_be_planned(recipe, train, test):
    found = recipes.find_recipe(recipe)
    encoders = {"": tiny_bert()} if "transformer.encoder" in found.members[0].settings else {}
    planned = Plan.of(found, train, test, encoders=encoders)
    assert len(planned.members) == len(found.members) and planned.differences


def test_a_member_that_is_being_trained_is_rejected(train, test, tmp_path, monkeypatch):
    single = plan(train, test, single="bert")
    fit = XRTransformer._fit

    def during(self, dataset, **options):
        with pytest.raises(ModelError, match="bert: another process is making or changing this model"):
            reproduce(single, train, test, tmp_path / "out", resume=True)
        return fit(self, dataset, **options)

    monkeypatch.setattr(XRTransformer, "_fit", during)
    assert [one.name for one in reproduce(single, train, test, tmp_path / "out")] == ["bert"]
    assert sorted(path.name for path in (tmp_path / "out" / "members").iterdir()) == ["bert", "bert.json"]


def test_a_run_that_was_stopped_continues(finished, train, test, tmp_path, monkeypatch):
    """Stopped in the second member: the first is not trained again, and the numbers are those of one run."""
    _, whole = finished
    fit, trained = XRTransformer._fit, []

    def stopping(self, dataset, **options):
        trained.append(self.config.seed)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return fit(self, dataset, **options)

    monkeypatch.setattr(XRTransformer, "_fit", stopping)
    with pytest.raises(KeyboardInterrupt):
        reproduce(plan(train, test), train, test, tmp_path / "out")
    measured = reproduce(plan(train, test), train, test, tmp_path / "out", resume=True)
    assert trained == [0, 1, 1, 2]
    for one, expected in zip(measured, whole, strict=True):
        assert np.array_equal(one.predictions.indices, expected.predictions.indices)
        assert np.array_equal(one.predictions.scores, expected.predictions.scores)
    # a damaged file of predictions is written again
    (tmp_path / "out" / "predictions" / "bert.npz").write_bytes(b"PK damaged")
    again = reproduce(plan(train, test), train, test, tmp_path / "out", resume=True)
    assert np.array_equal(again[0].predictions.scores, whole[0].predictions.scores)

    with pytest.raises(ConfigError, match="holds a run with other data"):
        reproduce(plan(train, test), train[:50], test, tmp_path / "out", resume=True)


def test_rejected_settings_leave_nothing(train, test, tmp_path):
    long = plan(train, test, settings=SMALL | {"max_length": 9_999})
    with pytest.raises(ConfigError, match="reads at most"):
        reproduce(long, train, test, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(ConfigError, match="is not empty and holds no earlier run"):
        reproduce(plan(train, test), train, test, tmp_path / "mine")


def test_strict(folder, train, test, capsys):
    words = ["reproduce", RECIPE, folder, "--strict"]
    call(capsys, *words).sentence(2, "EUR-Lex-4K has 15,449 training texts, these data have 60 (and 2 more")
    plain = plan(train, test, encoders={}, settings={})
    faithful = dataclasses.replace(plain, differences=())
    faithful.check_strict()


def test_a_dry_run_trains_nothing(folder, tmp_path, capsys):
    words = ["reproduce", RECIPE, folder, "--encoder", tiny_bert(), *settings(), "--dry-run"]
    out = call(capsys, *words, "--output", tmp_path / "out").out
    assert "combined by the rule softmax" in out and "In all about" in out
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["bert", "roberta", "xlnet"]
    assert not (tmp_path / "out").exists()
    linear = call(capsys, "reproduce", "xr-linear/eurlex-4k", folder, "--dry-run").out
    assert "GB, about" in linear


def test_an_ablation(folder, tmp_path, capsys):
    small = {"epochs": 1, "filters": 4, "hidden": 4, "dimension": 8, "max_length": 16, "device": "cpu"}
    words = ["reproduce", "xml-cnn/table-4", folder, *settings(small), "--output", tmp_path / "out"]
    out = call(capsys, *words).out
    rows = [line for line in out.splitlines() if "  published " in line or "  measured " in line]
    assert len(rows) == 2 * len(treetop.ablations.load_ablation("xml-cnn-table-4").rows)
    assert "75.83" in out and (tmp_path / "out" / "report.html").exists()
    call(capsys, *words).sentence(2, "holds an earlier run: add --resume")
    assert call(capsys, *words, "--resume").out == out
    call(capsys, *words, "--single", "x").sentence(2, "--single is for recipes")


def test_an_ablation_with_rows_that_are_published_only(folder, tmp_path, capsys):
    (tmp_path / "words.txt").write_text("bread\noven\nboat\nsail\n")
    small = {"epochs": 1, "filters": 2, "hidden": 4, "dimension": 16, "max_length": 8, "device": "cpu"}
    small |= {"words.vocabulary": tmp_path / "words.txt"}
    words = ["reproduce", "xml-cnn/table-8/eurlex-4k", folder, "--output", tmp_path / "out"]
    rows = call(capsys, *words, *settings(small)).out.splitlines()
    assert sum("  published " in row for row in rows) == 5 and sum("  measured " in row for row in rows) == 2
    call(capsys, "reproduce", "xml-cnn/table-8", folder).sentence(
        2, "needs the vocabulary", "--set words.vocabulary="
    )


def test_mistakes(folder, train, test, capsys):
    def wrong(*words):
        return call(capsys, "reproduce", *words)

    wrong("xr-transformer/eurlex-5k", folder).sentence(2, "did you mean 'xr-transformer/eurlex-4k'")
    wrong("cascadexml/eurlex-4k", folder).sentence(2, "there is no recipe")
    wrong("xml-cnn/table-7/wiki10", folder).sentence(
        2, "no data set of xml-cnn-table-7 'wiki10'; did you mean"
    )
    wrong(RECIPE, folder, "--single", "brat").sentence(2, "no member 'brat'; did you mean 'bert'")
    wrong(RECIPE, folder, "--encoder", "gpt=x").sentence(2, "--encoder gpt: no member of")
    wrong(RECIPE, folder, "--set", "steeps=4").sentence(2, "did you mean 'steps'")
    assert parse_encoders(["bert=a, roberta=b", "c"]) == {"bert": "a", "roberta": "b", "": "c"}
    for given in (["bert="], ["a,b"], ["bert=a", "bert=b"]):
        with pytest.raises(ConfigError, match="--encoder"):
            parse_encoders(given)


def test_encoders_by_member_name_and_family(train, test):
    found = plan(train, test, encoders={"bert": "a", "roberta-base": "b", "xlnet": "c"})
    assert [member.config.transformer.encoder for member in found.members] == ["a", "b", "c"]


def test_sizes_of_encoders(tmp_path):
    assert size_of("bert-base-uncased").hidden == 768
    assert size_of(str(tmp_path)) is None
    config = {"d_model": 768, "n_layer": 12, "vocab_size": 32000}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert size_of(str(tmp_path)).name == "xlnet-base-cased"
    (tmp_path / "config.json").write_text(json.dumps(config | {"n_layer": 6}))
    assert size_of(str(tmp_path)).layers == 6


def test_a_member_that_uses_the_encoder_of_another(train, test, tmp_path):
    """Trained after it, whatever their order, and also where it alone was asked for."""
    recipe = recipes.find_recipe("x-transformer/eurlex-4k")
    first = dict(recipe.members[0].settings) | {"index": "pifa-tfidf", "index_encoder": None}
    later = first | {"index": "pifa-neural", "index_encoder": "member:one"}
    members = (recipes.Member("two", later), recipes.Member("one", first))
    recipe = dataclasses.replace(recipe, members=members, published=(), rule="rank", depth=2)
    small = SMALL | {"epochs": "1", "clusters": "2"}
    options = {"encoders": {"": tiny_bert()}, "settings": small}
    assert [member.name for member in Plan.of(recipe, train, test, **options).members] == ["one", "two"]
    alone = Plan.of(recipe, train, test, single="two", **options)
    assert [member.name for member in alone.members] == ["one", "two"] and alone.rule is None
    measured = reproduce(Plan.of(recipe, train, test, **options), train, test, tmp_path / "out")
    stored = treetop.load(tmp_path / "out" / "members" / "two").config
    assert stored.index_encoder == str(tmp_path / "out" / "members" / "one")
    assert (np.diff(measured[2].predictions.indptr) <= 4).all()  # two lists of two labels


def test_cells_of_a_table():
    rows = [
        TableRow("ensemble", "published", {"P@1": 88.41, "training hours": 0.8}, "a paper"),
        TableRow("ensemble", "measured", {"P@1": 87.0, "training hours": 0.0123456, "model GB": 2.0}),
    ]
    header, lines = cells(rows)
    assert header == ["model", "", "P@1", "training hours", "source"]
    assert lines == [
        ["ensemble", "published", "88.41", "0.8", "a paper"],
        ["ensemble", "measured", "87.00", "0.0123", ""],
    ]
    rows[0] = TableRow("ensemble", "published", {"training hours": 0.8}, "a paper")
    assert cells(rows)[0] == ["model", "", "P@1", "P@3", "P@5", "training hours", "source"]


@pytest.mark.process
@pytest.mark.slow
def test_a_killed_process_resumes(finished, folder, tmp_path):
    """Killed after its first member, in the middle of whatever it does then."""
    out = tmp_path / "out"
    words = ["reproduce", RECIPE, folder, "--encoder", tiny_bert(), *settings(), "--output", out]
    command = [sys.executable, "-m", "treetop", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (out / "members" / "bert" / "manifest.json").exists():
            assert process.poll() is None, "it ended before its first member was saved"
            time.sleep(0.02)
        process.kill()
    trained = (out / "members" / "bert" / "manifest.json").stat().st_mtime_ns
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    assert (out / "members" / "bert" / "manifest.json").stat().st_mtime_ns == trained
    measured = json.loads((out / "results.json").read_text())["measured"]
    for one in finished[1]:
        for name in ("P@1", "P@5", "nDCG@5"):
            assert measured[one.name][name] == pytest.approx(one.numbers[name])
