"""docs/attacks.md: what was attacked, how often, and what failed.

    python bench/league/recorded_attacks.py --run http_requests same_bits [--seconds 60] [--seed 0]
    make attack | python bench/league/recorded_attacks.py --add "make attack"

The first command runs scripts of bench/attacks. The second reads what an attack printed: lines with JSON
objects with the fields attack, tried, failed, perhaps fails_if (what a trial must not lead to) and command;
other lines are passed on. Both add the results to bench/records/attacks/results.jsonl, in place of older ones
of the same attack, and write the page from all records. Without options, only the page is written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown

RECORDS = record_files.file_of("attacks", "results")
PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
ATTACKS = Path(__file__).parents[1] / "attacks"

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
was attacked, and how many of these trials failed. The attacks are scripts in `bench/attacks`. They draw their
inputs at random from `--seed`, and end after `--seconds`:

<!-- not run: takes a minute -->
```sh
python bench/attacks/http_requests.py --seconds 60 --seed 1
python bench/league/recorded_attacks.py --run http_requests  # and adds its results to this page
```

[Serving](serving.md) and [architecture](architecture.md) say what the server and a model folder promise.
"""


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--run", nargs="*", default=[], metavar="SCRIPT", help="scripts of bench/attacks")
    parser.add_argument("--seconds", type=float, default=60, help="for each script")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", metavar="COMMAND", help="add results on standard input, of this command")
    parser.add_argument("--records", type=Path, default=RECORDS, help="file of the records")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args()
    failed = False
    for name in options.run:
        script = ATTACKS / f"{name}.py"
        words = [str(script.relative_to(provenance.ROOT)), "--seconds", f"{options.seconds:g}"]
        words += ["--seed", str(options.seed)]
        stamp = provenance.now()
        done = subprocess.run(
            [sys.executable, *words], cwd=provenance.ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        lines = done.stdout.splitlines(keepends=True)
        record_files.put(options.records, results(lines, " ".join(["python", *words]), stamp), "attack")
        failed = failed or done.returncode != 0
    if options.add:
        record_files.put(options.records, results(sys.stdin, options.add, provenance.now()), "attack")
    options.output.write_text(page(record_files.read(options.records)), "utf-8")
    return int(failed)


def results(lines: Iterable[str], command: str, stamp: dict[str, str]) -> Iterator[Record]:
    """The records among the lines that attacks print; other lines are passed on."""
    for line in lines:
        sys.stdout.write(line)
        try:
            found = json.loads(line)
            yield {"command": command} | found | stamp | {"tried": int(found["tried"])}
        except (ValueError, KeyError, TypeError):
            continue


def family(record: Record) -> str:
    """``http`` of http/mutated, ``core`` of "core: levels"."""
    word = re.split(r"[/:]", str(record["attack"]))[0].strip()
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
    name = re.sub(r"^\w+[/:] *", "", str(record["attack"]))
    fails_if = record.get("fails_if") or FAILS_IF.get(family(record), "")
    return [name, str(fails_if), f"{record['tried']:,}", f"{record['failed']:,}"]


if __name__ == "__main__":
    sys.exit(main())
