"""A table of the settings that `treetop tune` searches, from the methods, at ``<!-- search spaces -->``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treetop.methods import METHODS, method_class
from treetop.tuning.space import describe

MARK = "<!-- search spaces -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, "\n".join(search_spaces())) if MARK in markdown else markdown


def search_spaces() -> Iterator[str]:
    """A row for every setting and every choice of values, with the methods that search it."""
    yield "| setting | values | methods |"
    yield "|---|---|---|"
    for setting, choices in methods_by_values().items():
        for values, methods in choices.items():
            yield f"| `{setting}` | {values} | {', '.join(f'`{name}`' for name in methods)} |"


def methods_by_values() -> dict[str, dict[str, list[str]]]:
    """``{setting: {values: methods}}``, in the order of the registry."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in METHODS:
        for setting, values in method_class(name).search_space.items():
            listed = describe(values)
            text = listed if isinstance(listed, str) else ", ".join(listed)
            found.setdefault(setting, {}).setdefault(text, []).append(name)
    return found
