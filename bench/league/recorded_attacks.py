"""docs/attacks.md: what was attacked, how often, and what failed.

    python bench/attacks/run_attacks.py --record
    python bench/league/recorded_attacks.py

The first command adds its results to bench/records/attacks/results.jsonl, in place of older ones of the same
attack; the second writes the page from all records.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown

RECORDS = record_files.file_of("attacks", "results")
PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"

FAMILIES = {
    "core": "The native core",
    "model": "Model folders",
    "readers": "Files",
    "data": "Data and settings",
    "http": "The server: requests",
    "served": "The server: model folders and workers",
    "feedback": "The server: feedback",
    "injection": "The server and reports: markup and log",
    "server": "The server: long runs",
    "kill": "Killed commands",
    "disk": "Kills and power losses at every file operation",
    "concurrent": "Several processes",
    "machine": "Machines that lack something",
    "bits": "The same bits",
}
"""Headings by the first word of an attack, in the order of the page; others follow by name."""
SAME = {"settings": "data"}
FAILS_IF = {
    "core": "a crash, a report of AddressSanitizer or UndefinedBehaviorSanitizer, or more than 20 s or 2 GB",
    "model": "a crash, a wrong result, or an error without a sentence",
    "readers": "neither a result nor one sentence that names the place; or too much time or memory",
}
"""Where a record does not say it."""

INTRODUCTION = """\
# What was attacked

treetop reads files, model folders and requests that it did not write. This page shows how often each way in
was attacked, and how many of these trials failed. The attacks are scripts in `bench/attacks`, which
draw their inputs at random from a seed, and fuzzers of the native core in `cpp/fuzz`. Each ends after a given
time:

<!-- not run: takes an hour -->
```sh
make attack ATTACK_SECONDS=60 ATTACK_OPTIONS=--record
python bench/league/recorded_attacks.py
```

[Serving](serving.md) and [architecture](architecture.md) say what the server and a model folder promise.
"""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    parser.parse_args().output.write_text(page(record_files.read(RECORDS)), "utf-8")


def family(record: Record) -> str:
    """``http`` of http/mutated."""
    word = str(record["attack"]).partition("/")[0]
    return SAME.get(word, word)


def page(records: list[Record]) -> str:
    found = {family(record) for record in records}
    parts = [INTRODUCTION, totals(records)]
    for word in [*(word for word in FAMILIES if word in found), *sorted(found - FAMILIES.keys())]:
        rows = sorted((r for r in records if family(r) == word), key=lambda record: str(record["attack"]))
        parts.append(f"## {FAMILIES.get(word, word)}")
        parts.append(markdown(["attack", "a trial fails if", "tried", "failed"], map(row, rows)))
        parts.append(provenance.measured(rows))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def totals(records: list[Record]) -> str:
    tried, failed = (sum(int(record[name]) for record in records) for name in ("tried", "failed"))
    outcome = "none failed" if not failed else f"{failed:,} failed"
    return f"{len(records)} attacks, {tried:,} trials: {outcome}."


def row(record: Record) -> list[str]:
    name = str(record["attack"]).rpartition("/")[2]
    fails_if = record.get("fails_if") or FAILS_IF.get(family(record), "")
    return [name, str(fails_if), f"{record['tried']:,}", f"{record['failed']:,}"]


if __name__ == "__main__":
    main()
