"""The reference of all commands, from the help that the command itself shows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from treetop.cli.main import app

MARK = "<!-- commands -->"
_ASKS_FOR_HELP = "help"


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, "\n".join(command_reference())) if MARK in markdown else markdown


def command_reference() -> Iterator[str]:
    for path, command in commands():
        yield from _section(path, command)


def commands() -> Iterator[tuple[str, Any]]:
    """``treetop train`` and its like, with the objects behind them."""
    return _below("treetop", typer.main.get_command(app))


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in command.commands.items():
        if not child.hidden:
            yield from _below(f"{path} {name}", child)


def _section(path: str, command: Any) -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    command.derive_helps()
    yield f"\n## {path}\n"
    yield inspect.cleandoc(command.help or "")
    yield f"\n```text\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    records = [
        record
        for parameter in command.get_params(context)
        if parameter.name != _ASKS_FOR_HELP and (record := parameter.get_help_record(context))
    ]
    yield "| | |"
    yield "|---|---|"
    for names, meaning in records:
        yield f"| `{names}` | {_cell(meaning)} |"


def _cell(text: str) -> str:
    """Help text in a cell of a table, where brackets and bars have a meaning of their own."""
    for mark in "\\|[]<>*_`":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
