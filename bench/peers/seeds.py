"""P@k of treetop and PECOS with the same tree sizes, over several seeds of the clustering.

One tree may be better than another by half a point of P@1 by luck, so a difference between two single runs
says little.
"""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

from common.tables import markdown
from contestants import CONTESTANTS, PECOS, SAME_TREE
from measuring import METRICS, Prepared, measure

SEEDS = range(5)
PAIR = (SAME_TREE, PECOS)

Accuracies = dict[str, list[dict[str, float]]]
"""The metrics of each contestant, seed by seed."""


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


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(run[name] for run in runs) for name in METRICS}


def table(seeds: dict[str, Accuracies]) -> str:
    """Mean ± standard deviation."""
    rows = [
        [data, contestant, *(_spread([run[name] for run in runs]) for name in METRICS)]
        for data, found in seeds.items()
        for contestant, runs in found.items()
    ]
    return markdown(("data", "contestant", *METRICS), rows)


def _spread(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"
