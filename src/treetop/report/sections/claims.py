"""What published studies claim of pairs of variants, and what the figures here say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..blocks import Block, Section, Table, Text
from ..markdown import summary, what_counts
from ..table import difference_text, interval_text

if TYPE_CHECKING:
    from ...studies import Study
    from ...studies.verdicts import Verdict


def claims(studies: Sequence[tuple[Study, Sequence[Verdict]]]) -> Section | None:
    """None where no study was asked for."""
    blocks: list[Block] = []
    for study, found in studies:
        rows = [
            [
                verdict.claim.says,
                verdict.claim.first,
                verdict.claim.second,
                verdict.metric,
                "" if verdict.published is None else f"{verdict.published:+.2f}",
                difference_text(verdict.contrast),
                interval_text(verdict.contrast),
                verdict.outcome,
            ]
            for verdict in found
        ]
        header = ["claim", "first", "second", "metric", "published", "here", "over texts", "outcome"]
        seeds = any(verdict.contrast.deviation is not None for verdict in found)
        blocks.append(Text(f"{study.title}. {study.source}. {summary(found)} {what_counts(seeds)}"))
        blocks.append(Table(study.title, header, rows, words=(0, 1, 2, 3, 7)))
    return Section("claims", "Published claims", blocks) if blocks else None
