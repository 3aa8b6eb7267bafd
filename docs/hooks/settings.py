"""Every setting of the methods that a page names in ``<!-- settings: kim-cnn kim-cnn-softmax -->``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from treetop.config import value_text
from treetop.methods import METHODS, method_class
from treetop.tuning.space import describe

MARK = re.compile(r"^<!-- settings: ([a-z0-9 -]+?) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return MARK.sub(lambda mark: "\n".join(_tables(mark[1].split())), markdown)


def _tables(methods: list[str]) -> Iterator[str]:
    for name in methods:
        method = method_class(name)
        yield f"## All settings of {name}\n"
        yield f"`{name}`, in Python `treetop.{METHODS[name].class_name}`: {METHODS[name].summary}.\n"
        yield "| setting | type | default | meaning |"
        yield "|---|---|---|---|"
        for setting in method.config_class().settings():
            choices = f" ({', '.join(map(_code, setting.choices))})" if setting.choices else ""
            cells = (
                f"`{setting.name}`",
                _plain(setting.type),
                _code(setting.value),
                _plain(setting.help) + choices,
            )
            yield f"| {' | '.join(cells)} |"
        if method.search_space:
            yield "\n`treetop tune` tries:\n"
            for tried, values in method.search_space.items():
                listed = describe(values)
                yield f"- `{tried}`: {listed if isinstance(listed, str) else ', '.join(listed)}"
        yield ""


def _code(value: Any) -> str:
    text = value_text(value)
    return f"`{text}`" if text else ""


def _plain(text: str) -> str:
    for mark in "\\|[]<>*_`":
        text = text.replace(mark, f"\\{mark}")
    return text
