"""docs/league.md: the methods of the library on some data sets, with one encoder on one machine.

    treetop compare FOLDER --methods all --set encoder=DIR --seeds 1 --report out/
    python bench/league.py --add out/runs NAME [--output docs/league.md]

The first command trains and measures, and keeps what it says of every run; the second takes those records
into bench/league/NAME/METHOD-SEED.json, in the place of older ones, and writes the page and its picture from
all that lie there. So rows can be added or made again one by one, and the page is made of nothing else.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from table import markdown
from treetop.methods import METHODS
from treetop.report.plots import legend, log_axis, look, new_figure, styled, write

RECORDS = Path(__file__).parent / "league"
PAGE = Path(__file__).parent.parent / "docs" / "league.md"
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
HEAD = ("", *METRICS, "seeds", "train s", "texts/s", "GB on the GPU", "model MB")
Record = dict[str, Any]
Runs = dict[str, list[Record]]
"""The runs of every method."""

INTRODUCTION = """\
# League table

Methods with their default settings, the same encoder (MiniLM-L6) for all that have one, one NVIDIA H200
with 16 cores; networks train and predict on the GPU, linear methods on the cores. Metrics are percentages
on the test texts, ± the standard deviation where there are several seeds. *Train* is from texts in memory
to the model; *texts/s* those of one prediction for all test texts, its first call; *GB* the most that
tensors took at a time. One training says little: P@1 moves by some tenths of a point from seed to seed.

    treetop compare FOLDER --methods all --set encoder=DIR --seeds 1 --report out/
    python bench/league.py --add out/runs NAME

[Choosing a method](choosing.md) says what follows from it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--add", nargs=2, metavar=("RUNS", "NAME"), action="append", default=[])
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    for folder, name in options.add:
        add(Path(folder), RECORDS / name)
    sets = {folder.name: read(folder) for folder in sorted(RECORDS.iterdir())}
    options.output.write_text(page(sets), "utf-8")
    draw(sets, options.output.with_suffix(".svg"))


def add(runs: Path, records: Path) -> None:
    records.mkdir(parents=True, exist_ok=True)
    for file in sorted(runs.glob("*.json")):
        record = json.loads(file.read_text("utf-8"))
        if "transformer" in record["config"]:  # the name of the encoder, not where it lay
            record["config"]["transformer"]["encoder"] = Path(record["config"]["transformer"]["encoder"]).name
        del record["epochs"]
        target = records / f"{record['method']}-{record['seed']}.json"
        target.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def read(records: Path) -> Runs:
    """In the order of `treetop methods`."""
    runs: Runs = {}
    for file in sorted(records.glob("*.json")):
        record = json.loads(file.read_text("utf-8"))
        runs.setdefault(record["method"], []).append(record)
    return {name: runs[name] for name in METHODS if name in runs}


def page(sets: dict[str, Runs]) -> str:
    parts = [INTRODUCTION, "![P@1 against seconds of training and of prediction](league.svg)"]
    for name, runs in sets.items():
        parts.append(f"## {name}\n\n{markdown(HEAD, (row(method, found) for method, found in runs.items()))}")
        missing = [method for method in METHODS if method not in runs and method != "ensemble"]
        if missing:
            parts.append(f"Not measured here: {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def row(method: str, runs: list[Record]) -> list[str]:
    def mean(figure: str) -> float:
        return fmean(run[figure] for run in runs)

    gigabytes = mean("gpu_bytes") / 1e9
    return [
        f"[{method}](methods/{page_of(method)}.md)",
        *(spread([run["metrics"][metric] for run in runs]) for metric in METRICS),
        str(len(runs)),
        f"{mean('train_seconds'):.1f}",
        f"{1000 / mean('predict_milliseconds'):,.0f}",
        f"{gigabytes:.1f}" if gigabytes else "",
        f"{mean('bytes') / 1e6:,.0f}",
    ]


def page_of(method: str) -> str:
    """Variants of the convolutions share pages."""
    return {"kim-cnn-softmax": "kim-cnn", "xml-cnn-impl": "xml-cnn", "cnn-baseline": "kim-cnn"}.get(
        method, method
    )


def spread(values: list[float]) -> str:
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def draw(sets: dict[str, Runs], file: Path) -> None:
    """P@1 over training and over prediction of each data set: up and to the left is better."""
    methods = [name for name in METHODS if any(name in runs for runs in sets.values())]
    with styled("drawing the league table"):
        figure, panels = new_figure(2 * len(sets), 4.2 + 0.11 * len(methods))
        resources = ("train_seconds", "predict_milliseconds")
        places = [(name, resource) for name in sets for resource in resources]
        named: set[str] = set()
        for axes, (name, resource) in zip(panels, places, strict=True):
            for method, runs in sets[name].items():
                axes.plot(
                    fmean(run[resource] for run in runs),
                    fmean(run["metrics"]["P@1"] for run in runs),
                    linestyle="",
                    label=None if method in named else method,
                    **look(methods.index(method)),
                )
                named.add(method)
            unit = "seconds of training" if resource == resources[0] else "milliseconds a text, all at once"
            log_axis(axes, unit)
            axes.set_title(name)
        panels[0].set_ylabel("P@1, percent")
        legend(figure)
        write(figure, file)


if __name__ == "__main__":
    main()
