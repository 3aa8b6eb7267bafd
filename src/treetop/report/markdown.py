"""A comparison as a page of Markdown. Every sentence about the outcome is made from the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..comparison import Comparison
from ..comparison.variants import settings_text
from ..studies import Study
from ..studies.verdicts import AGREES, DISAGREES, OPEN, Verdict
from .table import (
    against_the_best,
    difference_text,
    figures,
    interval_text,
    joined,
    markdown_table,
    networks,
    spread_text,
)


def to_markdown(
    comparison: Comparison,
    studies: Sequence[tuple[Study, Sequence[Verdict]]] = (),
    pictures: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole page: ``studies`` and the verdicts on their claims, ``pictures`` as titles and files."""
    sections = ["# Comparison", _data(comparison), markdown_table(*figures(comparison)), _legend(comparison)]
    sections += [f"![{title}]({file})" for title, file in pictures]
    for study, found in studies:
        sections += _study(study, found, comparison)
    if len(comparison.variants) > 1:
        sections += _best(comparison)
    if any(comparison.parameters(name) for name in comparison.names):
        sections += ["## Networks", markdown_table(*networks(comparison))]
    sections += ["## Variants", _variants(comparison)]
    return "\n\n".join(sections) + "\n"


def _data(comparison: Comparison) -> str:
    train, test = comparison.train, comparison.test
    where = "held out of the same" if test.source == train.source else f"of `{test.source}`"
    return (
        f"Trained on {len(train):,} texts of `{train.source}` with {len(train.labels):,} labels, measured on"
        f" {len(test):,} texts {where}. Seeds: {joined(comparison.seeds)}."
    )


def _legend(comparison: Comparison) -> str:
    runs = [run for several in comparison.runs.values() for run in several]
    deviation = ", ± the standard deviation over the seeds" if len(comparison.seeds) > 1 else ""
    a, b = comparison.conditions.propensity
    return (
        f"Metrics are means in percent{deviation}; PSP with A = {a:g}, B = {b:g}. Training seconds are those"
        " of the training alone, milliseconds those of a text when all test texts are asked at once, MB those"
        f" of the stored arrays. Threads: {joined(run.threads for run in runs)}; runs at a time:"
        f" {joined(run.jobs for run in runs)}; treetop {joined(run.treetop for run in runs)}."
    )


def _best(comparison: Comparison) -> list[str]:
    header, rows = against_the_best(comparison)
    seeds = ", ± their deviation over the seeds (p: Welch's t-test)" if len(comparison.seeds) > 1 else ""
    return [
        "## Against the best",
        f"The highest {comparison.leading_metric} has **{comparison.best}**. Below is how far the others lie"
        f" from it, in points{seeds}. The interval over texts is a paired bootstrap of the scores of every"
        " text averaged over the seeds, its p a permutation test.",
        markdown_table(header, rows),
    ]


def _study(study: Study, found: Sequence[Verdict], comparison: Comparison) -> list[str]:
    return [
        f"## {study.title}",
        f"{study.source}. {study.note}",
        _published(study, comparison),
        "### What it claims",
        summary(found),
        markdown_table(
            ["claim", "first", "second", "parameters", "metric", "published", "here", "over texts", ""],
            [_claim(verdict, comparison) for verdict in found],
            words=(0, 1, 2, 4, 8),
        ),
        what_counts(len(comparison.seeds) > 1),
    ]


def what_counts(seeds: bool) -> str:
    """When a difference counts, where there are several ``seeds`` or one."""
    over_seeds = "Welch's t-test over the seeds gives p < 0.05 and " if seeds else ""
    return (
        f"Differences are first − second, in points. A difference counts where {over_seeds}the 95 % interval"
        " over the texts leaves out 0."
    )


def summary(found: Sequence[Verdict]) -> str:
    """``3 of 5 claims agree with the figures here, 1 disagrees, 1 is too close to tell.``"""
    counts = Counter(verdict.outcome for verdict in found)
    claims = "claim" if len(found) == 1 else "claims"
    parts = [f"{counts[AGREES]} of {len(found)} {claims} agree with the figures here"]
    if counts[DISAGREES]:
        parts.append(f"{counts[DISAGREES]} {'disagrees' if counts[DISAGREES] == 1 else 'disagree'}")
    if counts[OPEN]:
        parts.append(f"{counts[OPEN]} {'is' if counts[OPEN] == 1 else 'are'} too close to tell")
    return ", ".join(parts) + "."


def _claim(verdict: Verdict, comparison: Comparison) -> list[str]:
    claim = verdict.claim
    sizes = [comparison.parameters(name) for name in (claim.first, claim.second)]
    return [
        claim.says,
        claim.first,
        claim.second,
        " : ".join("" if parts is None else f"{sum(parts.values()):,}" for parts in sizes),
        verdict.metric,
        "" if verdict.published is None else f"{verdict.published:+.2f}",
        difference_text(verdict.contrast),
        interval_text(verdict.contrast),
        verdict.outcome,
    ]


def _published(study: Study, comparison: Comparison) -> str:
    """Figures of every row here and, beside them, as published, if there are any."""
    metrics = [m for m in comparison.metrics if any(m in figures for figures in study.published.values())]
    if not metrics:
        return ""
    header = ["row"]
    for metric in metrics:
        header += [metric, study.published_on]
    rows = []
    for name, published in study.published.items():
        row = [name]
        for metric in metrics:
            row.append(spread_text(comparison.spread(name, metric)))
            row.append(f"{published[metric]:.2f}" if metric in published else "")
        rows.append(row)
    return markdown_table(header, rows)


def _variants(comparison: Comparison) -> str:
    rows = [
        [variant.name, variant.method, settings_text(variant.settings).replace(",", ", ")]
        for variant in comparison.variants
    ]
    return markdown_table(
        ["variant", "method", "settings that differ from the method's"], rows, words=(0, 1, 2)
    )
