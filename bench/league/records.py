"""Records of the league table: bench/records/league/DATA.jsonl, a run on each line.

A record has the method, the seed and the settings that differ from the defaults (of files only the name);
what `treetop compare` measures (metrics, train_seconds, predict_milliseconds, bytes, gpu_bytes, …); the
machine; and a stamp of commit and date, see common/provenance.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import record_files
from common.record_files import Record
from treetop.methods import METHODS, method_class

RECORDS = record_files.RECORDS / "league"
ELSEWHERE = ("config", "epochs", "treetop")
"""Fields of `treetop compare` left out of records; the changed settings and the commit replace two."""
Runs = dict[str, list[Record]]
"""The runs of each method, by seed."""


def read_all() -> dict[str, Runs]:
    """The runs on each data set."""
    return {data: by_method(found) for data, found in record_files.read_all("league").items()}


def read(file: Path) -> Runs:
    return by_method(record_files.read(file))


def by_method(records: list[Record]) -> Runs:
    """With methods in the order of `treetop methods`."""
    runs: Runs = {}
    for record in records:
        runs.setdefault(record["method"], []).append(record)
    return {name: runs[name] for name in METHODS if name in runs}


def add(folder: Path, file: Path, machine: str, stamp: dict[str, str]) -> None:
    """Adds the runs that `treetop compare` wrote to a folder, in place of older ones."""
    runs = read(file)
    for path in sorted(folder.glob("*.json")):
        record = made_record(json.loads(path.read_text("utf-8")), machine, stamp)
        others = [run for run in runs.get(record["method"], ()) if run["seed"] != record["seed"]]
        runs[record["method"]] = sorted([*others, record], key=lambda run: run["seed"])
    write(runs, file)


def write(runs: Runs, file: Path) -> None:
    record_files.write(file, (record for name in METHODS for record in runs.get(name, ())))


def made_record(run: Record, machine: str, stamp: dict[str, str]) -> Record:
    head = {"method": run["method"], "seed": run["seed"], "settings": changed(run["method"], run["config"])}
    rest = {name: value for name, value in run.items() if name not in ELSEWHERE and value is not None}
    return head | rest | {"machine": machine} | stamp


def changed(method: str, config: dict[str, Any]) -> dict[str, Any]:
    """The settings that a rerun has to name, apart from seed and threads."""
    full = method_class(method).config_class().with_stored(config)
    files = {item.name for item in full.settings() if item.names_file}
    return {
        name: Path(value).name if name in files else value
        for name, value in full.changed().items()
        if name not in ("seed", "threads")
    }


def values(runs: list[Record], name: str) -> list[float]:
    """A metric of each run, or a resource by its name on the page; the speed is that of all runs together."""
    match name:
        case "train s":
            return [run["train_seconds"] for run in runs]
        case "texts/s":
            return [1000 / fmean(run["predict_milliseconds"] for run in runs)]
        case "GB on the GPU":
            return [run["gpu_bytes"] / 1e9 for run in runs]
        case "model MB":
            return [run["bytes"] / 1e6 for run in runs]
    return [run["metrics"][name] for run in runs]
