"""The arithmetic of the benchmarks: goals, growth, records, pages. Timings themselves are never tested."""

from __future__ import annotations

import importlib
import json
import lzma
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import bench_paths
import fill
import goals
import league
import measuring
import protocol
import records
import repeated_ablations
import report
import reproduced
import run as contest
import scale
import seeds
import training_profile
import treetop
from common import benchmarks_page as page
from common import machine, provenance, record_files
from contestants import CONTESTANTS, MAN, PECOS, SAME_TREE
from treetop import recipes
from treetop.ablations import load_ablation
from treetop.config import value_text


def run(contestant: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "data": "deb-deps",
        "contestant": contestant,
        "train_s": 10.0,
        "batch_s": 1.0,
        "texts": 1000,
        "model_bytes": 60e6,
        "load_s": 0.02,
        "row": {"median_ms": 1.0, "p99_ms": 2.0},
        "text": None,
        "metrics": {"P@1": 50.0, "P@3": 40.0, "P@5": 30.0},
    }
    return plain | changes


def verdicts(ours: dict[str, Any], **more: Any) -> dict[str, str]:
    results = {"runs": [run(PECOS), run(SAME_TREE, **ours)], "tfidf": []} | more
    return {outcome.goal.partition(" (")[0]: outcome.verdict for outcome in goals.outcomes(results)}


def test_goals_need_speed_and_accuracy() -> None:
    close = {"P@1": 49.9, "P@3": 40.0, "P@5": 29.9}
    fast = {"train_s": 1.0, "batch_s": 0.5, "model_bytes": 30e6}
    assert verdicts(fast | {"metrics": close}) == {
        "training with tfn": "reached",
        "batch prediction": "reached",
        "model on disk": "reached",
        "load": "no model of this size in this run",
    }
    assert verdicts({})["load"] == "reached"
    assert verdicts({"train_s": 2.0})["training with tfn"] == "not reached, above 5×"
    assert verdicts({"train_s": 2.1})["training with tfn"] == "not reached"
    assert verdicts({"train_s": 2.0, "metrics": close | {"P@3": 39.0}})["training with tfn"] == (
        "not reached: P@3 lower"
    )
    assert verdicts({"model_bytes": 59e6})["load"] == "no model of this size in this run"
    lower = verdicts(fast | {"metrics": close | {"P@1": 49.8}})
    assert lower["training with tfn"] == "not reached: P@1 lower"
    assert lower["model on disk"] == "reached"  # only P@5 counts there


def test_goals_compare_means_over_seeds() -> None:
    figures = [{"P@1": 50 + gain, "P@3": 40.0, "P@5": 30.0, "PSP@5": 20.0} for gain in (-0.5, 0.5)]
    lower = {"train_s": 1.0, "metrics": figures[0]}
    assert verdicts(lower)["training with tfn"] == "not reached: P@1 lower"
    means = [{"data": "deb-deps", "contestant": name} | seeds.summary(figures) for name in (SAME_TREE, PECOS)]
    assert verdicts(lower, seeds=means)["training with tfn"] == "reached"


def test_growth_exponent_of_a_power_law() -> None:
    labels = [67_000, 200_000, 670_091]
    assert scale.exponent(labels, [3e-5 * count**1.25 for count in labels]) == pytest.approx(1.25)


def test_a_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    page.put(file, {page.GROWTH: "grows", page.GOALS: "old\n\n### more"}, "Made today.")
    page.put(file, {page.GOALS: "new"})
    assert file.read_text() == (
        f"# Benchmarks\n\nMade today.\n\n## {page.GOALS}\n\nnew\n\n## {page.GROWTH}\n\ngrows\n"
    )


def test_the_page_of_benchmarks_is_made_of_the_committed_records(tmp_path: Path) -> None:
    file = tmp_path / report.PAGE.name
    file.write_text(report.PAGE.read_text("utf-8"), "utf-8")
    results = report.recorded()
    page.put(file, report.sections(results) | report.others(), report.introduction(results))
    assert file.read_text("utf-8") == report.PAGE.read_text("utf-8"), "run python bench/peers/report.py"
    assert report.others()[page.SERVING] in report.PAGE.with_name("serving.md").read_text("utf-8")


def test_a_run_of_the_contestants_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "some-data"
    data.mkdir()
    for part in ("train", "test"):
        (data / f"{part}.jsonl.xz").write_bytes(
            lzma.compress(b'{"text": "apple pear", "labels": ["x"]}\n' * 3)
        )
    monkeypatch.setattr(record_files, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(machine, "versions", lambda peers: {True: {"treetop": "1"}, False: {"libpecos": "2"}})
    monkeypatch.setattr(contest, "measure", lambda *_, **__: found)
    metrics = dict.fromkeys(measuring.METRICS, 50.0)
    found = {name: value for name, value in run("").items() if name not in ("data", "contestant")}
    found |= {"metrics": metrics, "peak_bytes": 1e8}
    monkeypatch.setattr(seeds, "measure", lambda *_: {"metrics": metrics})
    monkeypatch.setattr("sys.argv", [contest.__file__, str(data), "--peers", "python"])
    contest.main()
    monkeypatch.setattr("sys.argv", [contest.__file__, str(data), "--peers", "python", "--resume"])
    monkeypatch.setattr(contest, "compare", None)
    contest.main()
    results = report.recorded()
    assert {run["contestant"] for run in results["runs"]} == {c.name for c in CONTESTANTS if not c.only}
    sections = report.sections(results)
    assert "some-data: 3 texts" in sections[page.TFIDF]
    assert "| some-data | PECOS, defaults | 50.00 ± 0.00 |" in sections[page.SEEDS]
    assert "| training with tfn | 10×, at least 5× | some-data | 1.0× " in sections[page.GOALS]
    assert "treetop 1; peers: libpecos 2." in report.introduction(results)


def test_a_record_takes_the_place_of_one_with_the_same_settings(tmp_path: Path) -> None:
    file = tmp_path / "subject" / "data.jsonl"
    record_files.put(file, [{"who": "a", "s": 1.0}, {"who": "b", "s": 2.0}], "who")
    record_files.put(file, [{"who": "a", "s": 1 / 3}, {"who": "c", "s": 4.0}], "who")
    found = record_files.read(file)
    assert [(record["who"], record["s"]) for record in found] == [("a", 0.333333333), ("b", 2.0), ("c", 4.0)]


def test_growth_of_recorded_runs() -> None:
    phases = {"train": {"seconds": 1.0, "peak_bytes": 1e9}, "- Label tree": {"seconds": 0.5}}
    runs = [
        {"labels": 10 * size, "phases": phases, "seconds": 2.0 * size, "model_bytes": 5 * size**2}
        for size in (1, 10)
    ]
    assert scale.exponents(runs) == pytest.approx(
        {"train": 0, "- Label tree": 0, "all": 1, "peak memory": 0, "model on disk": 2}, abs=1e-12
    )


def test_profile_has_every_part_of_a_training() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(60, 30, 0.2, "csr", np.float32, rng)
    Y = sparse.random(60, 12, 0.2, "csr", np.float32, rng, np.ones)
    seconds = training_profile.profile(treetop.Dataset.from_matrices(X, Y), MAN | {"leaf_size": 4})
    assert seconds.keys() == {title for title, _, _ in training_profile.PARTS} | {training_profile.REST}


def test_rankings_keep_their_order_as_scores(tmp_path: Path) -> None:
    ranking = protocol.ranking_of([[(7, 0.5), (2, 0.5)], []])
    protocol.save_ranking(ranking, 9, tmp_path)
    saved = sparse.load_npz(tmp_path / "predictions.npz").toarray()
    expected = np.zeros((2, 9))
    expected[0, [7, 2]] = 5, 4
    assert (saved == expected).all()


def test_contestants_have_a_script_and_a_name_of_their_own() -> None:
    assert len({contestant.name for contestant in CONTESTANTS}) == len(CONTESTANTS)
    for contestant in CONTESTANTS:
        assert (bench_paths.BENCH / "peers" / "runners" / f"run_{contestant.runner}.py").is_file()


STAMP = {"commit": "1a2b3c4d5e6f7890" + "+changes", "date": "2026-01-31"}


def kept_run(seed: int, accuracy: float) -> dict[str, Any]:
    return {
        "method": "lightxml",
        "seed": seed,
        "config": {"seed": seed, "transformer": {"encoder": "somewhere/else/minilm"}, "hidden": 100},
        "metrics": dict.fromkeys(league.METRICS, 30.0) | {"P@1": accuracy},
        "train_seconds": 10.0 + seed,
        "predict_milliseconds": 0.5,
        "gpu_bytes": 4e9,
        "bytes": 2e8,
        "epochs": [{"loss": 1.0}],
        "best_epoch": None,
    }


def reproduction(member: str, accuracy: float) -> dict[str, Any]:
    numbers = dict.fromkeys(reproduced.METRICS, 30.0) | {"P@1": accuracy}
    return {
        "recipe": "lightxml/wiki10-31k",
        "member": member,
        "method": "lightxml",
        "settings": {"transformer.encoder": "minilm", "epochs": "10"},
        "numbers": numbers | {"training hours": 0.1, "model GB": 0.25},
        "command": "treetop reproduce lightxml/wiki10-31k some-data",
    } | STAMP


@pytest.fixture
def recorded(tmp_path):
    """A file of records with two runs."""
    runs, file = tmp_path / "runs", tmp_path / "records" / "some-data.jsonl"
    runs.mkdir()
    for seed, accuracy in ((0, 50.0), (1, 52.0)):
        (runs / f"lightxml-{seed}-abc.json").write_text(json.dumps(kept_run(seed, accuracy)))
    records.add(runs, file, "a machine", STAMP)
    return file


def test_the_league_table_is_made_of_records(recorded):
    found = records.read(recorded)
    text = league.page(
        {"some-data": found}, {"some-data": [reproduction("bert", 40.0), reproduction("roberta", 41.0)]}
    )
    row, published = [line for line in text.splitlines() if "lightxml" in line and line.startswith("|")]
    assert published == (
        "| lightxml, as published, `epochs=10` "
        "| 40.00 | 30.00 | 30.00 | 30.00 | 30.00 | 30.00 | 1 |  |  |  | 250 |"
    )
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    assert cells[0] == "51.00 ± 1.41"
    assert cells[-5:] == ["2", "10.5", "2,000", "4.0", "200"]
    assert "\n- at 1a2b3c4+changes (2026-01-31): lightxml\n" in text
    assert (
        "`treetop compare some-data --methods lightxml --set transformer.encoder=minilm hidden=100 --seeds 2 "
        "--report out/`:"
    ) in text
    assert "Not measured: xr-linear, parabel," in text and "ensemble," not in text


def test_records_have_changed_settings_machine_and_commit(recorded, tmp_path):
    lines = recorded.read_text().splitlines()
    assert len(lines) == 2
    first = json.loads(lines[0])
    assert first["settings"] == {"transformer.encoder": "minilm", "hidden": 100}
    assert first["machine"] == "a machine" and first["commit"] == STAMP["commit"]
    assert not {"config", "epochs", "best_epoch"} & first.keys()
    again = tmp_path / "again"
    again.mkdir()
    (again / "lightxml-1-def.json").write_text(json.dumps(kept_run(1, 54.0)))
    records.add(again, recorded, "a machine", STAMP | {"commit": "f" * 40})
    accuracies = [run["metrics"]["P@1"] for run in records.read(recorded)["lightxml"]]
    assert accuracies == [50.0, 54.0]
    assert "lightxml (seed 1)" in league.page({"some-data": records.read(recorded)}, {})


def test_the_league_page_is_made_of_the_committed_records():
    reruns = record_files.read_all(reproduced.SUBJECT)
    assert league.PAGE.read_text("utf-8") == league.page(records.read_all(), reruns)
    assert reproduced.PAGE.read_text("utf-8") == reproduced.page(reruns)
    repeated = record_files.read_all(repeated_ablations.SUBJECT)
    assert repeated_ablations.PAGE.read_text("utf-8") == repeated_ablations.page(repeated)


def test_records_of_a_recipe(tmp_path):
    """The settings that differ from the recipe's, and the command that repeats it."""
    (tmp_path / "members").mkdir()
    published = recipes.find_recipe("lightxml/wiki10-31k").member("bert").settings
    config = treetop.make("lightxml").config.with_stored(published)
    kept = {name: value_text(value) for name, value in config.changed().items()}
    kept |= {"transformer.encoder": "somewhere/minilm", "epochs": "10"}
    (tmp_path / "members" / "bert.json").write_text(json.dumps(kept))
    numbers = reproduction("bert", 40.0)["numbers"]
    results = {"recipe": {"name": "lightxml/wiki10-31k"}, "measured": {"bert": numbers}, "differences": []}
    (tmp_path / "results.json").write_text(json.dumps(results))
    (record,) = reproduced.records_of(tmp_path, "some-data", "a machine", STAMP)
    assert record["settings"] == {"transformer.encoder": "minilm", "epochs": "10"}
    assert record["command"] == (
        "treetop reproduce lightxml/wiki10-31k some-data --single bert --encoder minilm --set epochs=10"
    )
    text = reproduced.page({"some-data": [record]})
    assert "|  | bert | 40.00 | 30.00 | 30.00 | 30.00 | 30.00 | 30.00 | 360 |" in text


def test_records_of_an_ablation(tmp_path, monkeypatch):
    """Metrics of every seed, the tested claims, and the settings that were changed for all rows."""
    ablation = load_ablation("xml-cnn-table-5")
    variants = [
        {
            "name": variant.name,
            "method": variant.method,
            "settings": dict(variant.settings),
            "parameters": {"words": 2_000_000, "head": 500_000},
            "runs": [{"metrics": dict.fromkeys(repeated_ablations.METRICS, value)} for value in (50.0, 52.0)],
        }
        for variant in ablation.variants({"epochs": 7})
    ]
    here = {"difference": 1.25, "deviation": 0.5, "low": 0.1}
    claims = [
        {"claim": claim.says, "metric": "P@1", "published": 2.0, "outcome": "agrees", "here": here}
        for claim in ablation.claims
    ]
    report = {"variants": variants, "seeds": [0, 1], "claims": {ablation.name: claims}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    monkeypatch.setattr(record_files, "RECORDS", tmp_path)
    page = tmp_path / "page.md"
    options = ["--add", str(tmp_path), "some-data", "--machine", "M", "--at", STAMP["commit"]]
    monkeypatch.setattr("sys.argv", ["repeated_ablations.py", *options, "--output", str(page)])
    repeated_ablations.main()
    text = page.read_text()
    spread = " | ".join(["51.00 ± 1.41"] * len(repeated_ablations.METRICS))
    assert f"\n| some-data, 2 seeds | words, max | 74.67 | {spread} | 2.5 M |\n" in text
    assert f"\n| {ablation.claims[0].says} | P@1 | +2.00 | +1.25 ± 0.50: agrees |\n" in text
    command = (
        "treetop compare some-data --ablation xml-cnn-table-5 --set training.epochs=7 --seeds 2 --report out/"
    )
    assert f"Measured with `{command.replace('training.', '')}`, at 1a2b3c4+changes" in text


def test_committed_records_say_where_they_are_from():
    for runs in records.read_all().values():
        for run in (run for found in runs.values() for run in found):
            treetop.make(run["method"], **run["settings"])
    for subject in record_files.RECORDS.iterdir():
        for record in record_files.with_data(subject.name):
            assert {"machine", "date"} <= record.keys() and ("commit" in record) != ("recorded_in" in record)
            assert "command" in record or subject.name == "league"


def test_quoted_numbers_are_those_of_their_source(monkeypatch, recorded, tmp_path):
    monkeypatch.setattr(records, "RECORDS", recorded.parent)
    monkeypatch.setattr(fill, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(
        "| data | who | s: median, p99 |\n|---|---|---|\n| a | b, c | 1,234.5, 2 |\n"
    )
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "page.md").write_text(
        "| data | who | P@1 |\n|---|---|---|\n| a | b | 1.5 ± 0.1 |\n| | c | **2.5** |\n| d | b | 3.5 |\n"
    )
    text = (
        "In <!-- from league: P@1, train s of some-data | lightxml -->0.0 ± 0.0 %, in 0<!-- / --> s;\n"
        "<!-- from page.md: s of a | b, c -->0<!-- / -->.\n\n"
        "So <!-- from folder/page.md: P@1 of a | b; a | c; d -->0.0, 0.0, 0.0<!-- / -->.\n\n"
        "<!-- from league: P@1, -, train s of some-data | lightxml; - -->\n"
        "| | P@1 | MB | train |\n|---|---|---|---|\n| x | 9.9 | 7 | 8 s |\n| y | 1 | 2 | 3 s |\n\n"
        "From the [league table](league.md), recorded in 0000000 (2025-01-01).\n"
    )
    assert fill.filled(text) == (
        "In <!-- from league: P@1, train s of some-data | lightxml -->51.0 ± 1.4 %, in 10<!-- / --> s;\n"
        "<!-- from page.md: s of a | b, c -->1,234<!-- / -->.\n\n"
        "So <!-- from folder/page.md: P@1 of a | b; a | c; d -->1.5, 2.5, 3.5<!-- / -->.\n\n"
        "<!-- from league: P@1, -, train s of some-data | lightxml; - -->\n"
        "| | P@1 | MB | train |\n|---|---|---|---|\n| x | 51.0 | 7 | 10 s |\n| y | 1 | 2 | 3 s |\n\n"
        "From the [league table](league.md), at 1a2b3c4+changes (2026-01-31).\n"
    )
    with pytest.raises(ValueError, match="one per number"):
        fill.filled("<!-- from league: P@1 of some-data | lightxml -->1 and 2<!-- / -->")
    with pytest.raises(ValueError, match="has 2 P@1 of a"):
        fill.filled("<!-- from folder/page.md: P@1 of a -->1<!-- / -->")


@pytest.mark.parametrize("file", fill.pages(), ids=lambda file: file.name)
def test_pages_quote_what_was_measured(file):
    text = file.read_text("utf-8")
    assert fill.filled(text) == text, "run python bench/league/fill.py"


TABLE = re.compile(
    r"(?m)((?:^<!-- from [^\n]+ -->\n)?)^\|([^\n]*)\n\|[ :|-]+\n(?:\|[^\n]*\n)+"
    r"((?:(?![#|]|<!-- from [^\n]+ -->\n)[^\n]*\n)*)"
)
"""The quote above it, its head, and the text below it up to a heading or another table."""
MEASUREMENT = re.compile(r"@\d|\b(?:ms|s|MB|GB)\b|texts/s|recall|median|speed-up")
"""In the head of a table: a metric, a time, a size."""
ORIGIN = re.compile(r"\b(?:at|recorded\s+in)\s+[0-9a-f]{7}\b")


@pytest.mark.parametrize("file", fill.pages(), ids=lambda file: file.name)
def test_tables_of_measurements_name_their_commit(file):
    for quoted, head, below in TABLE.findall(file.read_text("utf-8") + "\n"):
        if MEASUREMENT.search(head):
            assert quoted or ORIGIN.search(below), (
                f"add below the table |{head}: Measured with `COMMAND`, recorded in COMMIT (DATE)."
            )


@pytest.mark.parametrize("file", fill.pages(), ids=lambda file: file.name)
def test_no_line_begins_with_a_quote(file):
    """It would begin a block of HTML, and end the paragraph."""
    assert not re.search(r"(?m)^ *<!-- from [^\n]+ -->[^\n]", file.read_text("utf-8"))


def test_a_stamp_names_the_commit_of_this_code():
    stamp = {"command": "make bench"} | provenance.now()
    assert provenance.measured([stamp]).startswith("Measured with `make bench`, at ")
    assert len(stamp["date"]) == 10


def test_a_run_prints_its_command(monkeypatch):
    script = bench_paths.BENCH / "gpu" / "networks.py"
    monkeypatch.setattr(
        "sys.argv", [str(script), "../data", "--encoder", "/some/where/minilm", "--only", "a, b"]
    )
    said = "Measured with `python bench/gpu/networks.py ../data --encoder minilm --only 'a, b'`, at "
    assert provenance.measured([provenance.this_run()]).startswith(said)


PROGRAMS = [file for file in bench_paths.SCRIPTS if "__main__" in file.read_text("utf-8")]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.name)
def test_every_program_says_what_made_its_numbers(file):
    if file.parent.name == "attacks":  # league/recorded_attacks.py stamps what they print
        return
    assert re.search(r"\bprovenance\.(?:this_run|measured|now|origin)\(", file.read_text("utf-8"))


@pytest.mark.parametrize("file", bench_paths.SCRIPTS, ids=lambda file: file.name)
def test_every_script_can_be_imported(file):
    importlib.import_module(file.stem)
