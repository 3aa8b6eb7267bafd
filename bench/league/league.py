"""docs/league.md: the methods on some data sets, with one encoder on one machine.

    treetop compare FOLDER --methods all --set encoder=DIR --seeds N --report out/
    python bench/league/league.py --add out/runs DATA [--machine TEXT] [--output docs/league.md]

The first command trains, measures and keeps every run. The second adds these runs to the records in
bench/records/league/DATA.jsonl, in place of older ones of the same method and seed, and writes the page and
its picture from all records; so rows can be added or measured again one by one. bench/league/fill.py then
refreshes the numbers that other pages quote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parents[1]))

import drawing
import records
import reproduced
from common import machine, provenance, record_files
from common.options import parser_for
from common.tables import markdown
from records import Record, Runs
from treetop.registry import SINGLE_METHODS

PAGE = Path(__file__).parents[2] / "docs" / "league.md"
METHOD_PAGES = PAGE.parent / "methods"
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
HEAD = ("", *METRICS, "seeds", "train s", "texts/s", "GB on the GPU", "model MB")
COMMAND = "treetop compare {data} --methods {methods} {settings}--seeds {seeds} --report out/"

INTRODUCTION = """\
# League table

All methods with their default settings, the same encoder (MiniLM-L6) for those that have one, on one NVIDIA
H200 with 16 cores: networks train and predict on the GPU, linear methods on the cores. Metrics are
percentages on the test texts, with the standard deviation (±) where several seeds were run. *Train s* is the
time from texts in memory to the model; *texts/s* the speed of the first prediction, of all test texts in one
call; *GB on the GPU* the peak of allocated memory. A single run says little: P@1 varies by a few tenths of a
point from seed to seed.

The rows *as published* have the settings of a paper's [recipe](recipes.md), its first member alone, with
MiniLM-L6 in place of the paper's encoder. Several were trained at once, so they have no times;
[Recipes on other data](reproduced.md) has the whole ensembles, and says which recipes have changed since.

    treetop compare FOLDER --methods all --set encoder=DIR --seeds N --report out/
    python bench/league/league.py --add out/runs DATA

[Choosing a method](choosing.md) draws the conclusions."""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--add",
        nargs=2,
        metavar=("RUNS", "DATA"),
        action="append",
        default=[],
        help="folder of runs, and the name of their data set",
    )
    parser.add_argument("--machine", help="machine of these runs; default: this one")
    parser.add_argument(
        "--output", type=Path, default=PAGE, help="page to write; its picture lies next to it"
    )
    options = parser.parse_args()
    for folder, name in options.add:
        where = options.machine or machine.describe_hardware()
        records.add(Path(folder), records.RECORDS / f"{name}.jsonl", where, provenance.now())
    sets = records.read_all()
    options.output.write_text(page(sets, record_files.read_all(reproduced.SUBJECT)), "utf-8")
    drawing.draw(sets, options.output.with_suffix(".svg"))


def page(sets: dict[str, Runs], recipes: Mapping[str, list[Record]]) -> str:
    """``recipes`` are the records of recipes on each data set."""
    parts = [INTRODUCTION, "![P@1 against seconds of training and of prediction](league.svg)"]
    for name, runs in sets.items():
        published = {
            record["method"]: record for record in recipes.get(name, ()) if reproduced.is_first(record)
        }
        rows = []
        for method, found in runs.items():
            rows.append(row(method, found))
            if method in published:
                rows.append(published_row(published[method]))
        parts.append(f"## {name}\n\n{markdown(HEAD, rows)}")
        parts.append(origins(name, runs))
        if published:
            commands = [f"- {provenance.measured([record])}" for record in published.values()]
            parts.append("\n".join(["The rows as published:", "", *commands]))
        missing = [method for method in SINGLE_METHODS if method not in runs]
        if missing:
            parts.append(f"Not measured: {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def row(method: str, runs: list[Record]) -> list[str]:
    def mean(name: str) -> float:
        return fmean(records.values(runs, name))

    gigabytes = mean("GB on the GPU")
    return [
        f"[{method}](methods/{page_of(method)}.md)",
        *(spread(records.values(runs, metric)) for metric in METRICS),
        str(len(runs)),
        f"{mean('train s'):.1f}",
        f"{mean('texts/s'):,.0f}",
        f"{gigabytes:.1f}" if gigabytes else "",
        f"{mean('model MB'):,.0f}",
    ]


def published_row(record: Record) -> list[str]:
    numbers = record["numbers"]
    metrics = (reproduced.number(numbers, metric) for metric in METRICS)
    megabytes = f"{1000 * numbers['model GB']:,.0f}"
    changes = [f"`{name}={value}`" for name, value in reproduced.own_settings(record).items() if value]
    title = ", ".join([f"{record['method']}, as published", *changes])
    return [title, *metrics, "1", "", "", "", megabytes]


def page_of(method: str) -> str:
    """The page with the method's settings: variants share one."""
    mark = re.compile(rf"^<!-- settings:.* {re.escape(method)} .*-->$", re.MULTILINE)
    return next(page.stem for page in METHOD_PAGES.glob("*.md") if mark.search(page.read_text("utf-8")))


def spread(values: list[float]) -> str:
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def origins(data: str, runs: Runs) -> str:
    """The lines below a table: the commands, then each commit and the methods with runs of it."""
    every = sorted((run for found in runs.values() for run in found), key=lambda run: run["date"])
    commits = dict.fromkeys(map(provenance.kind_and_commit, every))
    lines = [f"- {' '.join(commit)}: {', '.join(methods_of(commit, runs))}" for commit in commits]
    named = ",\n".join(f"`{command}`" for command in commands(data, runs))
    return "\n".join(["Measured with", f"{named}:", "", *lines])


def commands(data: str, runs: Runs) -> list[str]:
    """One for the methods that share their changed settings and the number of seeds."""
    groups: dict[tuple[str, int], list[str]] = {}
    for method, found in runs.items():
        settings = " ".join(f"{name}={value}" for name, value in found[-1]["settings"].items())
        seeds = max(run["seed"] for run in found) + 1
        groups.setdefault((f"--set {settings} " if settings else "", seeds), []).append(method)
    return [
        COMMAND.format(data=data, methods=",".join(methods), settings=settings, seeds=seeds)
        for (settings, seeds), methods in groups.items()
    ]


def methods_of(commit: tuple[str, str], runs: Runs) -> Iterator[str]:
    """With the seeds, where those of a method are of several commits."""
    for method, found in runs.items():
        seeds = [str(run["seed"]) for run in found if provenance.kind_and_commit(run) == commit]
        if seeds:
            noun = "seed" if len(seeds) == 1 else "seeds"
            yield method if len(seeds) == len(found) else f"{method} ({noun} {', '.join(seeds)})"


if __name__ == "__main__":
    main()
