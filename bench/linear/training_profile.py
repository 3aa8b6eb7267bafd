"""Where training time goes, with the tree sizes of PECOS's defaults; `make bench` calls it.

    python bench/linear/training_profile.py FOLDER… [--threads N] [--output PAGE]

Each FOLDER holds train.jsonl.xz. Seconds spent in each part, excluding the parts that it calls; the better of
two trainings.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import benchmarks_page as page
from common import machine, provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown
from peers.contestants import MAN, TFN
from treetop import _native
from treetop.data import Dataset
from treetop.features import Tfidf, TfidfConfig
from treetop.linear import tree_model
from treetop.linear.level_weights import LevelWeights
from treetop.tree import building, label_vectors

PARTS: tuple[tuple[str, Any, str], ...] = (
    ("label vectors", label_vectors, "pifa"),
    ("clustering", building, "build_tree"),
    ("rows in the solver's order", _native, "SharedRows"),
    ("shortlists, including the search for hard negatives", tree_model.TreeModel, "shortlist"),
    ("solving", _native, "train_levels"),
    ("packing of weights", LevelWeights, "pack"),
)
REST, ALL = "the rest", "all"
SUBJECT = "profile"
TEXT = """
Seconds spent in each part, excluding the parts that it calls, on the matrices above, {threads} threads, the
better of two trainings.

{table}

{measured}
"""


class Clock:
    """Seconds of named functions without those of the named functions that they call."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[float] = []

    def timed(self, title: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            self._running.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                whole = time.perf_counter() - began
                inner = self._running.pop()
                self.seconds[title] = self.seconds.get(title, 0.0) + whole - inner
                if self._running:
                    self._running[-1] += whole

        return run


def profile(data: Dataset, settings: dict[str, Any]) -> dict[str, float]:
    """One training."""
    clock = Clock()
    originals = [(home, name, getattr(home, name)) for _, home, name in PARTS]
    try:
        for title, home, name in PARTS:
            setattr(home, name, clock.timed(title, getattr(home, name)))
        model = treetop.XRLinear(**settings)
        clock.timed(REST, model.fit)(data)
    finally:
        for home, name, function in originals:
            setattr(home, name, function)
    return clock.seconds


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="each holds train.jsonl.xz")
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    parser.add_argument("--output", type=Path, help="record it, and replace the section of this page")
    options = parser.parse_args()
    stamp = {"threads": options.threads, "machine": machine.describe_hardware()} | provenance.this_run()
    found = []
    for folder in options.folders:
        train = treetop.read(folder / "train.jsonl.xz")
        X = Tfidf(TfidfConfig(ngram_max=2)).fit_transform(train.texts, options.threads)
        data = Dataset.from_matrices(X, train.Y)
        for negatives, settings in (("tfn", TFN), ("tfn+man", MAN)):
            runs = [profile(data, {**settings, "threads": options.threads}) for _ in range(2)]
            best = min(runs, key=lambda seconds: sum(seconds.values()))
            found.append({"data": folder.name} | record(negatives, settings, best) | stamp)
    print(section(found))
    if options.output:
        for run in found:
            record_files.put(record_files.file_of(SUBJECT, run.pop("data")), [run], "negatives")
        page.put(options.output, {page.PROFILE: section(record_files.with_data(SUBJECT))})


def record(negatives: str, settings: dict[str, Any], seconds: dict[str, float]) -> Record:
    total = sum(seconds.values())
    return {
        "negatives": negatives,
        "settings": settings,
        "seconds": seconds | {ALL: total},
        "percent": {part: 100 * taken / total for part, taken in seconds.items()},
    }


def section(records: list[Record]) -> str:
    table = markdown(
        ("data", "negatives", "part", "s", "share"), (row for record in records for row in rows(record))
    )
    threads = " or ".join(dict.fromkeys(str(record["threads"]) for record in records))
    return TEXT.format(threads=threads, table=table, measured=provenance.measured(records))


def rows(record: Record) -> Iterator[list[str]]:
    """The parts that take more than half a percent."""
    start, seconds = [record["data"], record["negatives"]], record["seconds"]
    for title in (*(title for title, _, _ in PARTS), REST):
        if record["percent"].get(title, 0) > 0.5:
            yield [*start, title, f"{seconds[title]:.2f}", f"{record['percent'][title]:.0f} %"]
    yield [*start, f"**{ALL}**", f"**{seconds[ALL]:.2f}**", ""]


if __name__ == "__main__":
    main()
