"""``treetop methods``: the methods, and the settings and the search space of one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from ..config import Config, Setting, value_text
from .options import Json
from .output import heading, show, show_json, show_table

if TYPE_CHECKING:
    from ..search_space import SearchSpace


def method_names() -> list[tuple[str, str]]:
    """Names and one-line descriptions; also the completions of --method."""
    from ..methods import METHODS

    return [(name, entry.summary) for name, entry in METHODS.items()]


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[METHOD]", autocompletion=method_names, help="Method whose settings to show."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods, or all settings of one with their type, default and meaning."""
    if name is None:
        if json:
            show_json(dict(method_names()))
        else:
            show_table(method_names())
            show("\nSettings of a method: treetop methods NAME")
        return
    from ..methods import method_class

    method = method_class(name)
    config = method.config_class()
    if json:
        show_json([dataclasses.asdict(setting) for setting in config.settings()])
        return
    heading(f"{name}: {dict(method_names())[name]}")
    show_settings(config)
    example = next(setting for setting in reversed(list(config.settings())) if setting.value is not None)
    show(f"\nChange a setting: treetop train … --set {example.name}={value_text(example.value)}")
    if method.search_space:
        show()
        heading(f"Search space of treetop tune … --method {name}")
        show_space(method.search_space)


def show_settings(config: Config) -> None:
    """Prints a table of all settings: name, type, default, meaning."""
    rows = [
        (setting.name, setting.type, value_text(setting.value), _meaning(setting))
        for setting in config.settings()
    ]
    show_table(rows, ("setting", "type", "default", "meaning"))


def show_space(space: SearchSpace) -> None:
    """Prints a table of the settings to search, with their values or range."""
    from ..tuning.space import describe

    rows = ((name, describe(values)) for name, values in space.items())
    show_table((name, text if isinstance(text, str) else ", ".join(text)) for name, text in rows)


def _meaning(setting: Setting) -> str:
    if setting.choices is None:
        return setting.help
    return f"{setting.help} ({', '.join(map(value_text, setting.choices))})"
