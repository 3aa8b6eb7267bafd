"""The command compare, its reports, and published ablations."""

from __future__ import annotations

import json
import sys

import pytest

import treetop
from test_comparison import quick_collections  # noqa: F401
from test_contract import topic_texts
from test_neural_training import write_jsonl
from treetop import Dataset, Variant
from treetop.ablations import EXPECTATIONS, Claim, ablation_names, load_ablation
from treetop.ablations.verdicts import outcome, verdicts
from treetop.comparison import Contrast, compare
from treetop.errors import ConfigError
from treetop.methods import method_class
from treetop.report.markdown import to_markdown

TINY = {
    "filters": 4,
    "dimension": 4,
    "epochs": 2,
    "max_length": 12,
    "batch_size": 32,
    "threads": 1,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(120, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


# -- ablations -----------------------------------------------------------------------------------------------

SWITCHES = {
    "xml-cnn": {"sweep", "pooling", "pools", "filter_sizes", "filters", "stride", "hidden", "loss", "dropout"}
    | {"vocabulary", "unknown"},
    "lightxml": {"negatives", "layers"},
    "x-transformer": {"encoder", "pooling", "index", "use", "negatives"},
    "xr-transformer": {"levels", "max_clusters", "use"},
}
METHODS = ["cascadexml-stages", "xml-cnn-table-6", "xr-transformer-table-5", "xr-transformer-table-9"]
"""Ablations of methods: rows differ in more."""
NEEDED = {"words.vocabulary": "words.txt"}


@pytest.mark.parametrize("name", ablation_names())
def test_the_rows_of_an_ablation_differ_only_in_their_settings(name):
    ablation = load_ablation(name)
    configs = []
    rows = [row for row in ablation.rows if row.method is not None]
    for row, variant in zip(rows, ablation.variants(NEEDED if ablation.needs else {}), strict=True):
        config = {item.name: item.value for item in variant.make(seed=0).config.settings()}
        for setting, value in {**ablation.settings, **row.settings}.items():
            full = method_class(row.method).config_class().full_name(setting)
            assert config[full] == (tuple(value) if isinstance(value, list) else value), (row.name, setting)
        configs.append(config)
    if name not in METHODS:
        differing = {item for item in configs[0] if len({config[item] for config in configs}) > 1}
        family = next(family for family in SWITCHES if name.startswith(family))
        assert {item.rpartition(".")[2] for item in differing} <= SWITCHES[family]


UNPUBLISHED = ["cascadexml-stages", "lightxml-figure-2", "xr-transformer-figure-2"]
"""Ablations without a table of scores."""


@pytest.mark.parametrize("name", [name for name in ablation_names() if name not in UNPUBLISHED])
def test_an_ablation_has_the_scores_of_its_table_on_every_data_set(name):
    names = [row.name for row in load_ablation(name).rows]
    for data_set in load_ablation(name).data_sets:
        published = load_ablation(f"{name}/{data_set}")
        assert list(published.published) == names
        assert all({"P@1"} <= set(scores) for scores in published.published.values())
        published.variants(NEEDED if published.needs else {})


def test_an_ablation_as_published_has_the_settings_of_its_recipe():
    tuned = load_ablation("xml-cnn-table-7/wiki10-31k")
    assert (
        tuned.published_on == "Wiki10-31K" and load_ablation("xml-cnn-table-7").published_on == "EUR-Lex-4K"
    )
    assert tuned.published["Eq. 4, no hidden layer, dynamic"]["nDCG@5"] == 65.61
    last = tuned.variants({"epochs": 3, "pools": 9})[4].make(seed=0).config
    assert last.cnn.pools == 8 and last.cnn.filters == 384 and last.epochs == 3
    rows = {variant.name: variant.make(seed=0).config for variant in
            load_ablation("x-transformer-table-5/wiki-500k").variants()}  # fmt: skip
    assert len(rows) == 7 and {config.clusters for config in rows.values()} == {8192}
    assert rows["0: BERT, rankers on TF-IDF, TFN"].use == "tfidf"
    assert rows["4: XLNet"].transformer.pooling == "last" and rows["4: XLNet"].steps == 50000
    costs = load_ablation("xr-transformer-table-9/amazon-3m").variants({"encoder": "DIR"})
    assert [variant.make(seed=0).config.linear.cost_positive for variant in costs] == [1, 4, 1, 8]
    assert costs[3].make(seed=0).config.transformer.encoder == "DIR"  # which XR-Linear does not have
    with pytest.raises(ConfigError, match="no data set of xml-cnn-table-7 'wiki10'; did you mean"):
        load_ablation("xml-cnn-table-7/wiki10")


def test_the_vocabulary_of_table_8_must_be_given():
    ablation = load_ablation("xml-cnn-table-8")
    with pytest.raises(ConfigError, match=r"needs the vocabulary .* --set words\.vocabulary="):
        ablation.variants()
    every, reduced = (variant.make(seed=0).config.words for variant in ablation.variants(NEEDED))
    assert every.vocabulary is None and reduced.vocabulary == "words.txt" and reduced.unknown == "drop"
    assert ablation.published["mimicked, reduced vocabulary"]["P@1"] == 75.5


def test_the_rows_with_eq_7_are_those_released():
    rows = {row.name: row.settings for row in load_ablation("xml-cnn-table-4").rows}
    assert rows["XML-CNN, words, Eq. 7"]["stride"] == 2 and "dropout" not in rows["XML-CNN, words, Eq. 7"]
    assert rows["XML-CNN, embeddings, Eq. 7"]["stride"] == 2
    assert rows["XML-CNN, embeddings, Eq. 7"]["dropout"] == 0.25
    assert load_ablation("xml-cnn-table-4").settings["words.min_df"] == 1


@pytest.mark.parametrize("name", ablation_names())
def test_the_claims_of_an_ablation_are_about_its_rows(name):
    ablation = load_ablation(name)
    names = {row.name for row in ablation.rows if row.method is not None}
    for claim in ablation.claims:
        assert claim.first in names and claim.second in names and claim.expects in EXPECTATIONS
        assert (claim.within > 0) == (claim.expects == "alike")


def test_ablations_have_every_row():
    rows = {name: len(load_ablation(name).rows) for name in ablation_names()}
    of_cnn = {4: 6, 5: 5, 6: 2, 7: 5, 8: 5, 10: 8, 11: 5, 12: 4}  # Table 5 has a row of Table 4 besides
    others = {"lightxml-table-5": 3, "lightxml-figure-2": 2, "cascadexml-stages": 3}
    others |= {"x-transformer-table-5": 10, "xr-transformer-table-5": 4, "xr-transformer-table-9": 4}
    others |= {"xr-transformer-figure-2": 6}
    assert rows == {f"xml-cnn-table-{table}": count for table, count in of_cnn.items()} | others
    every = [row.name for name in ablation_names() for row in load_ablation(name).rows]
    assert len(every) == len(set(every))  # so several can be run together
    with pytest.raises(ConfigError, match="did you mean 'xml-cnn-table-4'"):
        load_ablation("xml-cnn-table4")


def test_rows_of_table_12_have_equal_parameters():
    widths = {
        row.name: row.settings["filters"] * row.settings["pools"]
        for row in load_ablation("xml-cnn-table-12").rows
    }
    assert list(widths.values()) == [256, 256, 1024, 1024]


def test_changes_reach_what_rows_share():
    ablation = load_ablation("xml-cnn-table-7")
    models = [variant.make(seed=0) for variant in ablation.variants({"epochs": 3, "pools": 9, "filters": 5})]
    assert {model.config.epochs for model in models} == {3} and {
        model.config.cnn.filters for model in models
    } == {5}
    assert models[4].config.cnn.pools == 2  # its own


@pytest.mark.parametrize(
    ("expects", "difference", "verdict"),
    [
        ("better", 3.0, "agrees"), ("better", -3.0, "disagrees"), ("better", 0.5, "too close to tell"),
        ("not better", 3.0, "disagrees"), ("not better", -3.0, "agrees"), ("not better", 0.5, "agrees"),
        ("alike", 0.9, "agrees"), ("alike", -3.0, "disagrees"), ("alike", 1.5, "too close to tell"),
    ],
)  # fmt: skip
def test_verdicts(expects, difference, verdict):
    claim = Claim("it is so", "a", "b", expects, within=1.0)
    contrast = Contrast(difference, 1.0, 0.01, difference - 2, difference + 2, 0.01)
    assert contrast.significant == (abs(difference) > 2)
    assert outcome(claim, contrast) == verdict


def test_significance_needs_seeds_and_texts():
    assert Contrast(3.0, 1.0, 0.04, 0.1, 6.0, 0.01).significant
    assert not Contrast(3.0, 1.6, 0.06, 0.1, 6.0, 0.01).significant
    assert not Contrast(3.0, 1.0, 0.04, -0.1, 6.0, 0.06).significant
    assert Contrast(-3.0, None, None, -6.0, -0.1, 0.01).significant


# -- the report and the command ------------------------------------------------------------------------------


def test_the_report_of_an_ablation(train, test, tmp_path):
    pytest.importorskip("matplotlib")
    from treetop.report.plots import draw_all

    ablation = load_ablation("xml-cnn-table-7")
    comparison = compare([*ablation.variants(TINY), Variant("linear", "xr-linear")], train, test, seeds=2)
    found = verdicts(ablation, comparison)
    assert [round(item.published, 2) for item in found] == [8.15, -4.37, 1.06, 2.38, 1.99]
    means = {name: comparison.spread(name, "P@1").mean for name in comparison.names}
    assert found[0].contrast.difference == pytest.approx(
        means[ablation.rows[1].name] - means[ablation.rows[0].name]
    )
    pictures = draw_all(comparison, tmp_path)
    assert [file for _, file in pictures] == ["accuracy.svg", "speed.svg", "parameters.svg", "training.svg"]
    assert all((tmp_path / file).read_text().rstrip().endswith("</svg>") for _, file in pictures)
    page = to_markdown(comparison, [(ablation, found)], pictures)
    row = next(line for line in page.splitlines() if line.startswith("| Eq. 4, no hidden layer, max |"))
    spread = comparison.spread("Eq. 4, no hidden layer, max", "P@1")
    parts = comparison.parameters("Eq. 4, no hidden layer, max")
    assert f"| {spread.mean:.2f} ± {spread.deviation:.2f} |" in row and f"| {sum(parts.values()):,} |" in row
    assert (
        "| +8.15 |" in page and "of 5 claims agree" in page and "![P@1 of each variant](accuracy.svg)" in page
    )
    for line in page.splitlines():  # cells are never cut by what a name holds
        if line.startswith("|"):
            assert line.endswith("|")


def test_validation_metrics_are_at_their_epochs(train, test):
    pytest.importorskip("matplotlib")
    from treetop.report.plots import draw_training

    settings = {"clusters": (3,), "hidden": 4, "dimension": 8, "epochs": 2, "validation": 0.2, "threads": 1}
    levels = Variant.of("levels", "attention-xml", settings)
    loss, validation = draw_training(compare([levels], train[:60], test, seeds=2, device="cpu")).axes
    assert loss.lines[0].get_xdata().tolist() == [1, 2, 3, 4]
    assert validation.lines[0].get_xdata().tolist() == [3, 4]  # of the last level


@pytest.mark.slow
def test_the_command(train, tmp_path, run):
    write_jsonl(tmp_path / "train.jsonl", train)
    out = tmp_path / "out"
    arguments = (
        *(
            "compare",
            tmp_path / "train.jsonl",
            "--methods",
            "xr-linear,plt",
            "--variant",
            "narrow=xr-linear,beam=1",
        ),
        *("--set", "tree.leaf_size=2", "--seeds", 2, "--threads", 1, "--report", out),
    )
    outcome = run(*arguments, quiet=False)
    assert outcome.code == 0 and "out/report.md: 3 variants, 2 seeds" in outcome.err.replace("\\", "/")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["variant", "xr-linear", "plt", "narrow"]
    content = json.loads((out / "report.json").read_text())
    assert content["data"]["train"]["examples"] == 96 and content["data"]["test"]["examples"] == 24
    assert [variant["settings"] for variant in content["variants"]] == [
        {"tree.leaf_size": 2},
        {"tree.leaf_size": 2},
        {"tree.leaf_size": 2, "linear.beam": [1]},
    ]
    part, held_out = train.split(0.2)
    expected = treetop.make("plt", leaf_size=2, seed=1).fit(part).evaluate(held_out)
    assert content["variants"][1]["runs"][1]["metrics"] == pytest.approx(expected.to_dict())
    assert json.loads(run(*arguments, "--json").out) == content  # and nothing was trained again
    assert "## Against the best" in (out / "report.md").read_text()
    over = run(*arguments, "--relative-to", "plt").out.partition("over plt (%)")[2].splitlines()
    means = {variant["name"]: variant["figures"]["P@1"]["mean"] for variant in content["variants"]}
    ratio = 100 * (means["narrow"] / means["plt"] - 1)
    assert over[2].split()[:2] == ["narrow", f"{ratio:+.2f}"]
    run(*arguments, "--relative-to", "plts").sentence(2, "no variant 'plts'", "xr-linear, plt, narrow")


def test_the_command_with_an_ablation(train, test, tmp_path, run):
    write_jsonl(tmp_path / "train.jsonl", train)
    write_jsonl(tmp_path / "test.jsonl", test)
    changes = [
        item for name, value in TINY.items() if name != "device" for item in ("--set", f"{name}={value}")
    ]
    outcome = run(
        "compare", tmp_path, "--ablation", "xml-cnn-table-12", *changes, "--seeds", 1, "--device", "cpu"
    )
    assert outcome.code == 0, outcome.err
    assert (
        "1,024 filters, 1 pool" in outcome.out
        and "Table 12" in outcome.out
        and "of 6 claims agree" in outcome.out
    )


def test_the_splits_of_a_folder(train, test, tmp_path, run):
    write_jsonl(tmp_path / "train.jsonl", train)
    xr = ("--methods", "xr-linear", "--seeds", 1, "--json")
    run("compare", tmp_path, *xr).sentence(2, "has no split 'test'; choose one of train")
    sizes = [
        json.loads(run("compare", tmp_path, *xr, *more).out)["data"] for more in (["--validation", 0.5],)
    ]
    assert [(size["train"]["examples"], size["test"]["examples"]) for size in sizes] == [(60, 60)]
    write_jsonl(tmp_path / "test.jsonl", test)
    for arguments in ((tmp_path,), (tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl")):
        data = json.loads(run("compare", *arguments, *xr).out)["data"]
        assert (data["train"]["examples"], data["test"]["examples"]) == (120, 40)
    raw = tmp_path / "raw"
    treetop.write(train, raw, format="rawtext", split="train")
    treetop.write(test, raw, format="rawtext", split="test")
    assert json.loads(run("compare", raw, *xr).out)["data"]["test"]["examples"] == 40
    treetop.write(train, tmp_path / "one.arrays")  # a folder, but of one data set
    assert json.loads(run("compare", tmp_path / "one.arrays", *xr).out)["data"]["test"]["examples"] == 24


def test_groups_stay_together(tmp_path, run):
    texts, labels = topic_texts(60, seed=0)
    with (tmp_path / "train.jsonl").open("w") as file:
        for row, (text, names) in enumerate(zip(texts, labels, strict=True)):
            file.write(json.dumps({"text": text, "labels": names, "author": str(row // 20)}) + "\n")
    outcome = run(
        "compare", tmp_path / "train.jsonl", "--methods", "xr-linear", "--group", "author", "--json"
    )
    assert json.loads(outcome.out)["data"]["test"]["examples"] == 20


def test_mistakes(train, tmp_path, run):
    data = write_jsonl(tmp_path / "t.jsonl", train) or tmp_path / "t.jsonl"
    run("compare", data).sentence(2, "nothing to compare", "--methods")
    run("compare", data, "--methods", "xr-linear,kim-cn").sentence(2, "'kim-cn'", "did you mean 'kim-cnn'?")
    run("compare", data, "--methods", "kim-cnn,plt", "--set", "filters=3").sentence(
        2, "plt", "no setting 'filters'"
    )
    run("compare", data, "--ablation", "xml-cnn-table-9").sentence(2, "'xml-cnn-table-9'")
    run("compare", data, "--variant", "a=xr-linear,2").sentence(2, "SETTING=VALUE")
    run("compare", data, "--methods", "plt", "--report", data).sentence(2, "is a file, not a folder")
    both = ("--test", data, "--validation", 0.1)
    run("compare", data, "--methods", "plt", *both).sentence(2, "--test and --validation")
    run("compare", tmp_path / "none", "--methods", "plt").sentence(2, "no such file")
    run("compare", data, "--methods", "plt,plt").sentence(2, "two variants are called 'plt'")


def test_without_matplotlib(train, tmp_path, run, monkeypatch):
    write_jsonl(tmp_path / "train.jsonl", train)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    common = ("compare", tmp_path / "train.jsonl", "--methods", "xr-linear", "--seeds", 1)
    outcome = run(*common, "--report", tmp_path / "out", quiet=False)
    assert outcome.code == 0 and "pip install 'treetop-xmc[plots]'" in outcome.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("report.html", "report.md", "report.json", "runs")
    }


def test_the_ablations_are_listed(run):
    assert [
        line.split()[0] for line in run("ablations").out.splitlines()[: len(ablation_names())]
    ] == ablation_names()
    shown = run("ablations", "xml-cnn-table-4").out
    assert "XML-CNN, embeddings, Eq. 7" in shown and "stride=2" in shown and "filter_sizes=2-4-8" in shown
    assert json.loads(run("ablations", "xml-cnn-table-4", "--json").out)["rows"][0]["method"] == "kim-cnn"
    run("ablations", "xml").sentence(2, "there is no ablation 'xml'")


def test_the_former_names_work_and_name_the_new_ones(train, tmp_path, run):
    listed = run("ablations")
    former = run("studies", quiet=False)
    assert (former.code, former.out) == (0, listed.out)
    assert former.err == "treetop studies is now treetop ablations\n"
    assert "studies" not in run("--help").out and "--study" not in run("compare", "--help").out
    data = write_jsonl(tmp_path / "t.jsonl", train) or tmp_path / "t.jsonl"
    outcome = run("compare", data, "--study", "xml-cnn-table-9", quiet=False)
    assert outcome.code == 2 and outcome.err.startswith("--study is now --ablation\n")
    assert "there is no ablation 'xml-cnn-table-9'" in outcome.err
