"""Model against model on the same texts, with p-values corrected for the number of tests."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from ...comparison.outcome import LEVEL, Spread, welch
from ...metrics import Difference, compare_scores, holm
from ...progress import step
from .. import charts
from ..blocks import Cell, Chart, Section, Table, Text
from ..subject import Evidence

ALL_PAIRS = 6
"""Subjects at most of which every pair is tested."""


class Pair(NamedTuple):
    """Two subjects on one metric, with the p-value corrected for all pairs and metrics that are tested."""

    first: int
    second: int
    metric: str
    found: Difference
    corrected: float
    of_seeds: float | None
    """The p-value of Welch's t-test over the seeds, corrected likewise; None where a model has only one."""

    @property
    def decided(self) -> bool:
        """Whether neither other texts nor other seeds are likely to give such a difference between equals."""
        return self.corrected < LEVEL and (self.of_seeds is None or self.of_seeds < LEVEL)


def paired(evidence: Evidence) -> list[Pair]:
    """Pairs of subjects on few metrics: every further test would make the correction harsher.

    All pairs; of many subjects, each against the best. Which one that is the same texts tell, so all pairs
    count in the correction.
    """
    tested = _tested(evidence)
    count = len(evidence.subjects)
    several = list(combinations(range(count), 2))
    if count > ALL_PAIRS:
        several = [(evidence.best, other) for other in range(count) if other != evidence.best]
    raw: list[tuple[int, int, str, Difference]] = []
    with step("Comparing models") as report:
        for done, (first, second) in enumerate(several):
            mine, theirs = (
                {name: evidence.scores[place][name] for name in tested} for place in (first, second)
            )
            found = compare_scores(mine, theirs, samples=_redraws(evidence))
            raw += [(first, second, name, found[name]) for name in tested]
            report(done + 1, len(several))
    corrected = holm([found.p_value for *_, found in raw], of=_tests(evidence))
    of_seeds = _over_seeds(evidence, [item[:3] for item in raw])
    return [Pair(*item, p, q) for item, p, q in zip(raw, corrected, of_seeds, strict=True)]


def _over_seeds(evidence: Evidence, tests: Sequence[tuple[int, int, str]]) -> Sequence[float | None]:
    """Corrected p-values of Welch's t-test; None of all where subjects have one run only."""
    seeds = min(len(subject.runs) for subject in evidence.subjects)
    if seeds < 2:
        return [None] * len(tests)
    found = []
    for first, second, metric in tests:
        runs = (evidence.metrics[place][metric] for place in (first, second))
        a, b = (Spread(statistics.fmean(values), statistics.stdev(values)) for values in runs)
        found.append(welch(a, b, seeds)[1] or 0.0)
    return holm(found, of=_tests(evidence))


def _tested(evidence: Evidence) -> list[str]:
    """Metrics."""
    k = evidence.depth
    some = list(dict.fromkeys([evidence.leading, f"nDCG@{k}"]))
    return some + ([f"PSP@{k}"] if evidence.counts is not None else [])


def _tests(evidence: Evidence) -> int:
    """Of all pairs."""
    return math.comb(len(evidence.subjects), 2) * len(_tested(evidence))


def _redraws(evidence: Evidence) -> int:
    """More than were asked for where even the smallest p-value, 1/(redraws + 1), would not survive `holm`."""
    return max(evidence.samples, math.ceil(2 * _tests(evidence) / LEVEL))


def differences(evidence: Evidence, pairs: list[Pair]) -> Section:
    """Every pair of models, tested on the same texts."""
    names = [subject.name for subject in evidence.subjects]
    titles = [f"{names[pair.first]} − {names[pair.second]}" for pair in pairs]
    rows = [
        {
            "pair": title,
            "metric": pair.metric,
            "difference": pair.found.difference,
            "low": pair.found.low,
            "high": pair.found.high,
            "p": pair.corrected,
            "decided": pair.decided,
        }
        for title, pair in zip(titles, pairs, strict=True)
    ]
    table: list[list[str | Cell]] = [
        [
            title,
            pair.metric,
            f"{pair.found.difference:+.2f}",
            f"{pair.found.low:+.2f} … {pair.found.high:+.2f}",
            p_text(pair.found.p_value),
            Cell(p_text(pair.corrected), strong=pair.corrected < LEVEL),
            *([] if pair.of_seeds is None else [Cell(p_text(pair.of_seeds), strong=pair.of_seeds < LEVEL)]),
        ]
        for title, pair in zip(titles, pairs, strict=True)
    ]
    seeds = "p of seeds, Holm" if pairs[0].of_seeds is not None else ""
    over_seeds = (
        " “p of seeds” is Welch's t-test of the figures of all seeds, corrected likewise: whether training"
        " again might turn the difference."
        if seeds
        else ""
    )
    tests = _tests(evidence)
    family = f"all {tests:,} tests of this table"
    if tests > len(pairs):
        family = f"the {tests:,} tests of all pairs: which model is the best is seen on the same texts"
    return Section(
        "differences",
        "Model against model",
        [
            Text(
                "Both models of a pair answered the same texts. The interval of a difference is a paired"
                f" bootstrap ({_redraws(evidence):,} redraws), of each difference for itself; p is a"
                " two-sided randomisation test: how often swapping the two answers to a text at random gives"
                " a difference at least as large. “p, Holm”"
                f" is the one to go by: corrected by Holm's method for {family}.{over_seeds} What lies"
                f" below {LEVEL:g} is bold; a mark in the picture is filled where that holds."
            ),
            Chart("differences", "Differences with 95 % intervals", charts.differences(rows)),
            Table(
                "Paired differences, in percentage points",
                [
                    "pair",
                    "metric",
                    "difference",
                    "95 % interval",
                    "p",
                    "p, Holm",
                    *([seeds] if seeds else []),
                ],
                table,
                words=(0, 1),
            ),
        ],
    )


def p_text(p: float) -> str:
    """``0.034``; what lies below 0.001 in one digit."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"
