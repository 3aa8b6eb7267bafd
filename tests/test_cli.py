"""The command line: every command on a small real data set, and one clear sentence for every mistake."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import treetop
from commands import Outcome, python
from treetop import progress
from treetop.cli import failures, reporter
from treetop.cli.main import main
from treetop.methods import MethodConfig
from treetop.predictions import Predictions
from treetop.units import file_size

ANIMALS = ("cat", "dog", "horse", "mouse")
PLACES = ("barn", "garden", "kitchen", "river")
DEEDS = ("eats", "runs", "sings", "sleeps")
LABELS = 12


def sentences(count: int) -> list[dict]:
    """Texts whose three labels can be read off their words."""
    cases = itertools.cycle(itertools.product(ANIMALS, DEEDS, PLACES))
    return [
        {"id": f"s{row}", "text": f"the {a} {d} in the {p}, take {row % 7}", "labels": [a, d, p], "author": a}
        for row, (a, d, p) in zip(range(count), cases, strict=False)
    ]


def write_lines(path: Path, records: list) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """train.jsonl, test.jsonl, and a model of the first, all made by the command line's own means."""
    home = tmp_path_factory.mktemp("cli")
    write_lines(home / "train.jsonl", sentences(200))
    write_lines(home / "test.jsonl", sentences(230)[200:])
    with pytest.raises(SystemExit) as caught:
        main(["-q", "train", str(home / "train.jsonl"), "--model", str(home / "model"), "--threads", "2"])
    assert not caught.value.code
    return home


# -- the commands --------------------------------------------------------------------------------------------


def test_train_validates_sets_and_is_the_library(folder, tmp_path, run):
    outcome = run(
        *("train", folder / "train.jsonl", "--model", tmp_path / "m", "--validation", folder / "test.jsonl"),
        *("--set", "tree.leaf_size=4", "--set", "beam=3", "--threads", "1", "--seed", "5"),
    )
    assert outcome.code == 0 and outcome.err == ""
    model = treetop.load(tmp_path / "m")
    assert (model.config.tree.leaf_size, model.config.linear.beam) == (4, (3,))
    assert (model.config.threads, model.config.seed) == (1, 5)
    expected = treetop.Hybrid(leaf_size=4, beam=3, seed=5).fit(treetop.read(folder / "train.jsonl"))
    test = treetop.read(folder / "test.jsonl")
    assert outcome.out == f"{expected.evaluate(test).table()}\n"
    assert (model.predict(test).to_csr() != expected.predict(test).to_csr()).nnz == 0


def test_resuming_without_a_checkpoint_is_noted(folder, tmp_path, run):
    outcome = run("train", folder / "train.jsonl", "--model", tmp_path / "m", "--resume", quiet=False)
    assert outcome.code == 0 and "m.unfinished: no checkpoint to resume from" in outcome.err


def test_train_holds_out_a_fraction(folder, tmp_path, run):
    outcome = run(
        "train", folder / "train.jsonl", "--model", tmp_path / "m", "--validation", "0.25", quiet=False
    )
    assert outcome.code == 0 and "nDCG" in outcome.out
    assert treetop.load(tmp_path / "m").statistics["examples"] == 150
    assert "150 examples" in outcome.err


def test_train_with_a_taxonomy_and_label_texts(folder, tmp_path, run):
    rows = [
        f"{name}\t{kind}" for kind, names in (("a", ANIMALS), ("d", DEEDS), ("p", PLACES)) for name in names
    ]
    (tmp_path / "tree.tsv").write_text("\n".join(rows))
    (tmp_path / "names.tsv").write_text("cat\tfelis catus\n")
    outcome = run(
        *("train", folder / "train.jsonl", "-m", tmp_path / "m", "--tree", tmp_path / "tree.tsv"),
        *("--label-texts", tmp_path / "names.tsv"),
    )
    assert outcome.code == 0, outcome.err
    assert treetop.load(tmp_path / "m").tree.sizes == [3, LABELS]
    picture = run("info", tmp_path / "m", "--tree").out
    assert "12 labels in a tree 3-12" in picture and "felis catus" in picture
    (tmp_path / "other.tsv").write_text("gold\tmetal\n")
    outcome = run(
        "-q", "train", folder / "train.jsonl", "-m", tmp_path / "n", "--tree", tmp_path / "other.tsv"
    )
    outcome.sentence(2, "other.tsv", "lists none of the labels")


def test_predict_writes_json_lines(folder, tmp_path, run, monkeypatch):
    output = tmp_path / "p.jsonl"
    outcome = run("predict", folder / "model", folder / "test.jsonl", "--k", 3, "--output", output)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["id"] for line in lines] == [f"s{row}" for row in range(200, 230)]
    test = treetop.read(folder / "test.jsonl")
    assert all({x["label"] for x in line["labels"]} == set(test[row][1]) for row, line in enumerate(lines))
    scores = [entry["score"] for entry in lines[0]["labels"]]
    assert scores == sorted(scores, reverse=True)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the cat sings in the barn\n")))
    outcome = run("predict", folder / "model", "-", "--threshold", scores[1])
    (line,) = outcome.out.splitlines()
    assert all(entry["score"] > scores[1] for entry in json.loads(line)["labels"])
    assert (
        len(json.loads(run("predict", folder / "model", folder / "test.jsonl").out.splitlines()[0])["labels"])
        == 5
    )


def test_evaluate_a_model_and_its_predictions_alike(folder, tmp_path, run):
    reports = [tmp_path / f"{name}.json" for name in ("model", "file", "bare")]
    predictions = tmp_path / "p.jsonl"
    run("predict", folder / "model", folder / "test.jsonl", "--output", predictions)
    test, train = folder / "test.jsonl", folder / "train.jsonl"
    assert run("evaluate", folder / "model", test, "--json", reports[0]).code == 0
    assert run("evaluate", predictions, test, "--train", train, "--json", reports[1]).code == 0
    outcome = run("evaluate", predictions, test, "--json", reports[2], "--k", "3,1")
    by_model, by_file, bare = (json.loads(report.read_text()) for report in reports)
    expected = treetop.load(folder / "model").evaluate(treetop.read(test)).to_dict()
    assert by_model == pytest.approx(expected, abs=1e-3)
    assert by_file == by_model
    assert bare == {name: by_model[name] for name in by_model if name[:2] != "PS" and name[-2:] != "@5"}
    assert outcome.out.splitlines()[0].split() == ["@1", "@3"]


def test_evaluate_in_depth(folder, tmp_path, run):
    weak = tmp_path / "weak.jsonl"
    truth = treetop.read(folder / "test.jsonl")
    lines = [{"id": id, "labels": [{"label": "cat", "score": 1.0}]} for id in truth.ids]
    write_lines(weak, lines)
    where = ("--json", "-", "--per-label", tmp_path / "l.csv")
    what = ("--by-frequency", "--confidence", "--against", weak)
    how = ("--propensity", "wiki-500k", "--threshold", "0.1")
    outcome = run("evaluate", folder / "model", folder / "test.jsonl", *where, *what, *how)
    report = json.loads(outcome.out)
    assert report["confidence"]["P@1"]["low"] <= report["P@1"] <= report["confidence"]["P@1"]["high"]
    beaten = report["against"]["P@3"]
    assert beaten["second"] < beaten["first"] == pytest.approx(report["P@3"], abs=1e-3)
    assert sum(bucket["precision"]["1"] for bucket in report["by_frequency"]) == pytest.approx(report["P@1"])
    assert "micro-F1" in report
    rows = (tmp_path / "l.csv").read_text().splitlines()
    assert rows[0].startswith("label,train_count,test_count") and len(rows) == LABELS + 1
    printed = run("evaluate", weak, folder / "test.jsonl", "--confidence", "--against", weak).out
    assert "95 % confidence" in printed and "+0.00" in printed


def test_info(folder, run):
    facts = json.loads(run("info", folder / "model", "--json").out)
    assert facts["method"] == "hybrid" and facts["changed_settings"] == {"threads": 2}
    assert facts["data"]["examples"] == 200 and facts["tree"] == [LABELS]
    assert facts["bytes"] == sum(p.stat().st_size for p in (folder / "model").rglob("*") if p.is_file())
    assert "threads=2" in run("info", folder / "model").out


def test_methods_lists_every_setting(run):
    settings = json.loads(run("methods", "xr-linear", "--json").out)
    expected = [setting.name for setting in treetop.XRLinear().config.settings()]
    assert [setting["name"] for setting in settings] == expected
    text = run("methods", "xr-linear").out
    assert all(f"\n{name} " in text for name in expected)
    assert json.loads(run("methods", "--json").out).keys() == treetop.methods.METHODS.keys()


def test_data_info(folder, run):
    outcome = run("data", "info", folder / "train.jsonl", folder / "test.jsonl")
    assert "unseen labels" in outcome.out and "label rank" in outcome.out
    facts = json.loads(run("data", "info", folder / "train.jsonl", "--json").out)
    assert (facts["examples"], facts["labels"], facts["labels_per_text"]["mean"]) == (200, LABELS, 3.0)


def test_data_convert_and_split(folder, tmp_path, run):
    assert run("data", "convert", folder / "train.jsonl", tmp_path / "a.csv.gz").code == 0
    assert run("data", "convert", tmp_path / "a.csv.gz", tmp_path / "b.txt", "--to", "fasttext").code == 0
    back = treetop.read(tmp_path / "b.txt")
    assert list(back) == list(treetop.read(folder / "train.jsonl"))
    parts = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    options = ("--group", "author", "--fraction", "0.5", "--seed", "1")
    outputs = ("--output-train", parts[0], "--output-test", parts[1])
    assert run("data", "split", folder / "train.jsonl", *options, *outputs).code == 0
    authors = [{json.loads(line)["group"] for line in part.read_text().splitlines()} for part in parts]
    assert not authors[0] & authors[1] and authors[0] | authors[1] == set(ANIMALS)
    same = ("--output-train", parts[0], "--output-test", parts[0])
    run("-q", "data", "split", folder / "train.jsonl", *same).sentence(2, "the same file")
    run("-q", "data", "convert", folder / "train.jsonl", tmp_path / "x.foo").sentence(2, "end it in", ".csv")


def test_data_build(tmp_path, run):
    options = ("--like", "eurlex-4k", "--scale", "0.02", "--output")
    assert run("data", "build", "synthetic", *options, tmp_path / "a", "--compress", "zst").code == 0
    assert run("data", "build", "synthetic", *options, tmp_path / "b", "--format", "pecos").code == 0
    first, second = treetop.read(tmp_path / "a/test.xmc.zst"), treetop.data.read(tmp_path / "b", split="test")
    assert (first.Y != second.Y).nnz == 0 and abs(first.X - second.X).max() < 1e-5
    assert json.loads(run("data", "build", "--json").out).keys() == treetop.data.builtin.NAMES.keys()
    assert "test_fraction" in run("data", "build").out


def test_demo(tmp_path, run, monkeypatch, folder):
    splits = {name: treetop.read(folder / f"{name}.jsonl") for name in ("train", "test")}
    monkeypatch.setattr("treetop.data.builtin.build", lambda name: splits)
    outcome = run("demo", "--keep", tmp_path / "kept", "--threads", "1")
    assert outcome.code == 0, outcome.err
    assert "“parse a date from a string”" in outcome.out and "nDCG" in outcome.out
    assert f"treetop predict {tmp_path / 'kept'} -" in outcome.out
    assert treetop.load(tmp_path / "kept").statistics["examples"] == 200


# -- mistakes ------------------------------------------------------------------------------------------------


def record(**changes: object) -> dict:
    return {"text": "a text", "labels": ["x"]} | changes


TRAINING_MISTAKES = {
    "bad JSON": ('{"text": "a", "labels": ["x"]}\n{"text": ', [], ["data.jsonl line 2", "JSON"]),
    "no text field": ([{"body": "a", "labels": ["x"]}], [], ["data.jsonl line 1", "'text'", "body"]),
    "no labels field": ([record(), {"text": "a"}], [], ["data.jsonl line 2", "'labels'", "--labels"]),
    "no labels at all": ([record(labels=[]), record(labels=[])], [], ["data.jsonl", "label"]),
    "nothing in it": ("", [], ["data.jsonl", "no examples"]),
    "unknown format": ([record()], ["--format", "jsnl"], ["'jsnl'", "did you mean 'jsonl'?"]),
    "unknown setting": ([record()], ["--set", "lef_size=5"], ["'lef_size'", "leaf_size"]),
    "bad setting": ([record()], ["--set", "tree.branching=many"], ["branching", "int", "'many'"]),
    "setting out of range": ([record()], ["--set", "tree.branching=1"], ["branching", "at least 2"]),
    "not a setting": ([record()], ["--set", "branching"], ["NAME=VALUE", "'branching'"]),
    "bad seed": ([record()], ["--seed", "-1"], ["seed", "at least 0"]),
    "unknown method": ([record()], ["--method", "xr-liner"], ["'xr-liner'", "did you mean 'xr-linear'?"]),
    "no taxonomy": ([record()], ["--tree", "absent.tsv"], ["absent.tsv"]),
    "no tree from outside": (
        [record()],
        ["--method", "neighbours", "--tree", "absent.tsv"],
        ["--tree: neighbours cannot use a label tree from a file"],
    ),
    "bad fraction": ([record(), record()], ["--validation", "1.5"], ["between 0 and 1", "1.5"]),
}


@pytest.mark.parametrize("mistake", TRAINING_MISTAKES)
def test_training_mistakes(mistake, tmp_path, run):
    content, options, words = TRAINING_MISTAKES[mistake]
    data = tmp_path / "data.jsonl"
    if isinstance(content, str):
        data.write_text(content)
    else:
        write_lines(data, content)
    run("train", data, "--model", tmp_path / "model", *options).sentence(2, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


def test_a_missing_file(folder, tmp_path, run):
    run("train", tmp_path / "trian.jsonl", "--model", tmp_path / "m").sentence(
        2, "trian.jsonl", "no such file"
    )
    run("predict", folder / "model", tmp_path / "x.jsonl").sentence(2, "x.jsonl", "no such file")
    run("predict", tmp_path / "m", folder / "test.jsonl").sentence(2, "not a model folder")
    run("evaluate", tmp_path / "p.jsonl", folder / "test.jsonl").sentence(2, "p.jsonl")
    assert not list(tmp_path.iterdir())


def test_the_place_for_the_result_is_checked_before_the_work(folder, tmp_path, run):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("dear")
    outcome = run("train", tmp_path / "absent.jsonl", "--model", tmp_path / "mine")
    outcome.sentence(2, "mine", "not a model folder")
    output = tmp_path / "no" / "p.jsonl"
    run("predict", tmp_path / "absent", "-", "--output", output).sentence(2, "does not exist")
    run("evaluate", tmp_path / "absent", "x", "--json", tmp_path).sentence(2, "is a folder")


def test_evaluation_mistakes(folder, tmp_path, run):
    model, test = folder / "model", folder / "test.jsonl"
    run("evaluate", model, test, "--k", "1,zwei").sentence(2, "--k", "'1,zwei'")
    run("evaluate", model, test, "--k", "0").sentence(2, "at least 1")
    run("evaluate", model, test, "--propensity", "wiki").sentence(2, "--propensity", "wiki-500k")
    run("evaluate", model, test, "--propensity", "nan,1.5").sentence(2, "propensity must be A", "A=nan")
    run("predict", model, test, "--output", tmp_path / "p.jsonl")
    run("evaluate", tmp_path / "p.jsonl", test, "--by-frequency").sentence(2, "--train FILE")
    run("evaluate", tmp_path / "p.jsonl", folder / "train.jsonl").sentence(
        2, "30 predictions", "200 examples"
    )


def test_k_larger_than_the_label_count(folder, tmp_path, run):
    outcome = run("predict", folder / "model", folder / "test.jsonl", "--k", 50, "--output", tmp_path / "p")
    outcome.sentence(2, "50", "12 labels")
    assert not list(tmp_path.iterdir())


def test_a_damaged_model(folder, tmp_path, run):
    run("train", folder / "train.jsonl", "--model", tmp_path / "m")
    path = next((tmp_path / "m").rglob("*biases*.npy"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    run("predict", tmp_path / "m", folder / "test.jsonl").sentence(2, path.name, "damaged")
    path.unlink()
    run("info", tmp_path / "m").sentence(2, path.name, "missing")


def test_build_and_usage_mistakes(run):
    run("data", "build", "sythetic").sentence(2, "'sythetic'", "synthetic")
    run("data", "build", "synthetic", "--scale", "7").sentence(2, "scale", "at most 1")
    run("data", "build", "synthetic", "--compress", "rar").sentence(2, "--compress", "'rar'")
    run("data", "build", "python-docs", "--like", "eurlex-4k").sentence(2, "'like'")
    for usage in (["train"], ["trian"], ["predict", "m", "x", "--k", "five"]):
        assert run(*usage).code == 2


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1, ["No space left"]),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "a.txt"), 1, ["a.txt: Permission denied"]),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "a.txt"), 2, ["a.txt: No such file"]),
        (MemoryError(), 1, ["not enough memory"]),
        (KeyboardInterrupt(), 130, ["interrupted"]),
        (failures.TerminatedError(), 143, ["terminated"]),
        (ZeroDivisionError("one\nover zero"), 1, ["internal error", "one over zero", "--debug"]),
        (treetop.errors.TreetopError("ours"), 1, ["treetop: ours"]),
    ],
)
def test_failures_are_one_sentence(error, code, words, tmp_path, folder, run, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Predictions, "_json_lines", fail)
    command = ("predict", folder / "model", folder / "test.jsonl", "--output", tmp_path / "p.jsonl")
    if isinstance(error, OSError):
        command = command[:3]  # to standard output: no function on the way has a message of its own
    run(*command).sentence(code, *words)
    assert not list(tmp_path.iterdir())
    shown = run("--debug", *command)
    assert shown.code == code and "Traceback" in shown.err
    assert "Traceback" in run(*command, "--debug").err


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file size limits")
def test_a_full_disk(folder, tmp_path, monkeypatch):
    """A file size limit stands in for a full disk: the old file stays, and no part of the new one is left."""
    (tmp_path / "p.jsonl").write_text("old")
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # its file would be too large as well
    program = (
        "import json, resource, signal, sys\n"
        "from treetop.cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    try:\n        main(command)\n"
        "    except SystemExit as end:\n        print(end.code, file=sys.stderr)\n"
    )
    commands = [
        ("predict", folder / "model", folder / "test.jsonl", "--output", tmp_path / "p.jsonl"),
        ("train", folder / "train.jsonl", "--model", tmp_path / "m"),
        ("data", "convert", folder / "train.jsonl", tmp_path / "c.csv"),
        ("data", "convert", folder / "train.jsonl", tmp_path / "c", "--to", "pecos"),
        ("evaluate", folder / "model", folder / "test.jsonl", "--confidence", "--json", tmp_path / "r.json"),
    ]
    given = json.dumps([["-q", *map(str, command)] for command in commands])
    lines = python("-c", program, given).err.splitlines()
    for message, code in zip(lines[::2], lines[1::2], strict=True):
        Outcome(int(code), "", message).sentence(1, "File too large")
    assert len(lines) == 2 * len(commands)
    assert {path.name for path in tmp_path.iterdir()} <= {"p.jsonl", "m.unfinished"}
    assert all(path.is_dir() for path in tmp_path.glob("m.unfinished/*"))  # finished pieces, whole
    assert (tmp_path / "p.jsonl").read_text() == "old"


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_a_reader_that_leaves(folder, tmp_path):
    many = write_lines(tmp_path / "many.jsonl", sentences(3000))
    command = [sys.executable, "-m", "treetop", "-q", "predict", folder / "model", many]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == failures.PIPE_CLOSED == 128 + signal.SIGPIPE


# -- progress, help, start-up --------------------------------------------------------------------------------


def test_progress_goes_to_standard_error_as_lines(folder, tmp_path, run):
    outcome = run("train", folder / "train.jsonl", "--model", tmp_path / "m", quiet=False)
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert lines[0] == "Reading train.jsonl …"
    assert lines[1].startswith("Reading train.jsonl: ") and lines[1].endswith(" s")
    assert "Training level 1 of 1 …" in lines
    assert lines[-1].startswith(f"{tmp_path / 'm'}: 12 labels from 200 examples")
    after = run("train", folder / "train.jsonl", "--model", tmp_path / "m", "--quiet", quiet=False)
    assert after.err == ""


def test_bars_on_a_terminal():
    from rich.console import Console

    page = io.StringIO()
    bars = reporter.Bars(Console(file=page, force_terminal=True, width=100))
    with progress.listen(bars):
        with progress.step("Outer [bold]") as advance:
            advance(1, 4)
            with progress.step("Inner") as inner:
                inner(1, 2)
        with pytest.raises(ValueError, match="oh"), progress.step("Broken"):
            raise ValueError("oh")
    shown = page.getvalue()
    assert "Outer [bold]" in shown and "Inner" in shown and "Broken" in shown and "left" in shown


def test_lines_say_when_a_step_failed(capsys):
    with progress.listen(reporter.Lines()), pytest.raises(ValueError, match="oh"), progress.step("Broken"):
        raise ValueError("oh")
    assert capsys.readouterr().err.splitlines() == ["Broken …", "Broken: not finished"]


def test_small_texts(run):
    assert run("--version", quiet=False).out == f"treetop {treetop.__version__}\n"
    assert [reporter.duration(s) for s in (0.04, 59.9, 59.96, 125, 4021)] == [
        *("0.0 s", "59.9 s", "1 min 00 s", "2 min 05 s", "1 h 07 min"),
    ]
    assert [file_size(n) for n in (512, 1500, 999_960, 2 * 10**9, 3 * 10**12)] == [
        *("512 bytes", "1.5 kB", "1.0 MB", "2.0 GB", "3.0 TB"),
    ]


def test_help_is_derived_from_the_settings(run):
    text = " ".join(run("train", "--help").out.replace("│", " ").split())
    helps = {setting.name: setting.help for setting in MethodConfig().settings()}
    assert helps["threads"][1:] in text and helps["seed"][1:] in text
    assert "treetop methods" in text and "xr-linear" in text and "parquet" in text
    assert "Results of networks depend on it in the last bits." in text
    build = " ".join(run("data", "build", "--help").out.replace("│", " ").split())
    assert "Benchmark to resemble" in build


@pytest.mark.process
def test_start_up_stays_light():
    program = (
        "import sys\n"
        "from treetop.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "sys.exit(', '.join(loaded & {'numpy', 'scipy', 'torch', 'pandas', 'pyarrow', 'optuna'}) or None)\n"
    )
    outcome = python("-c", program, PYTHONIOENCODING="utf-8")
    assert outcome.code == 0, outcome.err
    assert "demo" in outcome.out


def test_completion_of_methods(run, monkeypatch):
    monkeypatch.setenv("_TREETOP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "treetop train --method ")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run().out.split() == list(treetop.methods.METHODS)
