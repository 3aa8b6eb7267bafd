"""Records of measurements, which pages are made of: bench/records/SUBJECT/DATA.jsonl, one on each line.

A record has what was measured, the settings that differ from the defaults, the machine, and a stamp of
command, commit and date (see provenance.py). `rounded` marks a record that was copied from a page and has its
digits only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parents[1] / "records"
FIRST = ("deb-tags", "deb-deps", "tib-core")
"""Data sets in the order of the pages; others follow by name."""

Record = dict[str, Any]


def file_of(subject: str, data: str) -> Path:
    return RECORDS / subject / f"{data}.jsonl"


def read_all(subject: str) -> dict[str, list[Record]]:
    """The records of each data set."""
    files = sorted((RECORDS / subject).glob("*.jsonl"), key=lambda file: _place(file.stem))
    return {file.stem: read(file) for file in files}


def with_data(subject: str) -> list[Record]:
    """The records of all data sets in one list, with their names as `data`."""
    return [{"data": data} | record for data, found in read_all(subject).items() for record in found]


def _place(data: str) -> tuple[int, str]:
    return FIRST.index(data) if data in FIRST else len(FIRST), data


def read(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def put(file: Path, fresh: Iterable[Record], *names: str) -> None:
    """Adds records, in place of those that are the same in the named fields."""
    found = {json.dumps([record.get(name) for name in names]): record for record in [*read(file), *fresh]}
    write(file, found.values())


def write(file: Path, records: Iterable[Record]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(rounded(record)) + "\n" for record in records), "utf-8")


def rounded(value: Any) -> Any:
    """Nine digits of every number: more than any page shows."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
