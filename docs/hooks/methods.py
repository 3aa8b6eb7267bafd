"""Entries in the Python reference for all methods, from the registry, at ``<!-- methods -->``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treetop.methods import METHODS, method_class

MARK = "<!-- methods -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, "\n\n".join(entries())) if MARK in markdown else markdown


def entries() -> Iterator[str]:
    """``::: treetop.XRLinear`` and its like."""
    for name in METHODS:
        yield f"::: treetop.{method_class(name).__name__}"
