"""Model against model on the same texts, with p-values corrected for the number of tests."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from ...metrics import Difference, compare_scores, holm
from ...progress import step
from .. import charts
from ..blocks import Cell, Chart, Section, Table, Text
from ..subject import Evidence

LEVEL = 0.05
"""A difference that chance gives more often than this is not counted."""


class Pair(NamedTuple):
    """Two subjects on one metric, with the p-value corrected for all pairs and metrics that are tested."""

    first: int
    second: int
    metric: str
    found: Difference
    corrected: float


def paired(evidence: Evidence) -> list[Pair]:
    """All pairs of subjects on few metrics: every further test would make the correction harsher."""
    k = evidence.depth
    tested = list(dict.fromkeys([evidence.leading, f"nDCG@{k}"]))
    tested += [f"PSP@{k}"] if evidence.counts is not None else []
    several = list(combinations(range(len(evidence.subjects)), 2))
    raw: list[tuple[int, int, str, Difference]] = []
    with step("Comparing models") as report:
        for done, (first, second) in enumerate(several):
            mine, theirs = (
                {name: evidence.scores[place][name] for name in tested} for place in (first, second)
            )
            found = compare_scores(mine, theirs, samples=evidence.samples)
            raw += [(first, second, name, found[name]) for name in tested]
            report(done + 1, len(several))
    corrected = holm([item[-1].p_value for item in raw])
    return [Pair(*item, p) for item, p in zip(raw, corrected, strict=True)]


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
        ]
        for title, pair in zip(titles, pairs, strict=True)
    ]
    return Section(
        "differences",
        "Model against model",
        [
            Text(
                "Both models of a pair answered the same texts. The interval of a difference is a paired"
                f" bootstrap ({evidence.samples:,} redraws); p is a two-sided randomisation test: how often"
                " swapping the two answers to a text at random gives a difference at least as large. “p,"
                f" Holm” is corrected by Holm's method for all {len(pairs)} tests of this table, and is the"
                f" one to go by; below {LEVEL:g} it is bold, and the mark in the picture is filled."
            ),
            Chart("differences", "Differences with 95 % intervals", charts.differences(rows)),
            Table(
                "Paired differences, in percentage points",
                ["pair", "metric", "difference", "95 % interval", "p", "p, Holm"],
                table,
                words=(0, 1),
            ),
        ],
    )


def p_text(p: float) -> str:
    """``0.034``; what lies below 0.001 in one digit."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"
