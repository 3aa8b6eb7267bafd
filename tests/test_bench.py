"""The arithmetic of the benches: goals, growth, sections of the page. Timings themselves are never tested."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parent.parent / "bench"
if not BENCH.is_dir():
    pytest.skip("bench/ is not part of this copy", allow_module_level=True)
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]

import protocol  # noqa: E402
from scipy import sparse  # noqa: E402

import goals  # noqa: E402
import league  # noqa: E402
import page  # noqa: E402
import scale  # noqa: E402
from contestants import CONTESTANTS, PECOS, SAME_TREE  # noqa: E402


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
        "load": "no model of that size in this run",
    }
    assert verdicts({})["load"] == "reached"
    assert verdicts({"train_s": 2.0})["training with tfn"] == "not reached, above 5×"
    assert verdicts({"train_s": 2.1})["training with tfn"] == "not reached"
    assert verdicts({"train_s": 2.0, "metrics": close | {"P@3": 39.0}})["training with tfn"] == (
        "not reached: P@3 lower"
    )
    assert verdicts({"model_bytes": 59e6})["load"] == "no model of that size in this run"
    lower = verdicts(fast | {"metrics": close | {"P@1": 49.8}})
    assert lower["training with tfn"] == "not reached: P@1 lower"
    assert lower["model on disk"] == "reached"  # only P@5 counts there


def test_goals_compare_means_over_seeds() -> None:
    figures = [{"P@1": 50 + gain, "P@3": 40.0, "P@5": 30.0, "PSP@5": 20.0} for gain in (-0.5, 0.5)]
    lower = {"train_s": 1.0, "metrics": figures[0]}
    assert verdicts(lower)["training with tfn"] == "not reached: P@1 lower"
    seeds = {"deb-deps": {SAME_TREE: figures, PECOS: figures[::-1]}}
    assert verdicts(lower, seeds=seeds)["training with tfn"] == "reached"


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
        assert (BENCH / "peers" / f"run_{contestant.runner}.py").is_file()


def test_the_league_is_made_of_kept_records(tmp_path):
    runs, records = tmp_path / "runs", tmp_path / "league" / "some-data"
    runs.mkdir()
    for seed, accuracy in ((0, 50.0), (1, 52.0)):
        record = {
            "method": "lightxml",
            "seed": seed,
            "config": {"transformer": {"encoder": "somewhere/else/minilm"}},
            "metrics": dict.fromkeys(league.METRICS, 30.0) | {"P@1": accuracy},
            "train_seconds": 10.0 + seed,
            "predict_milliseconds": 0.5,
            "gpu_bytes": 4e9,
            "bytes": 2e8,
            "epochs": [{"loss": 1.0}],
        }
        (runs / f"lightxml-{seed}-abc.json").write_text(json.dumps(record))
    league.add(runs, records)
    found = league.read(records)
    assert [run["config"]["transformer"]["encoder"] for run in found["lightxml"]] == ["minilm"] * 2
    text = league.page({"some-data": found})
    (row,) = [line for line in text.splitlines() if "methods/lightxml.md" in line]
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    assert cells[0] == "51.00 ± 1.41"
    assert cells[-5:] == ["2", "10.5", "2,000", "4.0", "200"]
    assert "Not measured here: xr-linear, parabel," in text and "ensemble" not in text
