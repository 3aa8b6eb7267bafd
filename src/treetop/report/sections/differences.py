"""Paired tests of models on the same texts, corrected for multiple testing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from ...comparison.results import SIGNIFICANCE_LEVEL, Spread, welch
from ...metrics import Difference, compare_scores, holm
from ...progress import step
from .. import charts
from ..blocks import Cell, Chart, Paragraph, Section, Table
from ..evidence import Evidence

ALL_PAIRS = 6
"""Largest number of models of which every pair is tested."""


class PairedTest(NamedTuple):
    """Two models on one metric."""

    first: int
    second: int
    metric: str
    difference: Difference
    corrected: float
    """The p-value over the texts, corrected for all tests."""
    p_of_seeds: float | None
    """The p-value of Welch's t-test over the seeds, corrected likewise; None if a model has only one."""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant over the texts and over the seeds."""
        over_seeds = self.p_of_seeds is None or self.p_of_seeds < SIGNIFICANCE_LEVEL
        return self.corrected < SIGNIFICANCE_LEVEL and over_seeds


def paired_tests(evidence: Evidence) -> list[PairedTest]:
    """Tests of all pairs of models on the key metrics; more metrics would make the correction stricter.

    With many models, only those of the best against each other one. The best is selected on the same texts,
    so all pairs count in the correction.
    """
    metrics = evidence.key_metrics
    count = len(evidence.models)
    pairs = list(combinations(range(count), 2))
    if count > ALL_PAIRS:
        pairs = [(evidence.best, other) for other in range(count) if other != evidence.best]
    raw: list[tuple[int, int, str, Difference]] = []
    with step("Comparing models") as report:
        for done, (first, second) in enumerate(pairs):
            mine, theirs = (
                {name: evidence.scores[place][name] for name in metrics} for place in (first, second)
            )
            found = compare_scores(mine, theirs, samples=_resamples(evidence))
            raw += [(first, second, name, found[name]) for name in metrics]
            report(done + 1, len(pairs))
    corrected = holm([found.p_value for *_, found in raw], of=_test_count(evidence))
    of_seeds = _over_seeds(evidence, [item[:3] for item in raw])
    return [PairedTest(*item, p, q) for item, p, q in zip(raw, corrected, of_seeds, strict=True)]


def _over_seeds(evidence: Evidence, tests: Sequence[tuple[int, int, str]]) -> Sequence[float | None]:
    """Corrected p-values of Welch's t-test; all None if some model has only one run."""
    seeds = min(len(reported.runs) for reported in evidence.models)
    if seeds < 2:
        return [None] * len(tests)
    found = []
    for first, second, metric in tests:
        runs = (evidence.metrics[place][metric] for place in (first, second))
        a, b = (Spread(statistics.fmean(values), statistics.stdev(values)) for values in runs)
        found.append(welch(a, b, seeds)[1] or 0.0)
    return holm(found, of=_test_count(evidence))


def _test_count(evidence: Evidence) -> int:
    """Number of tests of all pairs."""
    return math.comb(len(evidence.models), 2) * len(evidence.key_metrics)


def _resamples(evidence: Evidence) -> int:
    """The requested number, or more if the smallest p-value, 1/(resamples + 1), could not survive `holm`."""
    return max(evidence.samples, math.ceil(2 * _test_count(evidence) / SIGNIFICANCE_LEVEL))


def differences(evidence: Evidence, tests: list[PairedTest]) -> Section:
    """Differences of every tested pair of models."""
    names = evidence.names
    titles = [f"{names[test.first]} − {names[test.second]}" for test in tests]
    rows = [
        {
            "pair": title,
            "metric": test.metric,
            "difference": test.difference.difference,
            "low": test.difference.low,
            "high": test.difference.high,
            "p": test.corrected,
            "significant": test.significant,
        }
        for title, test in zip(titles, tests, strict=True)
    ]
    header = ["pair", "metric", "difference", "95 % interval", "p", "p, Holm"]
    over_seeds = ""
    if tests[0].p_of_seeds is not None:
        header.append("p over seeds, Holm")
        over_seeds = (
            " “p over seeds” is Welch's t-test over the seeds, corrected likewise: whether training again"
            " could reverse the difference."
        )
    count = _test_count(evidence)
    family = f"all {count:,} tests of this table"
    if count > len(tests):
        family = f"the {count:,} tests of all pairs, because the best model is selected on the same texts"
    return Section(
        "differences",
        "Model against model",
        [
            Paragraph(
                "Both models of a pair are scored on the same texts. Intervals are paired bootstraps"
                f" ({_resamples(evidence):,} resamples) of each difference on its own. p comes from a"
                " two-sided permutation test: how often randomly swapping the two predictions for each text"
                " gives a difference at least as large. Rely on “p, Holm”, corrected by Holm's method for"
                f" {family}.{over_seeds} Values below {SIGNIFICANCE_LEVEL:g} are bold; filled markers in the"
                " chart are significant."
            ),
            Chart("differences", "Differences with 95 % intervals", charts.differences(rows)),
            Table(
                "Paired differences, in percentage points",
                header,
                [_row(title, test) for title, test in zip(titles, tests, strict=True)],
                words=(0, 1),
            ),
        ],
    )


def _row(title: str, test: PairedTest) -> list[str | Cell]:
    corrected = [test.corrected] if test.p_of_seeds is None else [test.corrected, test.p_of_seeds]
    return [
        title,
        test.metric,
        f"{test.difference.difference:+.2f}",
        f"{test.difference.low:+.2f} … {test.difference.high:+.2f}",
        p_text(test.difference.p_value),
        *(Cell(p_text(p), strong=p < SIGNIFICANCE_LEVEL) for p in corrected),
    ]


def p_text(p: float) -> str:
    """``0.034``; values below 0.001 have one digit."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"
