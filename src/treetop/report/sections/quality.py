"""The figures of every model: a few at a glance, and all of them with their intervals."""

from __future__ import annotations

import statistics

from ...comparison.outcome import LEVEL
from ...units import file_size, three_digits
from .. import charts
from ..blocks import Block, Cards, Cell, Chart, Section, Table, Text
from ..subject import Evidence
from .differences import Pair, p_text


def main_metrics(evidence: Evidence) -> list[str]:
    """Those of pictures: P@k, nDCG@k and, where training counts are known, PSP@k."""
    names = [f"P@{k}" for k in evidence.ks] + [f"nDCG@{k}" for k in evidence.ks if k > 1]
    return names + [f"PSP@{k}" for k in evidence.ks if evidence.counts is not None]


def at_a_glance(evidence: Evidence, pairs: list[Pair]) -> Section:
    """The few figures and sentences that a reader in a hurry needs."""
    names = [subject.name for subject in evidence.subjects]
    best = evidence.best
    intervals = evidence.intervals[best]
    k = evidence.depth
    wanted = [evidence.leading, f"nDCG@{k}", *([f"PSP@{k}"] if evidence.counts is not None else [])]
    cards = [
        (
            name,
            f"{intervals[name].value:.1f} %",
            f"95 %: {intervals[name].low:.1f} … {intervals[name].high:.1f}",
        )
        for name in dict.fromkeys(wanted)
    ]
    spent = evidence.subjects[best].cost
    if spent.many is not None:
        cards.append(("Time of a text", f"{three_digits(spent.many)} ms", "all texts asked at once"))
    if spent.size is not None:
        cards.append(("Model", file_size(spent.size), "stored"))
    blocks: list[Block] = []
    if len(names) > 1:
        text = f"{names[best]} has the highest {evidence.leading} of {len(names)}; its figures:"
        blocks.append(Text(text))
    blocks.append(Cards(cards))
    if len(names) > 1:
        blocks.append(Text(_against_others(evidence, pairs)))
    return Section("glance", "At a glance", blocks)


def _against_others(evidence: Evidence, pairs: list[Pair]) -> str:
    """What the tests say about the best model and each other one, on the leading metric."""
    best = evidence.best
    sentences = []
    for pair in pairs:
        if pair.metric != evidence.leading or best not in (pair.first, pair.second):
            continue
        other = evidence.subjects[pair.second if pair.first == best else pair.first].name
        gap = abs(pair.found.difference)
        if gap == 0:
            sentences.append(f"{other} has the same figure")
            continue
        sentences.append(f"{other} is {gap:.2f} points lower, {_verdict(pair)}")
    return f"{evidence.leading}: {'; '.join(sentences)}."


def _verdict(pair: Pair) -> str:
    p = f"p {p_text(pair.corrected)}, Holm"
    if pair.decided:
        return f"more than chance explains ({p})"
    if pair.corrected < LEVEL and pair.of_seeds is not None:
        return f"which other seeds could turn (p of seeds {p_text(pair.of_seeds)}, Holm)"
    return f"which chance alone could explain ({p})"


def quality(evidence: Evidence) -> Section:
    """Every metric of every model."""
    names = [subject.name for subject in evidence.subjects]
    drawn = main_metrics(evidence)
    rows = [
        {"model": name, "metric": metric, **intervals[metric]._asdict()}
        for name, intervals in zip(names, evidence.intervals, strict=True)
        for metric in drawn
    ]
    metrics = list(dict.fromkeys(metric for found in evidence.metrics for metric in found))
    table = {metric: [metric, *_values(evidence, metric)] for metric in metrics}
    seeds = max(len(subject.runs) for subject in evidence.subjects)
    over = f" Figures are means of {seeds} seeds, ± their standard deviation." if seeds > 1 else ""
    propensity = ""
    if evidence.counts is not None:
        a, b = evidence.propensity
        propensity = f" PSP, PSnDCG and PSR weigh labels by how rare they are (A = {a:g}, B = {b:g})."
    return Section(
        "quality",
        "Quality",
        [
            Text(
                f"Measured on {len(evidence.truth):,} texts, in percent. In brackets the 95 % confidence"
                " interval of what the figure would be over all texts of this kind (bootstrap,"
                f" {evidence.samples:,} redraws).{over}{propensity} Higher is better, but for ECE, the"
                " calibration error."
            ),
            *map(Text, evidence.notes),
            Chart("quality", "Metrics with 95 % intervals", charts.quality(rows, names)),
            Table("Metrics of the picture", ["metric", *names], [table[metric] for metric in drawn]),
            Table("All metrics", ["metric", *names], list(table.values()), folded=True),
        ],
    )


def _values(evidence: Evidence, metric: str) -> list[str | Cell]:
    """Of every subject: the value and its interval; the best stands out where there are several."""
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
