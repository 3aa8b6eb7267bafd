"""``treetop data info``: sizes and statistics of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..progress import step
from ..units import counted
from .options import Json, LabelledReading
from .output import heading, show, show_json, show_table

if TYPE_CHECKING:
    from ..data.statistics import CountSummary, DatasetComparison, Statistics


def data_info(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file or folder.")],
    other: Annotated[
        Path | None,
        typer.Argument(metavar="[OTHER]", help="Test split to compare with DATA."),
    ] = None,
    *,
    json: Json = False,
    reading: LabelledReading,
) -> None:
    """Show sizes, labels per text, the long tail of the labels, duplicates and empty texts."""
    from ..data.statistics import describe, long_tail_plot

    first = reading.read(data, need_labels=False)
    second = None if other is None else reading.read_beside(other, "test")
    with step("Counting"):
        statistics = describe(first, second)
    if json:
        show_json(statistics.to_dict())
        return
    heading(str(data))
    show_table(_sizes(statistics))
    if statistics.occurrences:
        show()
        rows = (
            (bucket.texts, f"{bucket.labels:,}", f"{100 * bucket.share_of_occurrences:.1f} %")
            for bucket in statistics.buckets
        )
        show_table(rows, ("texts per label", "labels", "share of all occurrences"), right=(0, 1, 2))
        show(f"\n{long_tail_plot(first.label_counts)}")
    if statistics.other is not None:
        show()
        heading(f"{other}, compared with {data}")
        show_table(_comparison(statistics.other))


def _sizes(s: Statistics) -> list[tuple[str, str]]:
    rows = [("examples", f"{s.examples:,}")]
    if s.features is not None:
        rows.append(("features", f"{s.features:,}"))
    if s.occurrences:
        rows += [
            ("labels", f"{s.labels:,} ({s.labels_used:,} used, {counted(s.occurrences, 'occurrence')})"),
            ("labels per text", _summary(s.labels_per_text)),
            ("texts per label", _summary(s.texts_per_label)),
            ("in the most frequent 10 % of labels", f"{100 * s.head_share:.1f} % of all occurrences"),
            ("texts without labels", f"{s.texts_without_labels:,}"),
        ]
        if s.relevance is not None:
            rows.append(("relevance of labels", f"{s.relevance[0]:g} to {s.relevance[1]:g}"))
    else:
        rows.append(("labels", "none"))
    own = [kind for kind, there in (("texts", s.label_texts), ("features", s.label_features)) if there]
    if own:
        rows.append(("labels have", " and ".join(own)))
    if s.excluded_pairs:
        rows.append(("pairs left out of evaluation", f"{s.excluded_pairs:,}"))
    if s.words_per_text is not None:
        rows += [
            ("words per text", _summary(s.words_per_text)),
            ("empty texts", f"{s.empty_texts:,}"),
            ("texts that repeat an earlier one", f"{s.duplicate_texts:,}"),
        ]
    return rows


def _summary(counts: CountSummary) -> str:
    return f"mean {counts.mean:,.2f}, median {counts.median:,g}, max {counts.max:,}"


def _comparison(c: DatasetComparison) -> list[tuple[str, str]]:
    rows = [("examples", f"{c.examples:,}")]
    if c.duplicate_texts is not None:
        rows.append(("texts in both", f"{c.duplicate_texts:,}"))
    occurrences = counted(c.unseen_occurrences, "occurrence")
    unseen = f"{c.unseen_labels:,} ({occurrences}, {100 * c.unseen_share:.1f} %)"
    rows.append(("unseen labels", unseen))
    if c.excluded_pairs:
        rows.append(("pairs left out of evaluation", f"{c.excluded_pairs:,}"))
    return rows
