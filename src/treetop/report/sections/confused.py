"""Which wrong label stands where a right one is missing, and which labels are missed most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...metrics import Confusion, confusions, label_report
from .. import charts
from ..blocks import Block, Chart, Part, Section, Table, Text
from ..subject import Evidence

PAIRS = 100_000
"""Looked at; what comes after these would hardly colour the picture."""
PAIRS_SHOWN, MORE_PAIRS, LABELS_DRAWN, LABELS_SHOWN = 15, 100, 12, 15


def confused(evidence: Evidence) -> Section:
    """Of every model: labels taken for others, and labels most often missed."""
    parts = []
    for place, subject in enumerate(evidence.subjects):
        pairs = confusions(subject.runs[0], evidence.truth, depth=evidence.depth, most=PAIRS)
        table = [
            [
                evidence.shown(pair.missing),
                evidence.shown(pair.given),
                f"{pair.documents:,}",
                f"{pair.misses:.1f}",
                f"{100 * pair.misses / pair.all_misses:.0f} %",
            ]
            for pair in pairs[:MORE_PAIRS]
        ]
        blocks: list[Block] = [Text("No wrong label stands in the place of a right one.")]
        if pairs:
            chosen = _drawn(evidence, pairs)
            header = ["right, missing", "given, wrong", "texts", "misses", "of all its misses"]
            blocks = [
                Chart(f"confusions-{place + 1}", "Labels most often taken for others", charts.heat(chosen)),
                Table("The largest confusions", header, table[:PAIRS_SHOWN], words=(0, 1)),
            ]
            if table[PAIRS_SHOWN:]:
                blocks.append(Table("More of them", header, table[PAIRS_SHOWN:], words=(0, 1), folded=True))
        parts.append(Part(subject.name, [*blocks, _missed(evidence, place)]))
    return Section(
        "confusions",
        "Confusions",
        [
            Text(
                "Which wrong label stands where a right one is missing. A text with n right labels is cut at"
                f" its first n answers (at most {evidence.depth}), so that a wrong answer takes the place of"
                " a missing one. “Texts” have the one label missing and the other given; “misses” shares"
                f" every miss out among the wrong labels of its text.{evidence.of_first_seed}"
            )
        ],
        parts,
    )


def _drawn(evidence: Evidence, pairs: Sequence[Confusion]) -> list[dict[str, Any]]:
    """All confusions between the labels that are missing, and those that are given, in the largest ones."""
    missing = list(dict.fromkeys(pair.missing for pair in pairs))[:LABELS_DRAWN]
    given = list(dict.fromkeys(pair.given for pair in pairs if pair.missing in missing))[:LABELS_DRAWN]
    return [
        {
            "missing": evidence.shown(pair.missing),
            "given": evidence.shown(pair.given),
            "texts": pair.documents,
            "misses": round(pair.misses, 2),
        }
        for pair in pairs
        if pair.missing in missing and pair.given in given
    ]


def _missed(evidence: Evidence, place: int) -> Table:
    """Labels with most misses among the first k."""
    k = evidence.depth
    report = label_report(evidence.subjects[place].runs[0], evidence.truth, k=k, train_counts=evidence.counts)
    worst = sorted(report.rows, key=lambda row: (row.correct - row.test_count, row.label))[:LABELS_SHOWN]
    rows = [
        [
            evidence.named(row.label),
            *([] if row.train_count is None else [f"{row.train_count:,}"]),
            f"{row.test_count:,}",
            f"{row.test_count - row.correct:,}",
            f"{row.recall:.1f}",
            f"{row.precision:.1f}",
        ]
        for row in worst
        if row.correct < row.test_count
    ]
    trained = [] if evidence.counts is None else ["training texts"]
    header = ["label", *trained, "test texts", "missed", f"recall@{k}", f"precision@{k}"]
    return Table(f"Labels most often missed among the first {k}", header, rows)
