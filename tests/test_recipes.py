"""Recipes: published settings that methods accept, and published scores next to measured ones."""

from __future__ import annotations

import json

import pytest

import treetop
from commands import call
from test_cli import sentences, write_lines
from treetop.errors import ConfigError
from treetop.methods import METHODS, method_class
from treetop.metrics import PROPENSITY
from treetop.metrics.documents import RANKING
from treetop.recipes import ENSEMBLE, Inputs, all_recipes, find_recipe, published_encoders
from treetop.recipes.tables import published_tables

SETTINGS_ONLY = {"cascadexml-dismec"}
"""Families without published numbers."""


@pytest.mark.parametrize("recipe", all_recipes().values(), ids=all_recipes())
def test_every_recipe_is_sound(recipe):
    assert recipe.name == f"{recipe.family}/{recipe.data_set.name}"
    assert recipe.data_set.name in PROPENSITY
    assert bool(recipe.published) == (recipe.family not in SETTINGS_ONLY)
    names = [member.name for member in recipe.members]
    for row in recipe.published:
        assert row.model and row.where and (row.scores or row.costs)
        assert row.of in (None, *names, *([ENSEMBLE] if recipe.rule else []))
        for name, value in row.scores.items():
            metric, _, k = name.partition("@")
            assert metric in RANKING and k in ("1", "3", "5") and 0 < value < 100
        assert not any(name in RANKING for name in row.costs)
        if "P@1" in row.scores:
            assert row.scores["P@1"] > row.scores["P@3"] > row.scores["P@5"]
    kinds = [row.of is None for row in recipe.published]
    assert kinds == sorted(kinds)  # those of no member are last
    json.dumps(recipe.to_dict())
    assert (recipe.settings is None) == (recipe.settings_from is None) == (not recipe.members)
    assert (recipe.rule is None) == (len(recipe.members) < 2)
    assert recipe.rule is None or method_class("ensemble").config_class(rule=recipe.rule)
    if recipe.method not in METHODS:
        with pytest.raises(ConfigError, match="treetop does not have the method"):
            recipe.make()
        return
    config = method_class(recipe.method).config_class()
    assert recipe.members or recipe.make().config == config
    for member in recipe.members:
        made = recipe.make(member.name)
        for name, value in member.settings.items():
            assert config.full_name(name) == name
            assert made.config.value(name) == value
        if "transformer.encoder" in member.settings:
            encoder = published_encoders()[member.settings["transformer.encoder"]]
            assert not encoder.name.startswith("xlnet") or member.settings["transformer.pooling"] != "pooler"
            assert "large" not in encoder.name or encoder.hidden == 1024


def test_there_is_one_for_every_published_pair():
    names = set(all_recipes())
    small = {"eurlex-4k", "wiki10-31k", "amazoncat-13k", "amazon-670k"}
    for family in (
        "kim-cnn",
        "kim-cnn-softmax",
        "kim-cnn-dynamic",
        "xml-cnn",
        "xml-cnn-impl",
        "cnn-baseline",
    ):
        assert {f"{family}/{data}" for data in small} <= names
    for family in ("xr-linear", "parabel", "bonsai", "dismec", "annexml", "pfastrexml", "extremetext"):
        assert {f"{family}/{data}" for data in PROPENSITY} <= names
    assert {f"{family}/wiki-500k" for family in ("slice", "glas", "proxml", "ppd-sparse", "sleec")} <= names


def test_published_tables_are_whole():
    tables = published_tables()
    rows = {name: len(table.rows) for name, table in tables.items()}
    # X-Transformer, Tables 3, 5 and 6; LightXML, Tables 3 to 6
    assert (rows["chang2020-3"], rows["chang2020-5"], rows["chang2020-6"]) == (13, 10, 6)
    assert [rows[f"jiang2021-{number}"] for number in (3, 4, 5, 6)] == [8, 2, 3, 2]
    # XR-Transformer, Tables 2, 5, 9 (three rows are split by data set) and 11; CascadeXML, Table 10
    assert [rows[f"zhang2021-{number}"] for number in (2, 5, 9, 11)] == [12, 4, 6, 4]
    assert rows["kharbanda2022-10"] == 5
    systems = [row.system for row, _ in tables["chang2020-3"].on("wiki-500k")]
    assert len(systems) == 11 and "MLC2seq" not in systems and "XML-CNN" not in systems
    best = {row.system: cells for row, cells in tables["zhang2021-2"].on("amazon-3m")}
    assert best["AnnexML"] == {"P@1": 49.30, "P@3": 45.55, "P@5": 43.11} and "LightXML*" not in best
    assert [table.paper.venue[-4:] for table in tables.values()] == sorted(
        table.paper.venue[-4:] for table in tables.values()
    )
    for table in tables.values():
        assert set(table.data_sets) <= set(PROPENSITY)
        for row in table.rows:
            assert all(set(cells) <= set(table.columns) for cells in row.cells.values())
            for data_set, cells in row.cells.items() if row.recipe is not None else ():
                published = find_recipe(f"{row.recipe}/{data_set}").published
                assert any(cells.items() <= {**one.scores, **one.costs}.items() for one in published)


@pytest.mark.parametrize(
    ("name", "of", "scores"),
    [
        ("xr-transformer/amazon-3m", ENSEMBLE, {"P@1": 54.20, "PSP@5": 25.79}),
        ("xr-transformer/wiki10-31k", "bert", {"P@1": 88.0, "R@5": 19.9}),
        ("xr-transformer/amazon-670k", "bert-2", {"P@1": 49.1, "R@1": 10.3}),
        ("x-transformer/eurlex-4k", ENSEMBLE, {"P@1": 87.22, "R@3": 44.73}),
        ("x-transformer/wiki-500k", "xlnet-text-emb", {"P@1": 74.12, "R@5": 50.98}),
        ("x-transformer/eurlex-4k", "roberta-pifa-neural", {"P@1": 84.79, "R@5": 59.21}),
        ("lightxml/amazon-670k", ENSEMBLE, {"P@1": 49.10, "P@5": 39.85}),
        ("lightxml/wiki-500k", "bert-3", {"P@1": 76.19, "P@3": 57.22}),
        ("attention-xml/wiki-500k", "run-1", {"P@1": 75.07, "P@5": 44.41}),
        ("attention-xml/amazon-670k", ENSEMBLE, {"P@1": 47.68, "PSP@1": 30.25}),
        ("kim-cnn-dynamic/amazoncat-13k", "kim-cnn-dynamic", {"P@1": 93.65, "nDCG@5": 85.22}),
        ("parabel/amazon-670k", "parabel", {"PSP@1": 26.36}),
    ],
)
def test_rows_are_those_of_the_papers(name, of, scores):
    assert any(scores.items() <= row.scores.items() for row in find_recipe(name).published_of(of))


@pytest.mark.parametrize(
    ("name", "of", "costs"),
    [
        ("xr-transformer/eurlex-4k", ENSEMBLE, {"training hours": 0.8}),
        ("xr-transformer/wiki-500k", "bert-1", {"training hours on 1 GPU": 29.2, "ms per text": 33.9}),
        ("lightxml/amazon-670k", "bert-1", {"training hours": 28.75, "ms per text": 4.09, "model GB": 1.53}),
        ("cascadexml/amazon-3m", ENSEMBLE, {"training hours": 30.0}),
        ("cascadexml/wiki-500k", "bert-1", {"recall of level 3 (%)": 93.12}),
        ("x-transformer/wiki-500k", ENSEMBLE, {"P@1 over Parabel (%)": 12.49}),
    ],
)
def test_times_and_sizes_are_those_of_the_papers(name, of, costs):
    rows = find_recipe(name).published_of(of)
    row = next(row for row in rows if costs.items() <= row.costs.items())
    assert ("V100" in row.where) == any("hours" in cost for cost in costs)


def test_a_row_of_several_papers_is_one_row():
    rows = {row.model: row for row in find_recipe("dismec/eurlex-4k").published}
    row = rows["as reported in the AttentionXML paper"]
    assert len(rows) == 1 and row.of == "dismec"
    assert str(row.source).endswith("NeurIPS 2019")
    assert (
        row.where == "Table 3; quoted in KDD 2020, Table 3 and AAAI 2021, Table 3 and NeurIPS 2021, Table 2"
    )
    best = find_recipe("xr-transformer/amazon-670k").published_of(ENSEMBLE)[0]
    assert best.where == "Tables 2, 3, 5, 8 and 11; times of Tables 3 and 8: 8 V100 GPUs"


def test_what_a_faithful_run_needs():
    assert find_recipe("xr-transformer/eurlex-4k").inputs == Inputs(features=True)
    assert find_recipe("x-transformer/eurlex-4k").inputs == Inputs(features=True, label_texts=True)
    assert find_recipe("xml-cnn/eurlex-4k").inputs == Inputs(vectors="glove.6B.300d", vocabulary="Xf.txt")
    assert find_recipe("attention-xml/eurlex-4k").inputs == Inputs(vectors="glove.840B.300d")
    assert find_recipe("attention-xml/wiki-500k").inputs.features
    assert find_recipe("lightxml/wiki-500k").inputs.features
    assert find_recipe("lightxml/eurlex-4k").inputs == find_recipe("annexml/eurlex-4k").inputs == Inputs()
    assert find_recipe("dismec/amazon-3m").data_set.features == 337067


def test_members_have_their_own_settings():
    def settings(name, member):
        return find_recipe(name).make(member).config

    assert settings("xr-transformer/amazoncat-13k", "bert").linear.cost_positive == 0.25
    assert settings("xr-transformer/amazoncat-13k", "xlnet").refined.leaf_size == 100
    assert settings("xr-transformer/wiki10-31k", "roberta").steps == (600, 400, 200)
    assert settings("xr-transformer/amazon-3m", "bert-2").tree.leaf_size == 32
    assert settings("lightxml/amazoncat-13k", "xlnet").max_length == 128
    assert settings("lightxml/wiki10-31k", "roberta").training.average_every == 200
    assert settings("lightxml/wiki-500k", "bert-2").seed == 1
    assert settings("x-transformer/wiki-500k", "roberta-pifa-neural").index == "pifa-neural"
    text = settings("x-transformer/wiki-500k", "bert-text-emb")
    assert text.index == "text-emb" and text.index_encoder == "xlnet-large-cased"
    assert not any(
        member.settings["rankers"] for data in ("eurlex-4k", "wiki-500k")
        for member in find_recipe(f"lightxml/{data}").members
    )  # fmt: skip
    dismec = settings("cascadexml-dismec/amazon-670k", "bert-1")
    assert dismec.rankers and dismec.ranking.tree.leaf_size > 3_000_000 and dismec.taps == (5, 6, 8, 10, 12)
    rules = {name: find_recipe(f"xr-transformer/{name}").rule for name in PROPENSITY}
    assert list(rules.values()).count("softmax") == 3 and rules["wiki-500k"] == "sigmoid"
    assert find_recipe("xml-cnn-impl/eurlex-4k").make().config.words.min_df == 1


def test_what_the_papers_say():
    recipe = find_recipe("xml-cnn/wiki10-31k")
    assert recipe.settings["cnn.pools"] == 8 and recipe.settings["cnn.filters"] == 384
    assert recipe.settings["training.learning_rate"] == 3e-4 and recipe.settings["epochs"] == 50
    assert recipe.published[0].scores == {
        "P@1": 84.70, "P@3": 71.80, "P@5": 61.03, "nDCG@3": 74.84, "nDCG@5": 66.61,
    }  # fmt: skip
    assert recipe.make(filters=5).config.cnn.filters == 5
    assert find_recipe("kim-cnn/eurlex-4k").published[0].scores["P@1"] == 80.93
    dynamic = find_recipe("kim-cnn-dynamic/wiki10-31k")
    assert dynamic.method == "kim-cnn" and dynamic.make().config.cnn.pools == 8
    assert dynamic.settings["training.learning_rate"] == 1e-4 and dynamic.settings["cnn.dropout"] == 0.6
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
    assert xlnet.max_length == 64 and xlnet.linear.level_costs == ("1/2", "2/4")
    assert recipe.make("roberta").config.linear.level_costs == ("1/2", "2/1")
    assert find_recipe("xr-transformer/wiki10-31k").member("xlnet").settings["steps"] == (400, 400, 200)
    assert len(find_recipe("x-transformer/wiki-500k").members) == 9
    with pytest.raises(ConfigError, match="no member 'robert'; did you mean 'roberta'"):
        recipe.make("robert")
    with pytest.raises(ConfigError, match="no members: only scores"):
        find_recipe("xml-cnn-impl/wiki10-31k").member("xml-cnn-impl")


def test_a_row_is_of_a_member_or_of_the_ensemble():
    recipe = find_recipe("lightxml/wiki-500k")
    assert [row.scores["P@1"] for row in recipe.published_of(ENSEMBLE)] == [77.78, 77.89]
    ones = [row.scores["P@1"] for row in recipe.published_of("bert-2")]
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
    assert "parabel 44.91 39.77 35.98 26.36 29.95 33.17 You, Zhang" in published

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
    whole = call(capsys, "recipes", "eurlex-4k").out
    third = whole.partition("KDD 2020, Table 3: ")[2].partition("\n\n")[0]
    systems = [line[:35].strip() for line in third.splitlines()[2:]]
    assert systems[0] == "AnnexML" and systems[6] == "MLC2seq" and systems[-1] == "X-Transformer"
    assert "pretrained XLNet + Parabel           33.53  26.71  22.15  parabel/eurlex-4k" in third
    assert "SLEEC                         -3.53" in whole and "NeurIPS 2021, Tables 3 and 8" in whole
    one = call(capsys, "recipes", "xml-cnn/eurlex-4k").out
    assert "EUR-Lex-4K, 15,449 training texts, 3,865 test texts, 3,956 labels" in one
    assert (
        "cnn.pools" in one and "GloVe" in one and "78.94" in one and "NAACL 2022, Tables 6, 7 and 15" in one
    )
    assert "Needs: word vectors glove.6B.300d; the vocabulary Xf.txt" in one
    assert "Only scores are published" in call(capsys, "recipes", "xml-cnn-impl/amazon-670k").out
    assert len(json.loads(call(capsys, "recipes", "cnn-baseline", "--json").out)) == 4
    assert "kim-cnn-dynamic/eurlex-4k" in call(capsys, "recipes", "kim-cnn").out
    assert "not available" in call(capsys, "recipes", "cascadexml/amazon-670k").out
    call(capsys, "recipes", "magic").sentence(2, "no recipe, method or data set 'magic'")
    call(capsys, "recipes", "xml-cnn/eurlex").sentence(2, "did you mean")
