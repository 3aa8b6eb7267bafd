"""HTML reports: their numbers are the metrics, their markup is valid, and untrusted text never runs."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import treetop
from reports import ReadReport
from test_cli import ANIMALS, sentences, write_lines
from test_compare_command import TINY
from test_comparison import quick_collections  # noqa: F401
from treetop import Dataset, LabelTree, Variant, metrics
from treetop.comparison import compare
from treetop.errors import ConfigError, DataError
from treetop.metrics import DocumentScores, compare_scores, confusions, holm, score_intervals
from treetop.predictions import Predictions
from treetop.report import label_tree
from treetop.report.blocks import Paragraph
from treetop.report.build import evidence_of_comparison, evidence_of_models, write_report
from treetop.report.evidence import Evidence, ReportedModel
from treetop.report.highlights import Segment, WordContribution, highlighted, word_contributions
from treetop.report.predicted_texts import best_and_worst
from treetop.report.sections.differences import differences, paired_tests

EVIL = "</script><script>alert('label')</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, a model of all labels in a deep tree, one of the animals only, and one of neighbours."""
    home = tmp_path_factory.mktemp("report")
    train = treetop.read(write_lines(home / "train.jsonl", sentences(200)))
    # Some test texts say one thing and are labelled another: there is something to miss and to confuse.
    test = sentences(260)[200:]
    for record in test[::4]:
        record["labels"] = [{"cat": "dog"}.get(label, label) for label in record["labels"]] + ["unicorn"]
    write_lines(home / "test.jsonl", test)
    treetop.XRLinear(threads=2, leaf_size=3, branching=2).fit(train).save(home / "deep")
    animals = [record | {"labels": record["labels"][:1]} for record in sentences(200)]
    treetop.XRLinear().fit(treetop.read(write_lines(home / "animals.jsonl", animals))).save(home / "animals")
    treetop.make("neighbours").fit(train).save(home / "near")
    return home


@pytest.fixture(scope="module")
def three(folder, tmp_path_factory):
    """A report of the three models."""
    from treetop.cli.main import main

    page = tmp_path_factory.mktemp("page") / "report.html"
    models = [str(folder / name) for name in ("deep", "animals", "near")]
    with pytest.raises(SystemExit) as caught:
        main(["-q", "report", *models, str(folder / "test.jsonl"), "-o", str(page), "--samples", "500"])
    assert not caught.value.code
    return ReadReport(page)


# -- confusions ----------------------------------------------------------------------------------------------


def ranked(rows: list[list[int]], labels: int) -> Predictions:
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    scores = [1 / (1 + place) for row in rows for place in range(len(row))]
    names = treetop.Strings.of(f"l{n}" for n in range(labels))
    return Predictions(indptr, list(itertools.chain(*rows)), scores, names)


def labelled(rows: list[list[int]], labels: int) -> Dataset:
    names = treetop.Strings.of(f"l{n}" for n in range(labels))
    texts = [f"text {row}" for row in range(len(rows))]
    return Dataset.from_texts(texts, [[names[n] for n in several] for several in rows]).aligned_to(names)


def test_confusions_by_hand():
    truth = labelled([[0], [0, 1], [0, 1], [2], []], 5)
    given = ranked([[3, 0], [3, 4, 0], [0, 3, 1], [2, 0], [1]], 5)
    # Row 0: 0 is missing, 3 is given. Row 1: 0 and 1 are missing, 3 and 4 given, half a miss each.
    # Row 2: 1 is missing, 3 is given. Row 3 is right, row 4 has no labels.
    assert len(confusions(given, truth, most=3)) == 3
    assert [tuple(item) for item in confusions(given, truth)] == [
        (0, 3, 2, 1.5, 2),
        (1, 3, 2, 1.5, 2),
        (0, 4, 1, 0.5, 2),
        (1, 4, 1, 0.5, 2),
    ]


def test_confusions_share_out_every_miss_and_cut_at_the_depth():
    rng = np.random.default_rng(0)
    true = [sorted(rng.choice(12, rng.integers(0, 8), replace=False).tolist()) for _ in range(60)]
    given = [rng.permutation(12)[:6].tolist() for _ in range(60)]
    for depth in (1, 3, 6):
        expected: dict[tuple[int, int], list[float]] = {}
        for right, answers in zip(true, given, strict=True):
            kept = answers[: min(len(right), depth)]
            wrong = [label for label in kept if label not in right]
            for missing in set(right) - set(kept):
                for label in wrong:
                    entry = expected.setdefault((missing, label), [0, 0.0])
                    entry[0] += 1
                    entry[1] += 1 / len(wrong)
        found = confusions(ranked(given, 12), labelled(true, 12), depth=depth)
        assert {(c.missing, c.given): (c.documents, pytest.approx(c.misses)) for c in found} == {
            pair: (count, misses) for pair, (count, misses) in expected.items()
        }
        sums: dict[int, float] = {}
        for pair in found:
            sums[pair.missing] = sums.get(pair.missing, 0.0) + pair.misses
        assert {pair.missing: pair.all_misses for pair in found} == pytest.approx(sums)
        assert [c.misses for c in found] == pytest.approx(sorted((c.misses for c in found), reverse=True))


def test_a_label_that_only_the_truth_has_is_confused_too():
    truth = Dataset.from_texts(["a"], [["new"]])
    (only,) = confusions(ranked([[1]], 2), truth)
    assert (only.missing, only.given) == (2, 1)


# -- tests and intervals -------------------------------------------------------------------------------------


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.4 times 4, 3, 2, 1; none below one before it.
    assert holm([0.03, 0.01, 0.4, 0.02]) == pytest.approx([0.06, 0.04, 0.4, 0.06])
    assert holm([0.9, 0.8]) == [1, 1] and holm([]) == [] and holm([0.2]) == [0.2]


def test_holm_is_the_step_down_procedure():
    """Against the definition: the smallest level at which the step-down procedure rejects."""
    rng = np.random.default_rng(1)
    p = rng.random(9) ** 3
    for place, corrected in enumerate(holm(p)):
        for level, rejected in ((corrected + 1e-9, True), (corrected - 1e-9, False)):
            alive = set()
            for step, index in enumerate(np.argsort(p)):
                if p[index] > level / (len(p) - step):
                    break
                alive.add(index)
            assert (place in alive) == rejected or corrected == 1


def test_holm_of_picked_tests_is_never_kinder_than_holm_of_all():
    p = np.random.default_rng(2).random(12) ** 4
    among_all = holm(p)
    for picked in ([3], [0, 5, 7], list(range(12)), np.argsort(p)[:4].tolist()):
        alone = holm(p[picked], of=12)
        assert all(a >= among_all[place] - 1e-12 for a, place in zip(alone, picked, strict=True))
    assert holm(p[np.argsort(p)[:4]], of=12) == pytest.approx(sorted(among_all)[:4])
    with pytest.raises(ConfigError, match="of must be at least the number of p-values, 3, not 2"):
        holm([0.1, 0.2, 0.3], of=2)


def test_the_paired_test_against_all_swaps():
    """With few documents every swap can be tried: p is the share of swaps that are at least as extreme."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 10)).astype(float)
    b[:4] = 0
    ones = np.ones(10)
    swaps = itertools.product((0, 1), repeat=10)
    gaps = [abs(np.where(swap, b - a, a - b).mean()) for swap in swaps]
    exact = np.mean([gap >= abs((a - b).mean()) - 1e-12 for gap in gaps])
    found = compare_scores(
        {"P@1": DocumentScores(a, ones)}, {"P@1": DocumentScores(b, ones)}, samples=20_000
    )["P@1"]
    assert found.difference == pytest.approx(100 * (a.mean() - b.mean()))
    assert found.p_value == pytest.approx(exact, abs=0.015)


def test_scores_are_paired_by_their_names():
    ones = np.ones(6)
    good, bad = DocumentScores(ones, ones), DocumentScores(np.zeros(6), ones)
    found = compare_scores({"P@1": good, "R@1": bad}, {"R@1": bad, "P@1": good}, samples=10)
    assert [item.difference for item in found.values()] == [0, 0]
    with pytest.raises(ConfigError, match="same metrics of the same documents"):
        compare_scores({"P@1": good}, {"R@1": good})
    with pytest.raises(ConfigError, match="same metrics of the same documents"):
        compare_scores({"P@1": good}, {"P@1": DocumentScores(ones[:2], ones[:2])})
    with pytest.raises(ConfigError, match="coverage and ECE have no interval"):
        metrics.confidence_intervals(ranked([[0]], 2), labelled([[1]], 2), metrics=("coverage",))


def test_intervals_of_scores_are_those_of_predictions(folder):
    model, test = treetop.load(folder / "deep"), treetop.read(folder / "test.jsonl")
    predictions = model.predict(test, 5)
    scores = metrics.document_scores(predictions, test)
    assert score_intervals(scores, samples=50) == metrics.confidence_intervals(predictions, test, samples=50)


# -- the numbers of a page -----------------------------------------------------------------------------------


def test_a_page_has_every_section_and_is_valid(three):
    assert three.sections == [
        *("glance", "quality", "differences", "frequency", "calibration", "cost", "confusions"),
        *("tree", "examples", "models"),
    ]
    addresses = [
        item.get(name) for item in three.root.iter() for name in ("src", "href", "action") if item.get(name)
    ]
    assert addresses and all(address.startswith(("#", "data:")) for address in addresses)
    assert "Content-Security-Policy" in three.source and "default-src 'none'" in three.source


def test_metrics_are_those_of_evaluate(folder, three):
    test = treetop.read(folder / "test.jsonl")
    header, rows = three.table("All metrics")
    assert header == ["metric", "deep", "animals", "near"]
    deep = treetop.load(folder / "deep")
    for column, name in enumerate(("deep", "animals", "near"), 1):
        model = treetop.load(folder / name)
        # All by the label frequencies of the first model.
        predictions = model.predict(test, min(5, len(model.labels))).aligned_to(deep.labels)
        counts = {"train_counts": deep.label_counts, "n_train": 200}
        expected = metrics.evaluate(predictions, test, **counts)
        assert {row[0]: float(row[column].split()[0]) for row in rows} == {
            metric: pytest.approx(value, abs=0.00501) for metric, value in expected.items()
        }
        intervals = metrics.confidence_intervals(predictions, test, samples=500, **counts)
        shown = {row[0]: row[column].partition("[")[2].rstrip("]") for row in rows}
        for metric, interval in intervals.items():
            assert shown[metric] == f"{interval.low:.2f}, {interval.high:.2f}"
    drawn = {(row["model"], row["metric"]): row["value"] for row in three.drawn("quality")}
    assert drawn["deep", "P@1"] == deep.evaluate(test)["P@1"]


def test_differences_are_those_of_compare_and_corrected(folder, three):
    test = treetop.read(folder / "test.jsonl")
    header, rows = three.table("Paired differences, in percentage points")
    assert header == ["pair", "metric", "difference", "95 % interval", "p", "p, Holm"]
    assert [row[:2] for row in rows] == [
        [pair, metric]
        for pair in ("deep − animals", "deep − near", "animals − near")
        for metric in ("P@1", "nDCG@5", "PSP@5")
    ]
    deep, near = (treetop.load(folder / name).predict(test, 5) for name in ("deep", "near"))
    found = metrics.compare(deep, near, test, samples=500, metrics=("P",), ks=(1,))["P@1"]
    row = rows[3]
    assert row[2] == f"{found.difference:+.2f}"
    assert row[4] == f"{found.p_value:.3f}"
    corrected = holm([float(row[4]) for row in rows])
    assert [float(row[5]) for row in rows] == pytest.approx(corrected, abs=0.006)
    assert "corrected by Holm's method for all 9 tests" in three.text("differences")


def test_frequency_and_calibration_are_those_of_the_metrics(folder, three):
    test, model = treetop.read(folder / "test.jsonl"), treetop.load(folder / "deep")
    predictions = model.predict(test, 5)
    buckets = metrics.by_frequency(predictions, test, train_counts=model.label_counts)
    _, rows = three.table("Head, middle and tail")
    assert [row[0] for row in rows] == ["head", "middle", "tail", "unseen"]
    for row, bucket in zip(rows[::-1], buckets, strict=True):
        assert row[1:4] == [bucket.training_texts, f"{bucket.labels:,}", f"{bucket.occurrences:,}"]
        assert row[4] == (f"{bucket.recall[5]:.2f}" if bucket.occurrences else "–")
        assert row[5] == f"{bucket.precision[5]:.2f}"
    bins = metrics.reliability(predictions, test, k=5)
    drawn = [row for row in three.data("chart-calibration")["data"]["values"] if row["model"] == "deep"]
    assert [(row["score"], row["correct"], row["predictions"]) for row in drawn] == [
        (item.score, item.hits, item.pairs) for item in bins
    ]


def test_confusions_of_a_page(folder, three):
    test, model = treetop.read(folder / "test.jsonl"), treetop.load(folder / "deep")
    found = confusions(model.predict(test, 5), test)
    names = [*model.labels, "unicorn"]
    _, rows = three.tables("Most frequent confusions")[0]
    assert [row[:4] for row in rows] == [
        [names[c.missing], names[c.given], f"{c.documents:,}", f"{c.misses:.1f}"] for c in found[: len(rows)]
    ]
    assert ["dog", "cat"] in [row[:2] for row in rows]  # the test labels were changed so


def test_the_tree_of_a_page(folder, three):
    """Every label is there once, below its cluster; sums of clusters are those of their labels."""
    test, model = treetop.read(folder / "test.jsonl"), treetop.load(folder / "deep")
    data = three.data("tree-1")
    labels = data["labels"]
    assert sorted(labels["title"]) == sorted(model.labels) and data["left_out"] == 0
    report = metrics.label_report(model.predict(test, 5), test, k=5, train_counts=model.label_counts)
    rows = {row.label: row for row in report.rows}
    for at, name in enumerate(labels["title"]):
        row = rows[name]
        assert (labels["trained"][at], labels["true"][at]) == (row.train_count, row.test_count)
        assert labels["found"][at] == row.correct
    *_, lowest = data["clusters"]
    assert [len(level["title"]) for level in data["clusters"]] == model.tree.sizes[:-1]
    ids = model.labels.positions
    for node, (first, last) in enumerate(itertools.pairwise(lowest["first"])):
        inside = labels["title"][first:last]
        assert {ids[name] for name in inside} == set(model.tree.members(model.tree.depth - 2, node).tolist())
        assert lowest["labels"][node] == last - first
        assert lowest["true"][node] == sum(labels["true"][first:last])
        assert lowest["found"][node] == sum(labels["found"][first:last])
    for upper, lower in itertools.pairwise(data["clusters"]):
        for node, (first, last) in enumerate(itertools.pairwise(upper["first"])):
            assert upper["true"][node] == sum(lower["true"][first:last])


def test_a_large_tree_keeps_the_most_frequent_labels(monkeypatch):
    monkeypatch.setattr(label_tree, "LABELS", 4)
    trained = np.array([5, 9, 1, 7, 7, 3])
    kept, first = label_tree._kept_labels(np.array([0, 3, 6]), trained)
    assert kept.tolist() == [1, 0, 3, 4] and first.tolist() == [0, 2, 4]
    monkeypatch.setattr(label_tree, "LABELS", 6)
    kept, first = label_tree._kept_labels(np.array([0, 3, 6]), trained)
    assert kept.tolist() == [1, 0, 2, 3, 4, 5] and first.tolist() == [0, 3, 6]
    tree = LabelTree((np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 2, 3, 6])), np.arange(6))
    assert [start.tolist() for start in label_tree._leaf_starts(tree)] == [[0, 2, 6], [0, 2, 3, 6]]


def test_examples_of_a_page(folder, three):
    text = three.text("examples")
    assert "Worst predictions" in text and "Best predictions" in text
    assert "Why cat" in text and "Why not" in text
    assert "the model has no label 'unicorn'" in text
    marks = [mark for mark in three.root.iter("mark") if mark.get("class", "").startswith("for")]
    assert any("cat" in (mark.text or "") for mark in marks)
    votes = [item for item in three.root.iter("ul") if item.get("class") == "votes"]
    assert votes  # of the neighbours


# -- words ---------------------------------------------------------------------------------------------------


def test_marked_words_by_hand():
    words = [WordContribution("red fox", 4.0, ((4, 11),)), WordContribution("fox", -2.0, ((8, 11), (16, 19)))]
    # "the": 0; "red ": 4; "fox": 4 − 1; the second "fox": −1. In steps of a quarter of the largest.
    assert highlighted("the red fox and fox.", words) == [
        Segment("the ", 0),
        Segment("red ", 4),
        Segment("fox", 3),
        Segment(" and ", 0),
        Segment("fox", -1),
        Segment(".", 0),
    ]
    assert highlighted("nothing", []) == [Segment("nothing", 0)] and highlighted("", []) == []


def test_words_add_up_what_the_path_says(folder):
    model = treetop.load(folder / "deep")
    explanation = model.explain("the cat sings in the barn", "cat")
    words = word_contributions(explanation)
    total = sum(term.contribution for step in explanation.path for term in step.terms)
    assert sum(word.contribution for word in words) == pytest.approx(total)
    assert [abs(word.contribution) for word in words] == sorted(
        (abs(word.contribution) for word in words), reverse=True
    )
    forest = treetop.make("parabel", trees=2).fit(treetop.read(folder / "train.jsonl"))
    explanation = forest.explain("the cat sings in the barn", "cat")
    total = sum(
        part.weight * term.contribution
        for part in explanation.parts
        for step in part.explanation.path
        for term in step.terms
    )
    assert sum(word.contribution for word in word_contributions(explanation)) == pytest.approx(total)


# -- untrusted texts -----------------------------------------------------------------------------------------


def test_nothing_in_texts_and_labels_reaches_the_markup(tmp_path, run):
    texts = [
        {
            "id": f"<b>{row}</b>",
            "text": f"<img src=x onerror=alert(1)> {word} & \u2028 \x07\x85 {EVIL} <!--",
            "labels": [f"{word}{EVIL}", "<!--", "a'\"b", "{{ 7*7 }}"],
        }
        for row, word in enumerate(["red", "green", "blue"] * 20)
    ]
    data = write_lines(tmp_path / "evil.jsonl", texts)
    treetop.XRLinear(leaf_size=2, branching=2).fit(treetop.read(data)).save(tmp_path / "m")
    name = f"<i>{EVIL}"
    page = tmp_path / "page.html"
    called = ("--name", name, "--title", f"T {EVIL}\udcff")
    outcome = run("report", tmp_path / "m", data, "-o", page, *called, "--samples", 100)
    assert outcome.code == 0, outcome.err
    report = ReadReport(page)
    scripts = list(report.root.iter("script"))
    assert all(script.get("type") in (None, "application/json") for script in scripts)
    assert sum(script.get("type") is None for script in scripts) == 2  # the library and the page's own
    assert "alert" not in "".join(script.text for script in scripts if script.get("type") is None)
    assert not list(report.root.iter("img")) and not list(report.root.iter("i"))
    assert report.root.find(".//h1").text == f"T {EVIL}\ufffd"
    assert f"red{EVIL}" in report.data("tree-1")["labels"]["title"]
    assert "{{ 7*7 }}" in report.source and not {"\x07", "\x85"} & set(report.source)


# -- other inputs --------------------------------------------------------------------------------------------


def test_a_single_model_has_no_pairs(folder, tmp_path, run):
    page = tmp_path / "r.html"
    outcome = run(
        *("report", folder / "deep", folder / "test.jsonl", "-o", page, "--samples", 100, "--examples", 0),
        quiet=False,
    )
    assert outcome.code == 0 and f"{page}: 1 model, " in outcome.err
    report = ReadReport(page)
    assert "differences" not in report.sections and "examples" not in report.sections
    header, _ = report.table("Head, middle and tail")
    assert header[4:] == [f"{name}@{k}" for name in ("recall", "part of P") for k in (1, 3, 5)]


def test_predictions_are_reported_too(folder, tmp_path, run):
    answers, page = tmp_path / "answers.jsonl", tmp_path / "r.html"
    run("predict", folder / "deep", folder / "test.jsonl", "--k", 5, "--output", answers)
    common = ("-o", page, "--samples", 100)
    assert run("report", answers, folder / "test.jsonl", *common).code == 0
    report = ReadReport(page)
    assert report.sections == ["glance", "quality", "calibration", "confusions", "examples"]
    assert "PSP" not in report.source.partition("<script>")[0]
    assert (
        run(
            "report",
            answers,
            folder / "near",
            folder / "test.jsonl",
            *common,
            "--train",
            folder / "train.jsonl",
        ).code
        == 0
    )
    report = ReadReport(page)
    assert {"differences", "frequency", "cost", "models"} <= set(report.sections)
    _, rows = report.table("Time and memory")
    assert rows[0][0] == "answers.jsonl" and not any(rows[0][1:]) and all(rows[1][1:])


def test_scores_that_are_no_probabilities_have_no_curve(folder, tmp_path, run):
    given = [{"label": "cat", "score": 3.5}, {"label": "dog", "score": -1.0}]
    lines = [{"id": f"s{row}", "labels": given} for row in range(200, 260)]
    write_lines(tmp_path / "p.jsonl", lines)
    page = tmp_path / "r.html"
    assert run("report", tmp_path / "p.jsonl", folder / "test.jsonl", "-o", page, "--samples", 100).code == 0
    assert "lie outside 0 … 1: the scores of p.jsonl" in ReadReport(page).text("calibration")


def test_features_are_reported_without_examples(tmp_path):
    from conftest import planted

    X, Y = planted(120, 10, 40, seed=0)
    data = Dataset.from_matrices(X, Y)
    model = treetop.XRLinear(leaf_size=3, branching=2).fit(data)
    page = tmp_path / "page.html"
    write_report({"m": model}, data, page)
    assert "examples" not in ReadReport(page).sections and "tree" in ReadReport(page).sections


def test_label_texts_are_what_people_read(tmp_path, run):
    data = write_lines(tmp_path / "d.jsonl", sentences(80))
    names = tmp_path / "names.tsv"
    names.write_text("".join(f"{animal}\tthe {animal} itself\n" for animal in ANIMALS), "utf-8")
    assert run("train", data, "--model", tmp_path / "m", "--label-texts", names).code == 0
    assert run("report", tmp_path / "m", data, "-o", tmp_path / "r.html", "--samples", 100).code == 0
    report = ReadReport(tmp_path / "r.html")
    assert "the cat itself (cat)" in report.data("tree-1")["labels"]["title"]
    header, rows = report.table("Time and memory")
    cells = dict(zip(header, rows[0], strict=True))
    assert float(cells["training, s"]) > 0 and cells["peak memory in training"].endswith("B")


# -- comparisons ---------------------------------------------------------------------------------------------


def test_compare_writes_the_page_alone_or_in_the_folder(folder, tmp_path, run):
    common = ("compare", folder / "train.jsonl", "--test", folder / "test.jsonl", "--methods")
    alone = tmp_path / "page.html"
    outcome = run(*common, "xr-linear,neighbours", "--seeds", 2, "--report", alone, quiet=False)
    assert outcome.code == 0 and f"{alone}: 2 variants, 2 seeds" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    report = ReadReport(alone)
    assert {"calibration", "tree"}.isdisjoint(report.sections)
    header, rows = report.table("Paired differences, in percentage points")
    assert header[-1] == "p over seeds, Holm" and len(rows) == 3
    assert "Predictions are those of the first seed." in report.text("confusions")
    assert run(*common, "xr-linear", "--seeds", 1, "--report", tmp_path / "out").code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "report.md", "report.json", "runs"} <= names
    assert "differences" not in ReadReport(tmp_path / "out" / "report.html").sections


def test_a_comparison_reports_means_and_deviations(folder):
    train, test = (treetop.read(folder / f"{name}.jsonl") for name in ("train", "test"))
    variants = [Variant("near", "neighbours"), Variant("cnn", "kim-cnn", TINY)]
    comparison = compare(variants, train, test, seeds=2)
    evidence = evidence_of_comparison(comparison, samples=200)
    for place, name in enumerate(comparison.names):
        for metric in comparison.metrics:
            spread = comparison.spread(name, metric)
            assert evidence.scores[place][metric].value == pytest.approx(spread.mean)
            values = evidence.metrics[place][metric]
            assert np.std(values, ddof=1) == pytest.approx(spread.deviation)
    contrasts = comparison.contrast("near", "cnn")
    tests = paired_tests(evidence)
    raw = [contrasts[test.metric].p_of_seeds for test in tests]
    assert [test.p_of_seeds for test in tests] == pytest.approx(holm(raw))
    assert [test.difference.difference for test in tests] == pytest.approx(
        [contrasts[test.metric].difference for test in tests]
    )


def test_many_models_are_tested_against_the_best():
    rng = np.random.default_rng(0)
    truth = labelled([[int(rng.integers(6))] for _ in range(30)], 6)
    models = [
        ReportedModel(f"m{n}", (ranked([rng.permutation(6)[:3].tolist() for _ in range(30)], 6),))
        for n in range(8)
    ]
    evidence = Evidence.of(models, truth, samples=100)
    tests = paired_tests(evidence)
    assert {test.first for test in tests} == {evidence.best} and len(tests) == 7 * 2
    # The best is selected on the same texts: all 28 pairs count in the correction.
    assert [test.corrected for test in tests] == holm([test.difference.p_value for test in tests], of=28 * 2)
    (says, *_) = differences(evidence, tests).blocks
    assert isinstance(says, Paragraph) and "for the 56 tests of all pairs" in says.text
    # With 100 resamples no p-value could fall below 56/101.
    assert "(2,240 resamples)" in says.text


def test_the_worst_of_equals_are_those_with_the_highest_wrong_score():
    truth = labelled([[0, 1]] * 4, 4)
    # In rows 0 and 1 the first answer is right and the second wrong, in the others both are right.
    scores = [0.9, 0.1, 0.6, 0.5, 0.9, 0.8, 0.9, 0.8]
    given = Predictions([0, 2, 4, 6, 8], [0, 2, 0, 2, 0, 1, 0, 1], scores, truth.labels)
    evidence = Evidence.of([ReportedModel("m", (given,))], truth, ks=(2,), samples=10)
    assert best_and_worst(evidence, 0, 2) == ([2, 3], [1, 0])


def test_models_of_other_data_are_told_apart(folder, three):
    sentence = "animals was trained on different data: label frequencies are those of deep for all models."
    assert sentence in three.text("quality") and "near was trained" not in three.text("quality")
    truth = treetop.read(folder / "test.jsonl")
    models = {name: treetop.load(folder / name) for name in ("animals", "deep")}
    reported = [
        ReportedModel(name, (model.predict(truth, 3),), model=model) for name, model in models.items()
    ]
    train = treetop.read(folder / "train.jsonl")
    evidence = evidence_of_models(reported, truth, train=train, samples=100)
    assert len(evidence.notes) == 1 and evidence.n_train == 200
    counts = dict(zip(evidence.truth.labels, evidence.train_counts.tolist(), strict=True))
    assert counts == dict(zip(train.labels, train.label_counts.tolist(), strict=True)) | {"unicorn": 0}


# -- what can go wrong ---------------------------------------------------------------------------------------


def test_bad_input_is_told_in_a_sentence(folder, tmp_path, run):
    model, test, page = folder / "deep", folder / "test.jsonl", tmp_path / "r.html"
    run("report", model, test, "-o", tmp_path).sentence(2, "is a folder, not a file")
    run("report", model, test, "-o", tmp_path / "no" / "r.html").sentence(2, "does not exist")
    run("report", folder / "none", test, "-o", page).sentence(2, "none")
    run("report", model, model, test, "-o", page).sentence(2, "two models are called")
    run("report", model, folder / "near", test, "-o", page, "--name", "a").sentence(2, "name all or none")
    run("report", model, test, "-o", page, "--name", " ").sentence(2, "must not be empty")
    run("report", model, test, "-o", page, "--k", "0").sentence(2, "--k must be at least 1")
    unlabelled = write_lines(tmp_path / "u.jsonl", [{"text": "a cat", "labels": []}])
    run("report", model, unlabelled, "-o", page).sentence(2, "u.jsonl", "no example has a label")
    short = write_lines(tmp_path / "short.jsonl", [{"id": "s200", "labels": [{"label": "cat", "score": 1}]}])
    run("report", short, test, "-o", page).sentence(2, "1 predictions but 60 examples")
    (tmp_path / "file").write_text("x")
    run("compare", folder / "train.jsonl", "--methods", "neighbours", "--report", tmp_path / "file").sentence(
        2, "is a file, not a folder"
    )
    assert not page.exists()
    with pytest.raises(DataError, match="no texts"):
        Evidence.of([ReportedModel("m", (ranked([], 1),))], labelled([], 1))


def test_the_old_page_stays_when_the_new_one_fails(folder, tmp_path, run, monkeypatch):
    page = tmp_path / "r.html"
    page.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    outcome = run("report", folder / "deep", folder / "test.jsonl", "-o", page, "--samples", 100)
    outcome.sentence(1, "r.html", "No space left")
    assert page.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize("package", ["jinja2", "vl_convert"])
def test_a_missing_extra_is_named_before_the_work(folder, tmp_path, run, monkeypatch, package):
    from treetop.report.html import plotting_library

    plotting_library.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    outcome = run("report", folder / "deep", folder / "test.jsonl", "-o", tmp_path / "r.html")
    outcome.sentence(2, "pip install 'treetop-xmc[report]'")
    outcome = run(
        "compare", folder / "train.jsonl", "--methods", "neighbours", "--report", tmp_path / "r.html"
    )
    outcome.sentence(2, "pip install 'treetop-xmc[report]'")
    assert not list(tmp_path.iterdir())


def test_training_notes_what_it_took(tmp_path, run):
    data = write_lines(tmp_path / "d.jsonl", sentences(40))
    assert run("train", data, "--model", tmp_path / "m", "--method", "xr-linear").code == 0
    spent = treetop.load(tmp_path / "m").statistics["spent"]
    assert spent["seconds"] > 0 and spent["peak_bytes"] > 1 << 20


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")
def test_memory_counts_what_was_added():
    """In a process of its own: a process that has run for long reuses memory it already has."""
    program = """
import numpy as np
from treetop.machine import memory_added_since, watch_memory
np.ones(8 << 20)  # 64 MiB, gone before the watch begins
start = watch_memory()
np.ones(4 << 20)
print(start and memory_added_since(start))
assert memory_added_since(None) is None
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    if done.stdout.strip() == "None":
        pytest.skip("this system does not let a process reset its peak")
    assert 24 << 20 <= int(done.stdout) < 48 << 20  # 32 MiB; the kernel counts pages roughly
