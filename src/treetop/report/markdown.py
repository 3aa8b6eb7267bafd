"""A comparison as a Markdown report."""

from __future__ import annotations

from collections.abc import Sequence

from ..ablations import Ablation
from ..ablations.verdicts import Verdict, summary
from ..comparison import Comparison
from ..comparison.variants import settings_text
from ..units import counted
from .comparison_tables import (
    claim_cells,
    differences_from_best,
    joined,
    markdown_table,
    networks_table,
    results_table,
    spread_text,
)


def to_markdown(
    comparison: Comparison,
    ablations: Sequence[tuple[Ablation, Sequence[Verdict]]] = (),
    plots: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole report: ``ablations`` with the verdicts on their claims, ``plots`` as titles and files."""
    sections = ["# Comparison", _data(comparison), markdown_table(*results_table(comparison))]
    sections.append(_legend(comparison))
    sections += [f"![{title}]({file})" for title, file in plots]
    for ablation, found in ablations:
        sections += _ablation(ablation, found, comparison)
    if len(comparison.variants) > 1:
        sections += _best(comparison)
    if any(comparison.parameters(name) for name in comparison.names):
        sections += ["## Networks", markdown_table(*networks_table(comparison))]
    sections += ["## Variants", _variants(comparison)]
    return "\n\n".join(sections) + "\n"


def _data(comparison: Comparison) -> str:
    train, test = comparison.train, comparison.test
    where = "held out of the same data" if test.source == train.source else f"of `{test.source}`"
    return (
        f"Trained on {counted(len(train), 'text')} of `{train.source}` with"
        f" {counted(len(train.labels), 'label')}, evaluated on {counted(len(test), 'text')} {where}."
        f" Seeds: {joined(comparison.seeds)}."
    )


def _legend(comparison: Comparison) -> str:
    runs = [run for several in comparison.runs.values() for run in several]
    deviation = " ± the standard deviation over the seeds" if len(comparison.seeds) > 1 else ""
    a, b = comparison.conditions.propensity
    return (
        f"Metrics are means{deviation}, in percent; PSP with A = {a:g}, B = {b:g}. “train s” is the time of"
        " the training alone, “ms/text” the prediction time per text with all test texts in one call, and"
        f" “MB” the size of the stored arrays. Threads: {joined(run.threads for run in runs)}; parallel runs:"
        f" {joined(run.jobs for run in runs)}; treetop {joined(run.treetop for run in runs)}."
    )


def _best(comparison: Comparison) -> list[str]:
    header, rows = differences_from_best(comparison)
    seeds = " ± the standard error over the seeds (p: Welch's t-test)" if len(comparison.seeds) > 1 else ""
    return [
        "## Against the best",
        f"**{comparison.best}** has the highest {comparison.leading_metric}. The table shows each other"
        f" variant − the best, in percentage points{seeds}. The interval over texts is a paired bootstrap of"
        " each text's scores, averaged over the seeds; its p-value comes from a permutation test.",
        markdown_table(header, rows),
    ]


def _ablation(ablation: Ablation, found: Sequence[Verdict], comparison: Comparison) -> list[str]:
    header = ["claim", "first", "second", "parameters", "metric"]
    header += ["published", "here", "over texts", "outcome"]
    rows = [claim_cells(item) | {"parameters": _sizes(item, comparison)} for item in found]
    return [
        f"## {ablation.title}",
        f"{ablation.source}. {ablation.note}",
        _published(ablation, comparison),
        "### Claims",
        summary(found),
        markdown_table(header, [[row[title] for title in header] for row in rows], words=(0, 1, 2, 4, 8)),
        significance_note(len(comparison.seeds) > 1),
    ]


def significance_note(seeds: bool) -> str:
    """When a difference counts as significant, with several ``seeds`` or one."""
    over_seeds = "Welch's t-test over the seeds gives p < 0.05 and " if seeds else ""
    return (
        "Differences are first − second, in percentage points. A difference is significant if"
        f" {over_seeds}the 95 % interval over the texts excludes 0."
    )


def _sizes(verdict: Verdict, comparison: Comparison) -> str:
    """``400,000 : 120,000`` parameters of the two rows."""
    sizes = [comparison.parameters(name) for name in (verdict.claim.first, verdict.claim.second)]
    return " : ".join("" if parts is None else f"{sum(parts.values()):,}" for parts in sizes)


def _published(ablation: Ablation, comparison: Comparison) -> str:
    """Scores of every row here and, next to them, as published, if any."""
    metrics = [m for m in comparison.metrics if any(m in scores for scores in ablation.published.values())]
    if not metrics:
        return ""
    header = ["row"]
    for metric in metrics:
        header += [metric, ablation.published_on]
    rows = []
    for name, published in ablation.published.items():
        row = [name]
        for metric in metrics:
            trained = name in comparison.names
            row.append(spread_text(comparison.spread(name, metric)) if trained else "")
            row.append(f"{published[metric]:.2f}" if metric in published else "")
        rows.append(row)
    return markdown_table(header, rows)


def _variants(comparison: Comparison) -> str:
    rows = [
        [variant.name, variant.method, settings_text(variant.settings).replace(",", ", ")]
        for variant in comparison.variants
    ]
    return markdown_table(["variant", "method", "changed settings"], rows, words=(0, 1, 2))
