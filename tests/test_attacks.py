"""The attacks of ``bench/attacks`` in a short form, and the page of what they found."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import bench_paths  # noqa: F401
import recorded_attacks
import run_attacks
import trials
from common import record_files

SCRIPTS = ("concurrent_processes", "degenerate_data", "feedback_kills", "file_operations", "http_requests")
SCRIPTS += ("injections", "killed_commands", "long_run", "machine_limits", "pipelining", "same_bits")
SCRIPTS += ("served_folders",)


def short(name: str, seconds: float = 0.0, seed: int = 1) -> trials.Trials:
    """An attack for so long, but one trial at least."""
    for script in SCRIPTS:
        importlib.import_module(script)
    made = trials.Trials(name, seed, seconds)
    trials._attacks[name][1](made)
    return made


@pytest.mark.parametrize("name", ["bits/threads", "settings/linear"])
def test_attacks_within_this_process(name, capsys):
    made = short(name, 0.3)
    assert made.tried and not made.failed, capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("name", ["http/mutated", "http/smuggled"])
def test_attacks_on_processes(name, capsys):
    made = short(name, 0.3)
    assert made.tried and not made.failed, capsys.readouterr().err


def test_an_attack_that_fails_says_so(monkeypatch, capsys):
    def fails(made: trials.Trials) -> None:
        made.count(None, 3)
        made.count("it broke")
        raise ValueError("what it relies on")

    monkeypatch.setattr(trials, "_attacks", {"http/x": ("a trial breaks", fails)})
    monkeypatch.setattr("sys.argv", ["x.py", "--seconds", "0"])
    assert trials.run("help") == 1
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert result == {"attack": "http/x", "fails_if": "a trial breaks", "tried": 5, "failed": 2}
    assert "it broke" in err and "what it relies on" in err


def test_results_of_all_attacks_reach_the_page(monkeypatch, tmp_path, capsys):
    """Those of a script with several attacks, of one that says nothing, and of a fuzzer."""
    several = """if __name__ == "__main__":
    print('a line\\n{"attack": "http/x", "tried": 1200, "failed": 0, "fails_if": "it breaks"}\\n[1]')
    print('{"attack": "readers/csv", "tried": 7, "failed": 0}')"""
    (tmp_path / "several.py").write_text(several)
    (tmp_path / "silent.py").write_text('if __name__ == "__main__":\n    raise SystemExit(1)')
    (tmp_path / "shared.py").write_text("raise SystemExit('not a script')")
    (tmp_path / "fuzz_levels").write_text("#!/bin/sh\necho 'stat::number_of_executed_units: 5' >&2\n")
    (tmp_path / "fuzz_levels").chmod(0o755)
    monkeypatch.setattr(run_attacks, "HERE", tmp_path)
    monkeypatch.setattr(record_files, "RECORDS", tmp_path / "records")
    monkeypatch.setattr("sys.argv", [run_attacks.__file__])
    assert run_attacks.main(["--seconds", "1", "--fuzzers", str(tmp_path), "--record"]) == 1
    assert "silent failed" in capsys.readouterr().err
    records = record_files.read(record_files.file_of("attacks", "results"))
    assert {record["attack"] for record in records} == {"core/levels", "http/x", "readers/csv", "silent"}
    page = recorded_attacks.page(records)
    assert "4 attacks, 1,212 trials: 1 failed." in page
    assert "| csv | neither a result nor one sentence" in page and "| x | it breaks | 1,200 | 0 |" in page
    assert "| levels | a crash" in page
    assert "Measured with `python bench/attacks/run_attacks.py`, at " in page


def test_the_page_of_attacks_is_made_of_the_committed_records():
    made = recorded_attacks.page(record_files.read(recorded_attacks.RECORDS))
    assert made == recorded_attacks.PAGE.read_text("utf-8"), "run python bench/league/recorded_attacks.py"


def test_no_recorded_attack_has_failed():
    for record in record_files.read(recorded_attacks.RECORDS):
        assert record["tried"] > 0 and record["failed"] == 0, record


def test_every_script_finds_what_it_imports_and_has_its_options():
    for name in SCRIPTS:
        text = (Path(trials.__file__).parent / f"{name}.py").read_text("utf-8")
        assert f"python bench/attacks/{name}.py [--seconds 60] [--seed 0]" in text
        assert 'sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))' in text
