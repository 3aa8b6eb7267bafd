"""docs/repeated-ablations.md: published ablations, repeated on some data sets.

    treetop compare FOLDER --ablation NAME --seeds N --report OUT
    python bench/league/repeated_ablations.py --add OUT DATA [--machine TEXT] [--at COMMIT]

The first command trains and compares. The second adds its ablations to the records in
bench/records/ablations/DATA.jsonl, in place of older ones, and writes the page from all records.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import machine, provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown
from treetop.ablations import Ablation, ablation_names, load_ablation
from treetop.comparison import Variant
from treetop.config import value_text

SUBJECT = "ablations"
PAGE = Path(__file__).parents[2] / "docs" / "repeated-ablations.md"
METRICS = ("P@1", "P@3", "P@5", "PSP@5")

INTRODUCTION = """\
# Ablations on other data

[Published ablations](comparing.md#published-ablations), repeated on data at hand. Metrics are percentages on
the test texts: means over the seeds, with their standard deviation. The published scores, in the first column
of numbers, come from other data and often from other word vectors or encoders: compare rows within a column,
not columns. The second table of each ablation tests its claims: the difference of two rows as published, and
here with its standard error.

    treetop compare FOLDER --ablation NAME --seeds N --report OUT
    python bench/league/repeated_ablations.py --add OUT DATA"""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--add",
        nargs=2,
        metavar=("OUT", "DATA"),
        action="append",
        default=[],
        help="report folder of treetop compare, and the name of its data set",
    )
    parser.add_argument("--machine", help="machine of these runs; default: this one")
    parser.add_argument("--at", metavar="COMMIT", help="commit of these runs; default: this checkout")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args()
    where = options.machine or machine.describe_hardware()
    for folder, data in options.add:
        stamp = provenance.now() | ({"commit": options.at} if options.at else {})
        fresh = records_of(Path(folder), data, where, stamp)
        record_files.put(record_files.file_of(SUBJECT, data), fresh, "ablation")
    options.output.write_text(page(record_files.read_all(SUBJECT)), "utf-8")


def records_of(folder: Path, data: str, where: str, stamp: dict[str, str]) -> list[Record]:
    """A record of each ablation, with the metrics of each row and seed, and the tested claims."""
    report = json.loads((folder / "report.json").read_text("utf-8"))
    measured = {variant["name"]: variant for variant in report["variants"]}
    seeds = len(report["seeds"])
    found = []
    for name, claims in report["claims"].items():
        ablation = load_ablation(name)
        rows = {row.name: measured[row.name] for row in ablation.rows if row.name in measured}
        changes = changed(ablation, rows)
        words = ["treetop", "compare", data, "--ablation", name]
        words += [word for change in changes for word in ("--set", change)]
        found.append(
            {
                "ablation": name,
                "rows": {row: numbers(variant) for row, variant in rows.items()},
                "claims": [claim_of(claim) for claim in claims],
                "command": " ".join([*words, "--seeds", str(seeds), "--report", "out/"]),
                "machine": where,
            }
            | stamp
        )
    return found


def numbers(variant: dict[str, Any]) -> dict[str, Any]:
    """Metrics of each seed; of networks also the number of parameters."""
    metrics: dict[str, Any] = {
        name: [run["metrics"][name] for run in variant["runs"]] for name in variant["runs"][0]["metrics"]
    }
    return metrics | {"parameters": sum((variant["parameters"] or {}).values())}


def claim_of(claim: dict[str, Any]) -> dict[str, Any]:
    here = {name: claim["here"][name] for name in ("difference", "deviation")}
    return {name: claim[name] for name in ("claim", "metric", "published", "outcome")} | here


def changed(ablation: Ablation, rows: dict[str, dict[str, Any]]) -> list[str]:
    """The shared settings that ``--set`` changed, as NAME=VALUE."""
    found: dict[str, None] = {}
    for variant in ablation.variants():
        used = rows[variant.name]
        shown, wanted = (
            {item.name: value_text(item.value) for item in made.make(0).config.settings()}
            for made in (Variant(variant.name, used["method"], used["settings"]), variant)
        )
        found |= {f"{name}={value}": None for name, value in shown.items() if value != wanted[name]}
    return list(found)


def page(sets: dict[str, list[Record]]) -> str:
    by_ablation: dict[str, dict[str, Record]] = {}
    for data, records in sets.items():
        for record in records:
            by_ablation.setdefault(record["ablation"], {})[data] = record
    parts = [INTRODUCTION]
    for name in (name for name in ablation_names() if name in by_ablation):
        ablation, found = load_ablation(name), by_ablation[name]
        parts.append(f"## {name}\n\n{ablation.title}. Published: {ablation.source}.")
        for data, record in found.items():
            parts += [table(ablation, data, record), provenance.measured([record])]
        parts.append(claims_table(found))
    return "\n\n".join(parts) + "\n"


def table(ablation: Ablation, data: str, record: Record) -> str:
    """The first cell names the data set and the number of seeds, also for pages that quote."""
    rows = []
    for row in ablation.rows:
        if row.name in record["rows"]:
            found = record["rows"][row.name]
            published = f"{row.published['P@1']:.2f}" if "P@1" in row.published else ""
            size = f"{found['parameters'] / 1e6:.1f} M" if found["parameters"] else ""
            rows.append([row.name, published, *(spread(found[name]) for name in METRICS), size])
    seeds = len(next(iter(record["rows"].values()))["P@1"])
    title = [f"{data}, {seeds} seeds", *[""] * (len(rows) - 1)]
    head = ["", "row", f"{ablation.published_on} P@1", *METRICS, "parameters"]
    return markdown(head, ([cell, *row] for cell, row in zip(title, rows, strict=True)))


def spread(values: list[float]) -> str:
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def claims_table(found: dict[str, Record]) -> str:
    """A row per claim, with the difference and the outcome on each data set."""

    def rows() -> Iterator[list[str]]:
        every = {data: record["claims"] for data, record in found.items()}
        for claims in zip(*every.values(), strict=True):
            published = claims[0]["published"]
            yield [
                claims[0]["claim"],
                claims[0]["metric"],
                "" if published is None else f"{published:+.2f}",
                *(f"{c['difference']:+.2f} ± {c['deviation']:.2f}: {c['outcome']}" for c in claims),
            ]

    return markdown(["claim", "metric", "published", *found], rows())


if __name__ == "__main__":
    main()
