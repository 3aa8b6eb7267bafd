"""Reading HTML reports: strictly parsed, tables by their captions."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib


class ReadReport:
    """A page as a strict HTML parser sees it."""

    def __init__(self, path: Path) -> None:
        self.source = path.read_text("utf-8")
        parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        self.root: Element = parser.parse(self.source)

    @property
    def sections(self) -> list[str]:
        return [section.get("id", "") for section in self.root.iter("section")]

    def text(self, section: str) -> str:
        """The readable text of a section, without scripts."""
        found = next(item for item in self.root.iter("section") if item.get("id") == section)
        return _text(found)

    def tables(self, caption: str) -> list[tuple[list[str], list[list[str]]]]:
        """Header and rows of every table of that caption."""
        found = []
        for table in self.root.iter("table"):
            if _text(table.find("caption")) == caption:
                rows = [[_text(cell) for cell in row] for row in table.iter("tr")]
                found.append((rows[0], rows[1:]))
        return found

    def table(self, caption: str) -> tuple[list[str], list[list[str]]]:
        (only,) = self.tables(caption)
        return only

    def data(self, place: str) -> dict:
        """The data of the chart or the tree with that id."""
        for element in self.root.iter():
            if element.get("id") == place:
                return json.loads(element.find(".//script").text)
        raise AssertionError(place)

    def drawn(self, chart: str) -> list[dict]:
        return self.data(f"chart-{chart}")["data"]["values"]


def _text(element: Element | None) -> str:
    assert element is not None
    pieces = [element.text or ""]
    for child in element:
        if child.tag != "script":
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return " ".join("".join(pieces).split())
