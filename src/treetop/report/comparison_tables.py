"""The tables of a comparison as rows of text, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..comparison import Comparison, Contrast, Spread

if TYPE_CHECKING:
    from ..ablations.verdicts import Verdict

TextTable = tuple[list[str], list[list[str]]]
"""A header and rows; the first column is words, the others are numbers."""


def results_table(comparison: Comparison) -> TextTable:
    """Metrics, size and speed of every variant."""
    networks = any(comparison.parameters(name) for name in comparison.names)
    header = ["variant", *comparison.metrics]
    header += ["parameters"] if networks else []
    on_gpu = any(comparison.spread(name, "gpu_bytes").mean for name in comparison.names)
    header += ["train s", "ms/text", "MB"] + ["GB on GPU"] * on_gpu
    rows = []
    for name in comparison.names:
        row = [name, *(spread_text(comparison.spread(name, metric)) for metric in comparison.metrics)]
        if networks:
            parts = comparison.parameters(name)
            row.append("" if parts is None else f"{sum(parts.values()):,}")
        row += [
            f"{comparison.spread(name, 'train_seconds').mean:.1f}",
            f"{comparison.spread(name, 'predict_milliseconds').mean:.3f}",
            f"{comparison.spread(name, 'bytes').mean / 1e6:.1f}",
        ]
        if on_gpu:
            row.append(f"{comparison.spread(name, 'gpu_bytes').mean / 1e9:.1f}")
        rows.append(row)
    return header, rows


def differences_from_best(comparison: Comparison) -> TextTable:
    """Every other variant − the best, on the leading metric."""
    metric = comparison.leading_metric
    rows = []
    for name in comparison.names:
        if name != comparison.best:
            contrast = comparison.contrast(name, comparison.best)[metric]
            p_of_seeds = "" if contrast.p_of_seeds is None else f"{contrast.p_of_seeds:.3f}"
            over_texts = [interval_text(contrast), f"{contrast.p_of_texts:.3f}"]
            rows.append([name, difference_text(contrast), p_of_seeds, *over_texts])
    return ["variant", metric, "p over seeds", "95 % interval over texts", "p over texts"], rows


def relative_table(comparison: Comparison, anchor: str) -> TextTable:
    """Every other variant's improvement over ``anchor``, in percent."""
    rows = [
        [name, *(f"{values[metric]:+.2f}" if metric in values else "" for metric in comparison.metrics)]
        for name, values in comparison.relative_to(anchor).items()
    ]
    return [f"over {anchor} (%)", *comparison.metrics], rows


def networks_table(comparison: Comparison) -> TextTable:
    """Parameters of every network by part, and its training."""
    parts = list(
        dict.fromkeys(part for name in comparison.names for part in comparison.parameters(name) or ())
    )
    rows = []
    for name in comparison.names:
        counts = comparison.parameters(name)
        if counts is None:
            continue
        runs = comparison.runs[name]
        rows.append(
            [
                name,
                *(f"{counts[part]:,}" if part in counts else "" for part in parts),
                f"{sum(counts.values()):,}",
                joined(len(run.epochs) for run in runs),
                joined(run.best_epoch for run in runs),
                joined(run.device for run in runs),
                joined(run.precision for run in runs),
            ]
        )
    return ["variant", *parts, "total", "epochs", "best epoch", "device", "precision"], rows


def claim_cells(verdict: Verdict) -> dict[str, str]:
    """The cells of a claim by the titles of their columns."""
    return {
        "claim": verdict.claim.says,
        "first": verdict.claim.first,
        "second": verdict.claim.second,
        "metric": verdict.metric,
        "published": "" if verdict.published is None else f"{verdict.published:+.2f}",
        "here": difference_text(verdict.contrast),
        "over texts": interval_text(verdict.contrast),
        "outcome": verdict.outcome,
    }


def spread_text(spread: Spread) -> str:
    """``75.83 ± 0.21``"""
    return f"{spread.mean:.2f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.2f}")


def difference_text(contrast: Contrast) -> str:
    """``+3.10 ± 0.40``"""
    deviation = "" if contrast.deviation is None else f" ± {contrast.deviation:.2f}"
    return f"{contrast.difference:+.2f}{deviation}"


def interval_text(contrast: Contrast) -> str:
    """``+2.71 … +3.52``"""
    return f"{contrast.low:+.2f} … {contrast.high:+.2f}"


def joined(values: Iterable[Any]) -> str:
    """Distinct values, separated by commas."""
    return ", ".join(dict.fromkeys(str(value) for value in values))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A Markdown table; all columns but ``words`` are right-aligned."""
    rules = ["---" if column in words else "---:" for column in range(len(header))]
    lines = [header, rules, *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
