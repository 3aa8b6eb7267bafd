"""Which goals were reached, computed from the records of the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from common.tables import markdown
from contestants import FROM_TEXTS, PECOS, PECOS_MAN, SAME_TREE, SAME_TREE_MAN, is_ours

TOLERANCE = 0.1  # of P@1, P@3 and P@5
TFIDF_GOAL, TRAIN_GOAL, TRAIN_FLOOR, BATCH_GOAL, SIZE_GOAL = 6, 10, 5, 2, 2
MEDIAN_MS, P99_MS, LATENCY_DATA = 0.25, 1.0, "deb-deps"
LOAD_MS, LOAD_BYTES = 50, 60e6

Run = dict[str, Any]
HEAD = ("goal", "target", "data", "measured", "P@1, P@3, P@5 minus the peer's", "")


@dataclass(frozen=True)
class Outcome:
    goal: str
    target: str
    data: str
    measured: str
    accuracy: str
    verdict: str


def table(results: dict[str, Any]) -> str:
    rows = [list(vars(outcome).values()) for outcome in outcomes(results)]
    return markdown(HEAD, rows)


def outcomes(results: dict[str, Any]) -> Iterator[Outcome]:
    runs = {(run["data"], run["contestant"]): run for run in results["runs"] if "failed" not in run}
    for found in results.get("seeds", ()):
        key = found["data"], found["contestant"]
        if key in runs:
            runs[key] = runs[key] | {"metrics": found["mean"]}
    names = list(dict.fromkeys(run["data"] for run in results["runs"]))

    def pairs(ours: str, theirs: str) -> Iterator[tuple[str, Run, Run]]:
        return ((d, runs[d, ours], runs[d, theirs]) for d in names if {(d, ours), (d, theirs)} <= runs.keys())

    for ours, theirs, kind in ((SAME_TREE, PECOS, "tfn"), (SAME_TREE_MAN, PECOS_MAN, "tfn+man")):
        for data, mine, other in pairs(ours, theirs):
            ratio = other["train_s"] / mine["train_s"]
            measured = f"{ratio:.1f}× ({other['train_s']:.1f} s / {mine['train_s']:.1f} s)"
            floor = TRAIN_FLOOR if kind == "tfn" else TRAIN_GOAL
            target = f"{TRAIN_GOAL}×" + (f", at least {floor}×" if floor < TRAIN_GOAL else "")
            said = verdict(ratio >= TRAIN_GOAL, mine, other)
            if said == MISSED and floor <= ratio:
                below = verdict(True, mine, other)
                said = f"{MISSED}, above {floor}×" if below == REACHED else below
            yield Outcome(f"training with {kind}", target, data, measured, difference(mine, other), said)

    for timing in results["tfidf"]:
        seconds = timing["seconds"]["fit_transform"]
        theirs, mine_s = (seconds[who] for who in ("scikit-learn", "treetop, 2 threads"))
        ratio = timing["speed_up"]["fit_transform"]["treetop, 2 threads"]
        measured = f"{ratio:.1f}× ({theirs:.2f} s / {mine_s:.2f} s)"
        said = REACHED if ratio >= TFIDF_GOAL else MISSED
        yield Outcome("TF-IDF, 2 threads", f"{TFIDF_GOAL}×", timing["data"], measured, "", said)

    for data, mine, other in pairs(SAME_TREE, PECOS):
        ratio = other["batch_s"] / mine["batch_s"]
        milliseconds = [run["batch_s"] / run["texts"] * 1e3 for run in (other, mine)]
        measured = f"{ratio:.1f}× ({milliseconds[0]:.3f} ms / {milliseconds[1]:.3f} ms)"
        said = verdict(ratio >= BATCH_GOAL, mine, other)
        yield Outcome("batch prediction", f"{BATCH_GOAL}×", data, measured, difference(mine, other), said)

    for data, mine, other in pairs(FROM_TEXTS, PECOS):
        if data == LATENCY_DATA:
            target = f"median under {MEDIAN_MS} ms, p99 under {P99_MS:g} ms"
            measured = (
                f"{mine['text']['median_ms']:.3f} ms, p99 {mine['text']['p99_ms']:.3f} ms"
                f" (PECOS, from the row: {other['row']['median_ms']:.3f} ms, p99"
                f" {other['row']['p99_ms']:.3f} ms)"
            )
            good = mine["text"]["median_ms"] < MEDIAN_MS and mine["text"]["p99_ms"] < P99_MS
            said = verdict(good, mine, other)
            yield Outcome("one text, TF-IDF included", target, data, measured, difference(mine, other), said)

    for data, mine, other in pairs(SAME_TREE, PECOS):
        ratio = other["model_bytes"] / mine["model_bytes"]
        megabytes = [run["model_bytes"] / 1e6 for run in (other, mine)]
        measured = f"{ratio:.1f}× smaller ({megabytes[0]:.1f} MB / {megabytes[1]:.1f} MB)"
        said = verdict(ratio >= SIZE_GOAL, mine, other, ("P@5",))
        yield Outcome("model on disk", f"{SIZE_GOAL}× smaller", data, measured, difference(mine, other), said)

    large = nearest([run for (_, name), run in runs.items() if is_ours(name)])
    if large is not None:
        measured = f"{large['load_s'] * 1e3:.0f} ms for {large['model_bytes'] / 1e6:.0f} MB"
        said = REACHED if large["load_s"] * 1e3 < LOAD_MS else MISSED
        if said == REACHED and large["model_bytes"] < LOAD_BYTES:
            said = "no model of this size in this run"
        target = f"under {LOAD_MS} ms for {LOAD_BYTES / 1e6:.0f} MB"
        yield Outcome(f"load ({large['contestant']})", target, large["data"], measured, "", said)


REACHED, MISSED = "reached", "not reached"


def verdict(good: bool, mine: Run, other: Run, metrics: tuple[str, ...] = ("P@1", "P@3", "P@5")) -> str:
    lower = [name for name in metrics if round(gap(mine, other, name), 6) < -TOLERANCE]
    if good and lower:
        return f"not reached: {', '.join(lower)} lower"
    return REACHED if good else MISSED


def gap(mine: Run, other: Run, name: str) -> float:
    return float(mine["metrics"][name] - other["metrics"][name])


def difference(mine: Run, other: Run) -> str:
    return ", ".join(f"{gap(mine, other, name):+.1f}" for name in ("P@1", "P@3", "P@5"))


def nearest(models: list[Run]) -> Run | None:
    """The smallest model of at least the size that the goal names, or else the largest."""
    enough = [model for model in models if model["model_bytes"] >= LOAD_BYTES]
    if enough:
        return min(enough, key=lambda model: model["model_bytes"])
    return max(models, key=lambda model: model["model_bytes"], default=None)
