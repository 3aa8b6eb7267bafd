"""The side-by-side table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.tables import markdown
from measuring import METRICS

HEAD = (
    "data",
    "contestant",
    "train s",
    "peak MB",
    "model MB",
    "load ms",
    "batch ms/text",
    "one row ms: median, p99",
    "one text ms: median, p99",
    *METRICS,
)


def table(runs: Iterable[dict[str, Any]]) -> str:
    return markdown(HEAD, (row(run) for run in runs))


def row(run: dict[str, Any]) -> list[str]:
    start = [run["data"], run["contestant"]]
    if "failed" in run:
        return [*start, run["failed"], *[""] * (len(HEAD) - 3)]
    return [
        *start,
        f"{run['train_s']:.{1 if run['train_s'] >= 1 else 2}f}",
        f"{run['peak_bytes'] / 1e6:,.0f}",
        f"{run['model_bytes'] / 1e6:,.1f}",
        f"{run['load_s'] * 1e3:,.0f}",
        f"{run['batch_s'] / run['texts'] * 1e3:.3f}",
        single(run["row"]),
        single(run["text"]),
        *(f"{run['metrics'][name]:.1f}" for name in METRICS),
    ]


def single(found: dict[str, float] | None) -> str:
    return "" if found is None else f"{found['median_ms']:.2f}, {found['p99_ms']:.2f}"
