"""The building blocks of a page; `html.py` renders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .predicted_texts import PredictedText


class Cell(NamedTuple):
    """A table cell in bold."""

    text: str
    strong: bool = True


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Paragraph:
    text: str
    kind = "paragraph"


@dataclass(frozen=True)
class Cards:
    """A few key numbers: name, value and explanation."""

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
    """Collapsed at first, where a chart shows the same numbers."""
    kind = "table"


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart."""

    name: str
    """File name for saving; unique within a page."""
    caption: str
    spec: dict[str, Any]
    kind = "chart"


@dataclass(frozen=True)
class TreeView:
    """A label tree that opens node by node; ``data`` comes from `label_tree.py`."""

    name: str
    data: dict[str, Any]
    kind = "tree"


@dataclass(frozen=True)
class PredictedTexts:
    """Test texts with their predictions, under a heading."""

    caption: str
    texts: Sequence[PredictedText]
    kind = "texts"


Block = Paragraph | Cards | Table | Chart | TreeView | PredictedTexts


@dataclass(frozen=True)
class ModelPart:
    """The part of a section about one model; with several models, each part opens on its own."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Section:
    name: str
    """Its anchor in the page."""
    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence[ModelPart] = ()


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    sections: Sequence[Section] = field(default_factory=tuple)
    footer: str = ""
