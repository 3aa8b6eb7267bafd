"""All metrics of every model, with confidence intervals."""

from __future__ import annotations

import statistics

from ...units import counted
from .. import charts
from ..blocks import Cell, Chart, Paragraph, Section, Table
from ..evidence import Evidence


def main_metrics(evidence: Evidence) -> list[str]:
    """The metrics of the chart: P@k, nDCG@k and, with training counts, PSP@k."""
    names = [f"P@{k}" for k in evidence.ks] + [f"nDCG@{k}" for k in evidence.ks if k > 1]
    return names + [f"PSP@{k}" for k in evidence.ks if evidence.train_counts is not None]


def quality(evidence: Evidence) -> Section:
    """Every metric of every model."""
    names = evidence.names
    drawn = main_metrics(evidence)
    rows = [
        {"model": name, "metric": metric, **intervals[metric]._asdict()}
        for name, intervals in zip(names, evidence.intervals, strict=True)
        for metric in drawn
    ]
    metrics = list(dict.fromkeys(metric for found in evidence.metrics for metric in found))
    table = {metric: [metric, *_values(evidence, metric)] for metric in metrics}
    seeds = max(len(reported.runs) for reported in evidence.models)
    over = f" Values are means over {seeds} seeds ± their standard deviation." if seeds > 1 else ""
    propensity = ""
    if evidence.train_counts is not None:
        a, b = evidence.propensity
        propensity = f" PSP, PSnDCG and PSR weight labels by their rarity (A = {a:g}, B = {b:g})."
    return Section(
        "quality",
        "Quality",
        [
            Paragraph(
                f"Evaluated on {counted(len(evidence.truth), 'text')}, in percent. Brackets contain 95 %"
                f" bootstrap confidence intervals over the texts ({evidence.samples:,}"
                f" resamples).{over}{propensity} Higher is better, except for the calibration error ECE."
            ),
            *map(Paragraph, evidence.notes),
            Chart("quality", "Metrics with 95 % intervals", charts.quality(rows, names)),
            Table("Metrics of the chart", ["metric", *names], [table[metric] for metric in drawn]),
            Table("All metrics", ["metric", *names], list(table.values()), folded=True),
        ],
    )


def _values(evidence: Evidence, metric: str) -> list[str | Cell]:
    """Each model's value with its interval; the best value is bold if they differ."""
    means = [statistics.fmean(found[metric]) if metric in found else None for found in evidence.metrics]
    there = [value for value in means if value is not None]
    best = (min if metric.startswith("ECE") else max)(there)
    cells: list[str | Cell] = []
    for value, found, intervals in zip(means, evidence.metrics, evidence.intervals, strict=True):
        if value is None:
            cells.append("")
            continue
        text = f"{value:.2f}"
        if len(found[metric]) > 1:
            text += f" ± {statistics.stdev(found[metric]):.2f}"
        if metric in intervals:
            text += f" [{intervals[metric].low:.2f}, {intervals[metric].high:.2f}]"
        cells.append(Cell(text) if value == best and len(set(there)) > 1 else text)
    return cells
