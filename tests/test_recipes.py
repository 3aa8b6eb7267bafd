"""Recipes: published settings that methods accept, and published scores next to measured ones."""

from __future__ import annotations

import json

import pytest

import treetop
from commands import call
from test_cli import sentences, write_lines
from treetop.errors import ConfigError
from treetop.methods import method_class
from treetop.metrics import PROPENSITY
from treetop.metrics.documents import RANKING
from treetop.recipes import ENSEMBLE, all_recipes, find_recipe, published_encoders

SETTINGS_ONLY = {"cascadexml"}
"""Methods whose tables of scores were not available."""


@pytest.mark.parametrize("recipe", all_recipes().values(), ids=all_recipes())
def test_every_recipe_is_sound(recipe):
    assert recipe.name == f"{recipe.method}/{recipe.data_set.name}"
    assert recipe.data_set.name in PROPENSITY
    assert bool(recipe.published) == (recipe.method not in SETTINGS_ONLY)
    for row in recipe.published:
        assert row.model and row.where
        for name, value in row.scores.items():
            metric, _, k = name.partition("@")
            assert metric in RANKING and k in ("1", "3", "5") and 0 < value < 100
        assert row.scores["P@1"] > row.scores["P@3"] > row.scores["P@5"]
        assert row.of in (
            None,
            *(member.name for member in recipe.members),
            *([ENSEMBLE] if recipe.rule else []),
        )
    json.dumps(recipe.to_dict())
    config = method_class(recipe.method).config_class()
    for member in recipe.members:
        made = recipe.make(member.name)
        for name, value in member.settings.items():
            assert config.full_name(name) == name
            assert made.config.value(name) == value
        if "transformer.encoder" in member.settings:
            assert member.settings["transformer.encoder"] in published_encoders()
    assert (recipe.settings is None) == (recipe.settings_from is None) == (not recipe.members)
    assert (recipe.rule is None) == (len(recipe.members) < 2)
    assert recipe.members or recipe.make().config == config


def test_there_is_one_for_every_published_pair():
    names = set(all_recipes())
    small = {"eurlex-4k", "wiki10-31k", "amazoncat-13k", "amazon-670k"}
    for method in ("kim-cnn", "kim-cnn-softmax", "xml-cnn", "xml-cnn-impl", "cnn-baseline"):
        assert {f"{method}/{data}" for data in small} <= names
    for method in ("xr-linear", "parabel", "bonsai", "dismec"):
        assert {f"{method}/{data}" for data in PROPENSITY} <= names


def test_what_the_papers_say():
    recipe = find_recipe("xml-cnn/wiki10-31k")
    assert recipe.settings["cnn.pools"] == 8 and recipe.settings["cnn.filters"] == 384
    assert recipe.settings["training.learning_rate"] == 3e-4 and recipe.settings["epochs"] == 50
    assert recipe.published[0].scores == {
        "P@1": 84.70, "P@3": 71.80, "P@5": 61.03, "nDCG@3": 74.84, "nDCG@5": 66.61,
    }  # fmt: skip
    assert recipe.make(filters=5).config.cnn.filters == 5
    assert find_recipe("kim-cnn/eurlex-4k").published[0].scores["P@1"] == 80.93
    assert find_recipe("bonsai/eurlex-4k").make().config.tree.depth == 2
    assert find_recipe("bonsai/amazon-3m").make().config.tree.depth == 3
    assert find_recipe("parabel/amazon-3m").published[0].scores["PSP@5"] == 17.55
    assert find_recipe("xml-cnn-impl/wiki10-31k").settings is None
    with pytest.raises(ConfigError, match="did you mean 'xml-cnn/eurlex-4k'"):
        find_recipe("xml-cnn/eurlex4k")


def test_members_of_an_ensemble():
    recipe = find_recipe("xr-transformer/eurlex-4k")
    assert [member.name for member in recipe.members] == ["bert", "roberta", "xlnet"]
    assert recipe.rule == "softmax" and recipe.settings == recipe.member("bert").settings
    assert recipe.make().config.transformer.encoder == "bert-base-uncased"
    xlnet = recipe.make("xlnet", max_length=64).config
    assert xlnet.transformer.encoder == "xlnet-base-cased" and xlnet.transformer.pooling == "last"
    assert xlnet.max_length == 64 and xlnet.linear.cost_negative == 4
    assert recipe.make("roberta").config.linear.cost_negative == 1
    assert find_recipe("xr-transformer/wiki10-31k").member("xlnet").settings["steps"] == (400, 400, 200)
    assert len(find_recipe("x-transformer/wiki-500k").members) == 9
    with pytest.raises(ConfigError, match="no member 'robert'; did you mean 'roberta'"):
        recipe.make("robert")
    with pytest.raises(ConfigError, match="no members: only scores"):
        find_recipe("xml-cnn-impl/wiki10-31k").member("xml-cnn-impl")


def test_a_row_is_of_a_member_or_of_the_ensemble():
    recipe = find_recipe("lightxml/wiki-500k")
    assert [row.scores["P@1"] for row in recipe.published_of(ENSEMBLE)] == [77.78, 77.89]
    ones = [row.scores["P@1"] for row in recipe.published_of("bert-1")]
    assert ones == [76.19, 76.3]
    assert recipe.published_of("bert-3") == recipe.published_of("bert-1")  # they differ by the seed
    other = find_recipe("lightxml/wiki10-31k")
    assert [row.scores["P@1"] for row in other.published_of("bert")] == [87.8]
    assert other.published_of("xlnet") == ()


# -- the commands --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("recipes")
    write_lines(home / "train.jsonl", sentences(200))
    write_lines(home / "test.jsonl", sentences(230)[200:])
    return home


def test_train_by_a_recipe_and_compare(folder, capsys):
    train, test, model = folder / "train.jsonl", folder / "test.jsonl", folder / "model"
    by = ("train", train, "--model", model, "--recipe", "parabel/amazon-670k")
    assert call(capsys, *by, "--set", "trees=2", "--method", "parabel").code == 0
    trained = treetop.load(model)
    assert trained.name == "parabel" and trained.statistics["recipe"] == "parabel/amazon-670k"
    assert trained.statistics["recipe_member"] == "parabel"
    assert trained.config.trees == 2 and trained.config.tree.leaf_size == 100
    assert "parabel/amazon-670k" in call(capsys, "info", model).out
    call(capsys, *by, "--method", "bonsai").sentence(2, "is for parabel, not for bonsai")
    other = ("--set", "leaf_size=7", "--model", folder / "other")  # the last part of a setting's name
    assert call(capsys, *by, *other).code == 0
    assert treetop.load(folder / "other").config.tree.leaf_size == 7
    call(capsys, *by[:-1], "parabel/amazon").sentence(2, "there is no recipe", "parabel/amazon-")

    outcome = call(capsys, "evaluate", model, test, "--published", quiet=False)
    assert outcome.code == 0
    assert "for 153,025 test texts of Amazon-670K; this test set has 30" in outcome.err
    table = outcome.out.partition("published: parabel/amazon-670k\n")[2].splitlines()
    assert table[0].split() == ["of", "P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "source"]
    constants = trained.evaluate(treetop.read(test), propensity=PROPENSITY["amazon-670k"])
    measured = [f"{constants[name]:.2f}" for name in table[0].split()[1:-1]]
    assert table[1].split() == ["measured", "now", *measured]
    published = " ".join(table[2].split())
    assert "parabel 44.91 39.77 35.98 26.36 29.95 33.17 Zhang, Chang, Yu, Dhillon, NeurIPS 2021" in published

    other = call(capsys, "evaluate", model, test, "--recipe", "kim-cnn/eurlex-4k", "--json", "-")
    report = json.loads(other.out)
    assert report["published"][0]["scores"]["P@1"] == 80.93 and "P@1" in report


def test_a_model_is_compared_with_what_it_is(folder, capsys):
    train, test = folder / "train.jsonl", folder / "test.jsonl"
    for number in (1, 2):
        small = ("--method", "parabel", "--set", f"seed={number}", "--model", folder / f"one-{number}")
        assert call(capsys, "train", train, *small).code == 0
    joined = ("ensemble", folder / "joined", folder / "one-1", folder / "one-2")
    assert call(capsys, *joined).code == 0

    def rows(model, recipe):
        outcome = call(
            capsys, "evaluate", folder / model, test, "--recipe", recipe, "--json", "-", quiet=False
        )
        return [row["of"] for row in json.loads(outcome.out)["published"]], outcome.err

    assert set(rows("one-1", "lightxml/wiki-500k")[0]) == {"bert-1"}
    assert set(rows("joined", "lightxml/wiki-500k")[0]) == {"ensemble"}
    none, notes = rows("one-1", "lightxml/eurlex-4k")
    assert none == [] and "no published scores of such a model, but others (ensemble of 3" in notes


def test_measured_against_what_is_not_known(folder, capsys):
    train, test, model = folder / "train.jsonl", folder / "test.jsonl", folder / "plain"
    assert call(capsys, "train", train, "--model", model, "--method", "neighbours").code == 0
    assert call(capsys, "predict", model, test, "--output", folder / "p.jsonl").code == 0
    call(capsys, "evaluate", model, test, "--published").sentence(2, "not trained with a recipe", "--recipe")
    call(capsys, "evaluate", folder / "p.jsonl", test, "--published").sentence(2, "not a model", "--recipe")
    outcome = call(capsys, "evaluate", folder / "p.jsonl", test, "--recipe", "dismec/eurlex-4k")
    assert outcome.code == 0 and "83.21" in outcome.out


def test_measured_where_no_scores_are_published(folder, capsys):
    model, answers, test = (folder / name for name in ("any", "answers.jsonl", "test.jsonl"))
    assert call(capsys, "train", folder / "train.jsonl", "--model", model, "--method", "plt").code == 0
    assert call(capsys, "predict", model, test, "--output", answers).code == 0
    outcome = call(capsys, "evaluate", answers, test, "--recipe", "cascadexml/amazon-670k", quiet=False)
    assert outcome.code == 0 and "coverage" in outcome.out and "published" not in outcome.out
    assert "cascadexml/amazon-670k has no published scores" in outcome.err
    assert "the published scores are for" not in outcome.err


def test_where_only_scores_are_published(folder, capsys):
    small = {"filters": 2, "hidden": 4, "dimension": 8, "epochs": 1, "max_length": 8, "device": "cpu"}
    settings = [item for name, value in small.items() for item in ("--set", f"{name}={value}")]
    outcome = call(
        *(capsys, "train", folder / "train.jsonl", "--model", folder / "cnn"),
        *("--recipe", "xml-cnn-impl/wiki10-31k", *settings),
        quiet=False,
    )
    assert outcome.code == 0, outcome.err
    assert "only scores are published, no settings" in outcome.err and "GloVe" in outcome.err


def test_recipes_are_listed_and_shown(capsys):
    listed = call(capsys, "recipes").out
    assert all(name in listed for name in all_recipes())
    assert "scores only" in listed and "settings only" in listed
    of_data = call(capsys, "recipes", "amazon-3m").out
    assert "xr-transformer/amazon-3m" in of_data and "eurlex" not in of_data
    one = call(capsys, "recipes", "xml-cnn/eurlex-4k").out
    assert "EUR-Lex-4K, 15,449 training texts, 3,865 test texts, 3,956 labels" in one
    assert "cnn.pools" in one and "GloVe" in one and "78.94" in one and "NAACL 2022, Tables 7 and 15" in one
    assert "Only scores are published" in call(capsys, "recipes", "xml-cnn-impl/amazon-670k").out
    assert len(json.loads(call(capsys, "recipes", "kim-cnn", "--json").out)) == 4
    assert "not available" in call(capsys, "recipes", "cascadexml/amazon-670k").out
    call(capsys, "recipes", "magic").sentence(2, "no recipe, method or data set 'magic'")
    call(capsys, "recipes", "xml-cnn/eurlex").sentence(2, "did you mean")
