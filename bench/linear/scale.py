"""How time, memory and model size grow with the number of labels, on synthetic data like Amazon-670K.

    python bench/linear/scale.py [--labels 67000 200000 670091] [--set NAME=VALUE …]
        [--output docs/benchmarks.md]

At each size three processes, whose memory is measured separately: build and write the data; read them and
train; load the model, predict and evaluate. The growth exponent of a phase is the slope b of ln(seconds) = a
+ b ln(labels) by least squares: 1 is linear growth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import benchmarks_page as page
from common import machine, provenance, record_files
from common.options import add_settings, named, parser_for
from common.record_files import Record
from common.tables import markdown
from peers.runners.protocol import folder_size, peak_memory
from treetop.data import builtin, write
from treetop.data.builtin.synthetic import BENCHMARKS
from treetop.progress import listen
from treetop.tree.label_vectors import VECTOR_ENTRIES

LIKE, LARGER = "amazon-670k", "amazon-3m"
LABELS = (67_000, 200_000, BENCHMARKS[LIKE].labels)
STEPS = ("build", "train", "predict")
METRICS = ("P@1", "P@3", "P@5")
ALL, PEAK, MODEL = "all", "peak memory", "model on disk"
SUBJECT = "growth"

SECTION = """
Data: `synthetic --like {like}`, texts in proportion to labels, {words:.0f} words and
{per_text:.2f} labels per text; {method} with {settings}. {machine}.

{table}

{measured}

Each cell has the seconds and the peak physical memory (GB) of the process in that phase; indented phases are
parts of the one above. The exponent is the slope of the logarithm against that of the number of labels: 1 is
linear growth.

{extrapolation}
"""

EXTRAPOLATION = """
By extrapolation: {larger} ({texts:,} texts, {labels:,} labels, {per_text:.1f} labels and {words:.0f} words
per text) has {pairs:.1f} times the pairs of text and label of the run with {measured:,} labels, and
{entries:.1f} times the feature entries. If training time grows with the pairs times the words of a text,
{work:.1f} times as much, it would take about {hours:.1f} hours on this machine. Its matrices take
{matrices:.1f} GB, its label vectors, which are cut to their largest entries, at most {vectors:.1f} GB, and a
model of the same size per label as this one {weights:.1f} GB.
"""


class Phases:
    """Seconds and peak memory of named phases; also listens to the library's progress steps."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._steps: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        reset_peak()
        start = time.perf_counter()
        with listen(self):
            yield
        self.found[name] = {"seconds": time.perf_counter() - start, "peak_bytes": peak_memory()}

    def start(self, title: str) -> None:
        self._steps.append((re.sub(r"( [\d, ]+)? of \d+$", "", title), time.perf_counter()))

    def advance(self, done: int, total: int, note: str = "") -> None: ...

    def finish(self, complete: bool) -> None:
        title, start = self._steps.pop()
        seconds = self.found.get(f"- {title}", {"seconds": 0.0})["seconds"] + time.perf_counter() - start
        self.found[f"- {title}"] = {"seconds": seconds}


def reset_peak() -> None:
    """Resets the peak memory, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS, help="numbers of labels to compare")
    parser.add_argument("--method", default="xr-linear", help="method to train")
    add_settings(parser, "the method", ["leaf_size=100"])
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    parser.add_argument("--output", type=Path, help="record it, and replace the section of this page")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        report = {"build": build, "train": train, "predict": predict}[options.step](options)
        (options.folder / f"{options.step}.json").write_text(json.dumps(report))
        return
    stamp = provenance.this_run()
    found = [run(labels, options) for labels in sorted(options.labels)]
    record = {
        "method": options.method,
        "settings": named(options.settings),
        "runs": found,
        "exponents": exponents(found),
        "threads": options.threads,
        "machine": machine.describe_hardware(),
    } | stamp
    text = section(record)
    print(text)
    if options.output:
        record_files.put(record_files.file_of(SUBJECT, LIKE), [record], "method", "settings")
        page.put(options.output, {page.GROWTH: text})


def run(labels: int, options: argparse.Namespace) -> dict[str, Any]:
    """All steps at one size, each in its own process."""
    report: dict[str, Any] = {"labels": labels, "phases": {}}
    with tempfile.TemporaryDirectory() as folder:
        for step in STEPS:
            print(f"{labels:,} labels: {step}", flush=True)
            command = [sys.executable, __file__, "--labels", str(labels), "--step", step, "--folder", folder]
            command += ["--method", options.method, "--threads", str(options.threads)]
            subprocess.run([*command, "--set", *options.settings], check=True)
            found = json.loads((Path(folder) / f"{step}.json").read_text())
            report["phases"] |= found.pop("phases")
            report |= found
    report["seconds"] = sum(phase["seconds"] for phase in parts(report).values())
    return report


def build(options: argparse.Namespace) -> dict[str, Any]:
    phases = Phases()
    with phases.phase("build the data"):
        scale = min(options.labels[0] / BENCHMARKS[LIKE].labels, 1.0)
        splits = builtin.build("synthetic", like=LIKE, scale=scale)
    with phases.phase("write the data"):
        for split, examples in splits.items():
            write(examples, options.folder / "data", format="pecos", split=split)
    X = splits["train"].X
    assert X is not None
    return {"phases": phases.found, "texts": X.shape[0], "entries": X.nnz}


def train(options: argparse.Namespace) -> dict[str, Any]:
    phases = Phases()
    with phases.phase("read the training data"):
        examples = treetop.read(options.folder / "data", split="train")
    settings = named(options.settings)
    with phases.phase("train"):
        model = treetop.make(options.method, threads=options.threads, **settings).fit(examples)
    with phases.phase("save"):
        model.save(options.folder / "model")
    return {"phases": phases.found, "model_bytes": folder_size(options.folder / "model")}


def predict(options: argparse.Namespace) -> dict[str, Any]:
    phases = Phases()
    with phases.phase("load"):
        model = treetop.load(options.folder / "model")
    with phases.phase("read the test data"):
        examples = treetop.read(options.folder / "data", split="test")
    with phases.phase("predict"):
        predictions = model.predict(examples, k=5)
    with phases.phase("evaluate"):
        known = {"train_counts": model.label_counts, "n_train": model.statistics["examples"]}
        metrics = treetop.evaluate(predictions, examples, **known)
    shown = {name: metrics[name] for name in METRICS}
    return {"phases": phases.found, "predicted": len(examples), "metrics": shown}


def exponents(found: list[dict[str, Any]]) -> dict[str, float]:
    """Of every phase that all runs have, of all together, of memory and of the model's size."""
    if len(found) < 2:
        return {}
    labels = [report["labels"] for report in found]
    shared = set.intersection(*(set(report["phases"]) for report in found))
    seconds = {name: [report["phases"][name]["seconds"] for report in found] for name in shared}
    whole = {name: [total(report)[name] for report in found] for name in total(found[0])}
    return {name: exponent(labels, values) for name, values in (seconds | whole).items()}


def exponent(labels: list[int], values: list[float]) -> float:
    """The slope of ln(values) against ln(labels)."""
    return float(np.polyfit(np.log(labels), np.log(values), 1)[0])


def total(report: dict[str, Any]) -> dict[str, float]:
    return {
        ALL: report["seconds"],
        PEAK: max(phase["peak_bytes"] for phase in parts(report).values()),
        MODEL: report["model_bytes"],
    }


def section(record: Record) -> str:
    size, found = BENCHMARKS[LIKE], record["runs"]
    head = ["", *(f"{report['labels']:,} labels" for report in found), "exponent"]
    return SECTION.format(
        like=LIKE,
        words=size.features_per_text,
        per_text=size.labels_per_text,
        method=record["method"],
        settings=", ".join(f"`{name}={value}`" for name, value in record["settings"].items())
        or "its defaults",
        machine=f"{record['machine']}; {record['threads']} threads for all",
        table=markdown(head, rows(found, record["exponents"])),
        measured=provenance.measured([record]),
        extrapolation=extrapolated(found[-1]),
    ).strip()


def rows(found: list[dict[str, Any]], exponents: dict[str, float]) -> Iterator[list[str]]:
    def slope(name: str) -> str:
        return f"{exponents[name]:.2f}" if name in exponents else ""

    yield ["training texts", *(f"{report['texts']:,}" for report in found), ""]
    for name in in_order(found):
        seen = [report["phases"].get(name) for report in found]
        yield [name.replace("- ", "&nbsp;&nbsp;", 1), *map(cell, seen), slope(name)]
    totals = [total(report) for report in found]
    yield [ALL, *(f"{whole[ALL]:,.1f} s" for whole in totals), slope(ALL)]
    yield [PEAK, *(f"{whole[PEAK] / 1e9:.2f} GB" for whole in totals), slope(PEAK)]
    yield [MODEL, *(f"{whole[MODEL] / 1e6:,.0f} MB" for whole in totals), slope(MODEL)]
    each = [1e3 * report["phases"]["predict"]["seconds"] / report["predicted"] for report in found]
    yield ["prediction per text", *(f"{milliseconds:.3f} ms" for milliseconds in each), ""]
    yield [", ".join(METRICS), *(", ".join(f"{v:.1f}" for v in r["metrics"].values()) for r in found), ""]


def parts(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The phases that are not parts of another."""
    return {name: phase for name, phase in report["phases"].items() if not name.startswith("- ")}


def in_order(found: list[dict[str, Any]]) -> list[str]:
    """Names of phases in the order of the report with most of them; a phase before its parts."""
    names: list[str] = []
    inner: list[str] = []
    for name in max((list(report["phases"]) for report in found), key=len):
        if name.startswith("- "):
            inner.append(name)
        else:
            names += [name, *inner]
            inner = []
    return names


def cell(phase: dict[str, float] | None) -> str:
    if phase is None:
        return ""
    seconds = f"{phase['seconds']:,.1f} s" if phase["seconds"] >= 1 else f"{phase['seconds']:.2f} s"
    return f"{seconds}, {phase['peak_bytes'] / 1e9:.2f} GB" if "peak_bytes" in phase else seconds


def extrapolated(largest: dict[str, Any]) -> str:
    """What the next larger benchmark would take, by the largest run and the published sizes."""
    size = BENCHMARKS[LARGER]
    here = BENCHMARKS[LIKE]
    pairs = size.train * size.labels_per_text
    entries = size.train * size.features_per_text
    pairs_ratio = pairs / (largest["texts"] * here.labels_per_text)
    work = pairs_ratio * size.features_per_text / here.features_per_text
    return EXTRAPOLATION.format(
        larger=LARGER,
        measured=largest["labels"],
        texts=size.train,
        labels=size.labels,
        per_text=size.labels_per_text,
        words=size.features_per_text,
        pairs=pairs_ratio,
        entries=entries / largest["entries"],
        work=work,
        hours=work * largest["phases"]["train"]["seconds"] / 3600,
        matrices=8 * (pairs + entries) / 1e9,  # a column id and a value of four bytes each
        vectors=8 * min(pairs * size.features_per_text, VECTOR_ENTRIES) / 1e9,
        weights=largest["model_bytes"] * size.labels / largest["labels"] / 1e9,
    ).strip()


if __name__ == "__main__":
    main()
