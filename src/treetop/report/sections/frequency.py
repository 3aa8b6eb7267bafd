"""Metrics of frequent and rare labels, by their number of training texts."""

from __future__ import annotations

import statistics

from ...metrics import BUCKETS, FrequencyBucket, by_frequency
from .. import charts
from ..blocks import Chart, Paragraph, Section, Table
from ..evidence import Evidence


def _doubling(most: int) -> dict[str, int | None]:
    """Buckets 0, 1, 2–3, 4–7, … up to the largest count."""
    buckets: dict[str, int | None] = {"0": 0, "1": 1}
    low = 2
    while 2 * low <= most:
        buckets[f"{low}–{2 * low - 1}"] = 2 * low - 1
        low *= 2
    return buckets | {f"{low}+": None}


def frequency(evidence: Evidence) -> Section | None:
    """Metrics by label frequency; None without training counts."""
    if evidence.train_counts is None:
        return None
    names = evidence.names
    k = evidence.depth
    coarse = [_buckets(evidence, place, BUCKETS) for place in range(len(names))]
    fine = [
        _buckets(evidence, place, _doubling(int(evidence.train_counts.max(initial=0))))
        for place in range(len(names))
    ]
    rows = [
        {
            "model": name,
            "texts": bucket.name,
            "labels": bucket.labels,
            "occurrences": bucket.occurrences,
            "recall": bucket.recall[k],
        }
        for name, several in zip(names, fine, strict=True)
        for bucket in several
        if bucket.occurrences
    ]
    header = ["group", "training texts", "labels", "occurrences"]
    # One model has room for every k; with several, only the largest is shown.
    shown = evidence.ks if len(names) == 1 else (k,)
    for name in names:
        of = "" if len(names) == 1 else f" {name}"
        header += [f"recall@{at}{of}" for at in shown] + [f"part of P@{at}{of}" for at in shown]
    table = [_frequency_row([several[place] for several in coarse], shown) for place in range(len(BUCKETS))]
    return Section(
        "frequency",
        "Frequent and rare labels",
        [
            Paragraph(
                "Labels grouped by their number of training texts. Recall: the share of a group's"
                " occurrences in the test data that the model finds. Part of P@k: the contribution of the"
                " group's hits to P@k; the parts sum to it."
            ),
            Chart("frequency", f"Recall@{k} by number of training texts", charts.frequency(rows, names, k)),
            Table("Head, middle and tail", header, table[::-1], words=(0, 1)),
            Table(
                "Values of the chart",
                ["training texts", "labels", "occurrences", *(f"recall@{k} {name}" for name in names)],
                [
                    [
                        first.name,
                        f"{first.labels:,}",
                        f"{first.occurrences:,}",
                        *(f"{several[place].recall[k]:.2f}" for several in fine),
                    ]
                    for place, first in enumerate(fine[0])
                    if first.occurrences
                ],
                folded=True,
            ),
        ],
    )


def _buckets(evidence: Evidence, place: int, buckets: dict[str, int | None]) -> list[FrequencyBucket]:
    """Means over the runs of a model."""
    runs = [
        by_frequency(run, evidence.truth, train_counts=evidence.train_counts, ks=evidence.ks, buckets=buckets)
        for run in evidence.models[place].runs
    ]
    return [
        same[0]._replace(
            recall={k: statistics.fmean(one.recall[k] for one in same) for k in evidence.ks},
            precision={k: statistics.fmean(one.precision[k] for one in same) for k in evidence.ks},
        )
        for same in zip(*runs, strict=True)
    ]


def _frequency_row(buckets: list[FrequencyBucket], ks: tuple[int, ...]) -> list[str]:
    first = buckets[0]
    row = [first.name, first.training_texts, f"{first.labels:,}", f"{first.occurrences:,}"]
    for bucket in buckets:
        row += [f"{bucket.recall[k]:.2f}" if bucket.occurrences else "–" for k in ks]
        row += [f"{bucket.precision[k]:.2f}" for k in ks]
    return row
