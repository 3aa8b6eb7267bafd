"""P@k of treetop and PECOS with the same tree sizes, over several seeds of the clustering.

One tree may be better than another by half a point of P@1 by luck, so a difference between two single runs
says little.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.tables import markdown
from contestants import CONTESTANTS, PECOS, SAME_TREE
from measuring import METRICS, Prepared, measure

SEEDS = range(5)
PAIR = (SAME_TREE, PECOS)


def records(data: Prepared, peers: Path, threads: int) -> list[dict[str, Any]]:
    """Mean and deviation of each contestant's metrics."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in PAIR}
    for seed in SEEDS:
        for contestant in CONTESTANTS:
            if contestant.name in PAIR:
                seeded = dataclasses.replace(contestant, settings=contestant.settings | {"seed": seed})
                found[contestant.name].append(measure(seeded, data, peers, threads)["metrics"])
        print(
            f"{data.name}, seed {seed}: P@1", *(f"{found[name][-1]['P@1']:.1f}" for name in PAIR), flush=True
        )
    return [{"contestant": name} | summary(runs) for name, runs in found.items()]


def summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    values = {name: [run[name] for run in runs] for name in METRICS}
    return {
        "seeds": len(runs),
        "mean": {name: statistics.fmean(found) for name, found in values.items()},
        "deviation": {name: statistics.stdev(found) for name, found in values.items()},
    }


def table(found: Iterable[dict[str, Any]]) -> str:
    """Mean ± standard deviation."""
    rows = [
        [
            record["data"],
            record["contestant"],
            *(f"{record['mean'][name]:.2f} ± {record['deviation'][name]:.2f}" for name in METRICS),
        ]
        for record in found
    ]
    return markdown(("data", "contestant", *METRICS), rows)
