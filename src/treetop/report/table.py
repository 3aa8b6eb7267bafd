"""The tables of a comparison as rows of text, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..comparison import Comparison, Contrast, Spread

Table = tuple[list[str], list[list[str]]]
"""A header and rows; the first column is words, the others are numbers."""


def figures(comparison: Comparison) -> Table:
    """Every variant: its metrics, size and speed."""
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


def against_the_best(comparison: Comparison) -> Table:
    """Every other variant − the best, on the leading metric."""
    metric = comparison.leading_metric
    rows = []
    for name in comparison.names:
        if name != comparison.best:
            contrast = comparison.contrast(name, comparison.best)[metric]
            p_of_seeds = "" if contrast.p_of_seeds is None else f"{contrast.p_of_seeds:.3f}"
            over_texts = [interval_text(contrast), f"{contrast.p_of_texts:.3f}"]
            rows.append([name, difference_text(contrast), p_of_seeds, *over_texts])
    return ["variant", metric, "p of seeds", "95 % over texts", "p of texts"], rows


def networks(comparison: Comparison) -> Table:
    """Where the parameters of every network are, and how its training went."""
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
    return ["variant", *parts, "all", "epochs", "epoch kept", "device", "precision"], rows


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
    """Different values, each once."""
    return ", ".join(dict.fromkeys(str(value) for value in values))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A Markdown table; all columns but ``words`` stand flush right."""
    rules = ["---" if column in words else "---:" for column in range(len(header))]
    lines = [header, rules, *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
