"""What a page is made of; `page.py` turns it into HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .examples import Example


class Cell(NamedTuple):
    """A cell that stands out."""

    text: str
    strong: bool = True


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind = "text"


@dataclass(frozen=True)
class Cards:
    """A few large figures: what, value, and what it means."""

    cards: Sequence[tuple[str, str, str]]
    kind = "cards"


@dataclass(frozen=True)
class Table:
    """All columns but ``words`` are numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Row]
    words: Sequence[int] = (0,)
    folded: bool = False
    """Shown only when asked for: a plot beside it says the same."""
    kind = "table"


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite picture."""

    name: str
    """Of the file it is saved as; different for each picture of a page."""
    caption: str
    spec: dict[str, Any]
    kind = "chart"


@dataclass(frozen=True)
class TreeView:
    """A label tree that opens node by node; ``data`` is made by `label_tree.py`."""

    name: str
    data: dict[str, Any]
    kind = "tree"


@dataclass(frozen=True)
class Examples:
    caption: str
    examples: Sequence[Example]
    kind = "examples"


Block = Text | Cards | Table | Chart | TreeView | Examples


@dataclass(frozen=True)
class Part:
    """A piece of a section about one model; shown one at a time where there are several."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Section:
    name: str
    """Its address in the page."""
    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    sections: Sequence[Section] = field(default_factory=tuple)
    footer: str = ""
