"""Runs all contestants on all data sets and records what it measures; `make bench` calls it.

    python bench/peers/run.py FOLDER… --peers PYTHON [--only TEXT] [--resume]

Each FOLDER holds train.jsonl.xz and test.jsonl.xz. On each data set the contestants take turns, each training
and each prediction in a process of its own. A second round, in another order, repeats the predictions, and
the training where it was short; the better time of the two counts. Then treetop and PECOS train with several
seeds. The records of a data set (bench/records/side-by-side, seeds and tfidf) are written when all of it is
done, in place of older ones; --resume leaves out the data sets that have records of this commit.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import seeds
import tfidf
import treetop
from common import machine, provenance, record_files
from common.options import parser_for
from contestants import CONTESTANTS, Contestant, is_ours
from measuring import GaveUpError, Prepared, better, measure, prepare

SHORT_S = 10.0
"""A training shorter than this is repeated."""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="each holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument(
        "--peers", type=Path, required=True, help="Python interpreter that has the peers installed"
    )
    parser.add_argument("--only", default="", help="part of a name: run these contestants alone")
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    parser.add_argument("--resume", action="store_true", help="leave out what was recorded at this commit")
    options = parser.parse_args()

    chosen = [contestant for contestant in CONTESTANTS if options.only in contestant.name]
    versions = machine.versions(options.peers)
    for turn, folder in enumerate(options.folders):
        stamp = provenance.this_run()
        seeds_file = record_files.file_of("seeds", folder.name)
        done = {record.get("commit") for record in record_files.read(seeds_file)}
        if options.resume and stamp["commit"] in done:
            continue
        common = {"threads": options.threads, "machine": machine.describe_hardware()} | stamp
        print(f"{folder.name}: TF-IDF", flush=True)
        timing = tfidf.measure(folder, None, 2, 1) | common
        with tempfile.TemporaryDirectory() as temporary:
            train, test = (treetop.read(folder / f"{name}.jsonl.xz") for name in ("train", "test"))
            data = prepare(folder.name, train, test, Path(temporary) / folder.name, options.threads)
            taking_part = [contestant for contestant in chosen if contestant.runs_on(folder.name)]
            runs = compare(taking_part, data, turn, options.peers, options.threads)
            several = seeds.records(data, options.peers, options.threads)
        record_files.write(record_files.file_of("tfidf", folder.name), [timing])
        measured = [run | {"versions": versions[is_ours(run["contestant"])]} | common for run in runs]
        record_files.put(record_files.file_of("side-by-side", folder.name), measured, "contestant")
        record_files.put(seeds_file, [record | common for record in several], "contestant")
        print(f"{folder.name}: recorded", flush=True)


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
        {"contestant": contestant.name, "settings": contestant.settings} | found[contestant.name]
        for contestant in contestants
    ]


def rotated(contestants: list[Contestant], turn: int) -> list[Contestant]:
    """Another contestant begins each turn, so that none is always first, last, or after the same one."""
    first = 3 * turn % max(len(contestants), 1)
    return contestants[first:] + contestants[:first]


if __name__ == "__main__":
    main()
