"""Runs all contestants on all data sets and writes the measurements as JSON; `make bench` calls it.

    python bench/peers/run.py FOLDER… --peers PYTHON [--output FILE] [--only TEXT] [--resume]

Each FOLDER holds train.jsonl.xz and test.jsonl.xz. On each data set the contestants take turns, each training
and each prediction in a process of its own. A second round, in another order, repeats the predictions, and
the training where it was short; the better time of the two counts. Then treetop and PECOS train with several
seeds. The results of a data set are written when all of it is done; --resume continues with the next one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import seeds
import tfidf
import treetop
from common import machine, provenance
from common.options import parser_for
from contestants import CONTESTANTS, Contestant
from measuring import GaveUpError, Prepared, better, measure, prepare

SHORT_S = 10.0
"""A training shorter than this is repeated."""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="each holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument(
        "--peers", type=Path, required=True, help="Python interpreter that has the peers installed"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).parents[1] / "results" / "results.json",
        help="file for the results",
    )
    parser.add_argument("--only", default="", help="part of a name: run these contestants alone")
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    parser.add_argument("--resume", action="store_true", help="keep the data sets already in --output")
    options = parser.parse_args()

    chosen = [contestant for contestant in CONTESTANTS if options.only in contestant.name]
    results: dict[str, Any] = {
        "machine": machine.describe(options.threads),
        "versions": machine.versions(options.peers),
        "threads": options.threads,
        "settings": {contestant.name: contestant.settings for contestant in chosen},
        "tfidf": [],
        "runs": [],
        "seeds": {},
        "stamps": {},
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    if options.resume and options.output.exists():
        results |= json.loads(options.output.read_text())
    for turn, folder in enumerate(options.folders):
        if folder.name in results["seeds"]:
            continue
        results["stamps"][folder.name] = provenance.now()
        print(f"{folder.name}: TF-IDF", flush=True)
        results["tfidf"].append(tfidf.measure(folder, None, 2, 1))
        with tempfile.TemporaryDirectory() as temporary:
            train, test = (treetop.read(folder / f"{name}.jsonl.xz") for name in ("train", "test"))
            data = prepare(folder.name, train, test, Path(temporary) / folder.name, options.threads)
            taking_part = [contestant for contestant in chosen if contestant.runs_on(folder.name)]
            results["runs"] += compare(taking_part, data, turn, options.peers, options.threads)
            results["seeds"][folder.name] = seeds.accuracies(data, options.peers, options.threads)
        options.output.write_text(json.dumps(results, indent=1))
    print(options.output)


def compare(
    contestants: list[Contestant], data: Prepared, turn: int, peers: Path, threads: int
) -> list[dict[str, Any]]:
    """Both rounds on one data set; the rows in the order of the contestants."""
    found: dict[str, dict[str, Any]] = {}
    for again in (False, True):
        for contestant in rotated(contestants, 2 * turn + again):
            first = found.get(contestant.name)
            if first is not None and "failed" in first:
                continue
            start = time.perf_counter()
            train = first is None or first["train_s"] < SHORT_S
            try:
                report = measure(contestant, data, peers, threads, train=train)
                found[contestant.name] = report if first is None else better(first, report)
                outcome = f"trained in {report['train_s']:.1f} s, P@1 {report['metrics']['P@1']:.1f}"
            except GaveUpError as error:
                found.setdefault(contestant.name, {"failed": str(error)})
                outcome = str(error)
            taken = time.perf_counter() - start
            print(f"{data.name}, {contestant.name}: {outcome} ({taken:.0f} s)", flush=True)
    return [
        {"data": data.name, "contestant": contestant.name} | found[contestant.name]
        for contestant in contestants
    ]


def rotated(contestants: list[Contestant], turn: int) -> list[Contestant]:
    """Another contestant begins each turn, so that none is always first, last, or after the same one."""
    first = 3 * turn % max(len(contestants), 1)
    return contestants[first:] + contestants[:first]


if __name__ == "__main__":
    main()
