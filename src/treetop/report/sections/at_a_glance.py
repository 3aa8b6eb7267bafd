"""The key metrics of the best model, and its lead over the others."""

from __future__ import annotations

from ...comparison.results import SIGNIFICANCE_LEVEL
from ...units import file_size, three_digits
from ..blocks import Block, Cards, Paragraph, Section
from ..evidence import Evidence
from .differences import PairedTest, p_text


def at_a_glance(evidence: Evidence, tests: list[PairedTest]) -> Section:
    """Key metrics and sentences for a reader in a hurry."""
    names = evidence.names
    best = evidence.best
    intervals = evidence.intervals[best]
    cards = [
        (
            name,
            f"{intervals[name].value:.1f} %",
            f"95 % interval: {intervals[name].low:.1f} … {intervals[name].high:.1f}",
        )
        for name in evidence.key_metrics
    ]
    cost = evidence.models[best].cost
    if cost.batch_milliseconds is not None:
        cards.append(
            ("Time per text", f"{three_digits(cost.batch_milliseconds)} ms", "all texts in one call")
        )
    if cost.stored_bytes is not None:
        cards.append(("Model size", file_size(cost.stored_bytes), "stored"))
    blocks: list[Block] = []
    if len(names) > 1:
        text = (
            f"{names[best]} has the highest {evidence.main_metric} of {len(names)} models. Its key metrics:"
        )
        blocks.append(Paragraph(text))
    blocks.append(Cards(cards))
    if len(names) > 1:
        blocks.append(Paragraph(_lead(evidence, tests)))
    return Section("glance", "At a glance", blocks)


def _lead(evidence: Evidence, tests: list[PairedTest]) -> str:
    """The tests of the best model against each other one, on the main metric."""
    best = evidence.best
    sentences = []
    for test in tests:
        if test.metric != evidence.main_metric or best not in (test.first, test.second):
            continue
        other = evidence.names[test.second if test.first == best else test.first]
        gap = abs(test.difference.difference)
        if gap == 0:
            sentences.append(f"{other} has the same value")
            continue
        sentences.append(f"{other} is {gap:.2f} points lower, {_verdict(test)}")
    return f"{evidence.main_metric}: {'; '.join(sentences)}."


def _verdict(test: PairedTest) -> str:
    p = f"p {p_text(test.corrected)}, Holm"
    if test.significant:
        return f"a significant difference ({p})"
    if test.corrected < SIGNIFICANCE_LEVEL and test.p_of_seeds is not None:
        return f"significant over the texts, but not over the seeds (p {p_text(test.p_of_seeds)}, Holm)"
    return f"not a significant difference ({p})"
