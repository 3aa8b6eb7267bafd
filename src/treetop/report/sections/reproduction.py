"""A paper's table next to the measured one, and how the setup differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..blocks import Block, Cell, Paragraph, Row, Section, Table

if TYPE_CHECKING:
    from ...reproduction import TableRow

HOURS = "Training hours are those of the paper's machines and of this one."


def reproduction(rows: Sequence[TableRow], differences: Sequence[str]) -> Section:
    """Published and measured rows, and a list of the differences from the published setup."""
    from ...reproduction.table import cells

    header, lines = cells(rows)
    shown: list[Row] = [[Cell(line[0]), *line[1:]] if line[1] == "measured" else line for line in lines]
    blocks: list[Block] = [
        Table("Rows of the paper and of this run", header, shown, words=(0, 1, len(header) - 1))
    ]
    if "training hours" in header:
        blocks.append(Paragraph(HOURS))
    if differences:
        blocks.append(
            Table("Differences from the published setup", ["difference"], [[text] for text in differences])
        )
    else:
        blocks.append(Paragraph("Data, features, encoders and settings are the published ones."))
    return Section("reproduction", "Published and measured", blocks)
