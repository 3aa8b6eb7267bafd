"""P@k of treetop and PECOS with the same tree sizes, over several seeds of the clustering.

One tree may be luckier than another by half a point of P@1, so a difference between two single trainings says
little. `bench/run.py` calls `accuracies`; by itself the script adds them to results that are there already:

    python bench/seeds.py FOLDER… --peers PYTHON --results bench/results/results.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import treetop
from contestants import CONTESTANTS, PECOS, SAME_TREE
from measuring import FIGURES, Prepared, measure, prepare
from table import markdown

SEEDS = range(5)
PAIR = (SAME_TREE, PECOS)

Accuracies = dict[str, list[dict[str, float]]]
"""Of every contestant: the figures with each seed."""


def accuracies(data: Prepared, peers: Path, threads: int) -> Accuracies:
    found: Accuracies = {name: [] for name in PAIR}
    for seed in SEEDS:
        for contestant in CONTESTANTS:
            if contestant.name in PAIR:
                seeded = dataclasses.replace(contestant, settings=contestant.settings | {"seed": seed})
                found[contestant.name].append(measure(seeded, data, peers, threads)["metrics"])
        print(
            f"{data.name}, seed {seed}: P@1", *(f"{found[name][-1]['P@1']:.1f}" for name in PAIR), flush=True
        )
    return found


def mean(figures: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(one[name] for one in figures) for name in FIGURES}


def table(seeds: dict[str, Accuracies]) -> str:
    """Mean ± standard deviation."""
    rows = [
        [data, contestant, *(_spread([one[name] for one in figures]) for name in FIGURES)]
        for data, found in seeds.items()
        for contestant, figures in found.items()
    ]
    return markdown(("data", "contestant", *FIGURES), rows)


def _spread(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--peers", type=Path, required=True, help="a Python interpreter that has the peers")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(options.results.read_text())
    results["seeds"] = {}
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as temporary:
            train, test = (treetop.read(folder / f"{name}.jsonl.xz") for name in ("train", "test"))
            data = prepare(folder.name, train, test, Path(temporary) / folder.name, options.threads)
            results["seeds"][folder.name] = accuracies(data, options.peers, options.threads)
        options.results.write_text(json.dumps(results, indent=1))
    print(table(results["seeds"]))


if __name__ == "__main__":
    main()
