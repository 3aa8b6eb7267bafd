"""Published claims about pairs of variants, and the results here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..blocks import Block, Paragraph, Section, Table

if TYPE_CHECKING:
    from ...ablations import Ablation
    from ...ablations.verdicts import Verdict


def claims(ablations: Sequence[tuple[Ablation, Sequence[Verdict]]]) -> Section | None:
    """A table for each ablation; None without any."""
    from ...ablations.verdicts import summary
    from ..comparison_tables import claim_cells
    from ..markdown import significance_note

    blocks: list[Block] = []
    for ablation, found in ablations:
        header = ["claim", "first", "second", "metric", "published", "here", "over texts", "outcome"]
        rows = [[cells[title] for title in header] for cells in map(claim_cells, found)]
        seeds = any(verdict.contrast.deviation is not None for verdict in found)
        text = f"{ablation.title}. {ablation.source}. {summary(found)} {significance_note(seeds)}"
        blocks += [Paragraph(text), Table(ablation.title, header, rows, words=(0, 1, 2, 3, 7))]
    return Section("claims", "Published claims", blocks) if blocks else None
