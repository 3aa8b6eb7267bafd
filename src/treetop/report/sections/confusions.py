"""Wrong labels predicted in place of correct ones, and the labels missed most often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import metrics
from .. import charts
from ..blocks import Block, Chart, ModelPart, Paragraph, Section, Table
from ..evidence import Evidence

PAIRS = 100_000
"""Largest number of confusions considered; rarer ones would hardly show in the chart."""
PAIRS_SHOWN, MORE_PAIRS, LABELS_DRAWN, LABELS_SHOWN = 15, 100, 12, 15


def confusions(evidence: Evidence) -> Section:
    """For every model: confused labels, and the labels missed most often."""
    parts = []
    for place, reported in enumerate(evidence.models):
        pairs = metrics.confusions(reported.runs[0], evidence.truth, depth=evidence.depth, most=PAIRS)
        table = [
            [
                evidence.label_name(pair.missing),
                evidence.label_name(pair.given),
                f"{pair.documents:,}",
                f"{pair.misses:.1f}",
                f"{100 * pair.misses / pair.all_misses:.0f} %",
            ]
            for pair in pairs[:MORE_PAIRS]
        ]
        blocks: list[Block] = [Paragraph("No wrong label takes the place of a correct one.")]
        if pairs:
            chart = charts.confusions(_drawn(evidence, pairs))
            header = ["correct label (missed)", "suggested instead", "texts", "misses", "share of its misses"]
            blocks = [
                Chart(f"confusions-{place + 1}", "Most frequent confusions", chart),
                Table("Most frequent confusions", header, table[:PAIRS_SHOWN], words=(0, 1)),
            ]
            if table[PAIRS_SHOWN:]:
                blocks.append(
                    Table("More confusions", header, table[PAIRS_SHOWN:], words=(0, 1), folded=True)
                )
        parts.append(ModelPart(reported.name, [*blocks, _missed(evidence, place)]))
    return Section(
        "confusions",
        "Confusions",
        [
            Paragraph(
                "Wrong labels predicted in place of correct ones. Only the first n predictions for a text"
                f" with n correct labels count (at most {evidence.depth}), so that each wrong label takes the"
                " place of a missed one. “texts” is the number of texts where the first label is missed and"
                " the second is suggested; “misses” divides each miss among the wrong labels of its"
                f" text.{evidence.first_seed_note}"
            )
        ],
        parts,
    )


def _drawn(evidence: Evidence, pairs: Sequence[metrics.Confusion]) -> list[dict[str, Any]]:
    """All confusions among the missed and the suggested labels of the most frequent ones."""
    missed = list(dict.fromkeys(pair.missing for pair in pairs))[:LABELS_DRAWN]
    suggested = list(dict.fromkeys(pair.given for pair in pairs if pair.missing in missed))[:LABELS_DRAWN]
    return [
        {
            "missed": evidence.label_name(pair.missing),
            "suggested": evidence.label_name(pair.given),
            "texts": pair.documents,
            "misses": round(pair.misses, 2),
        }
        for pair in pairs
        if pair.missing in missed and pair.given in suggested
    ]


def _missed(evidence: Evidence, place: int) -> Table:
    """The labels with most misses among the first k."""
    k = evidence.depth
    predictions, counts = evidence.models[place].runs[0], evidence.train_counts
    report = metrics.label_report(predictions, evidence.truth, k=k, train_counts=counts)
    worst = sorted(report.rows, key=lambda row: (row.correct - row.test_count, row.label))[:LABELS_SHOWN]
    rows = [
        [
            evidence.readable(row.label),
            *([] if row.train_count is None else [f"{row.train_count:,}"]),
            f"{row.test_count:,}",
            f"{row.test_count - row.correct:,}",
            f"{row.recall:.1f}",
            f"{row.precision:.1f}",
        ]
        for row in worst
        if row.correct < row.test_count
    ]
    trained = [] if counts is None else ["training texts"]
    header = ["label", *trained, "test texts", "missed", f"recall@{k}", f"precision@{k}"]
    return Table(f"Labels missed most often among the first {k}", header, rows)
