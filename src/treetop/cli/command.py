"""`add_command`: makes a plain function a command with progress, `--quiet`, `--debug` and readable errors.

A parameter whose type is an `OptionGroup` expands to all of the group's fields, so that options shared by
several commands are declared once.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import inspect
import os
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from . import failures
from .reporter import renamed_as_notes, reporting

Function = Callable[..., None]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if an error occurs.")]


_held: contextvars.ContextVar[contextlib.ExitStack] = contextvars.ContextVar("held")
"""What the running command holds until it ends."""


def reserve(model: str | os.PathLike[str]) -> None:
    """Reserves a model folder for the running command; rejects one where it cannot save a model."""
    from ..store import reserved

    _held.get().enter_context(reserved(model))


@dataclass(frozen=True)
class OptionGroup:
    """Related options; the fields' types are written ``Annotated[…, typer.Option(…)]``."""


@dataclass(frozen=True)
class General(OptionGroup):
    """The options of every command; `treetop` also takes them before the command."""

    quiet: Quiet = False
    debug: Debug = False


def add_command(
    app: typer.Typer,
    function: Function,
    *,
    name: str | None = None,
    help_from: Callable[[], Mapping[str, str]] = dict,
    hidden: bool = False,
) -> None:
    """Adds ``function`` to ``app``; its docstring is the help.

    ``help_from`` returns the help of options declared without one, by name. It is called only when help is
    shown, so that it may import what the help is derived from.
    """

    class Command(TyperCommand):
        def derive_helps(self) -> None:
            helps = help_from()
            for parameter in self.params:
                if parameter.name in helps and not getattr(parameter, "help", None):
                    setattr(parameter, "help", helps[parameter.name])  # noqa: B010

        def format_help(self, ctx: Any, formatter: Any) -> None:
            self.derive_helps()
            super().format_help(ctx, formatter)

    app.command(name, cls=Command, hidden=hidden)(_reported(function))


def _reported(function: Function) -> Function:
    """``function`` with its groups expanded, the general options added, and its errors turned into exits."""
    # Not typing.get_type_hints: in Python 3.10 it wraps what defaults to None, which hides the option.
    own = inspect.signature(function, eval_str=True).parameters
    groups = {
        name: parameter.annotation for name, parameter in own.items() if _is_group(parameter.annotation)
    }

    def run(context: typer.Context, **values: Any) -> None:
        general = _gather(General, values)
        for name, group in groups.items():
            values[name] = _gather(group, values)
        quiet = general.quiet or context.meta.get("treetop.quiet", False)
        debug = general.debug or context.meta.get("treetop.debug", False)
        try:
            with reporting(quiet=quiet), renamed_as_notes(), contextlib.ExitStack() as held:
                _held.set(held)
                function(**values)
            sys.stdout.flush()
        except (typer.Exit, typer.BadParameter):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise typer.Exit(failures.report(error, debug=debug)) from None

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, parameter in own.items():
        if name in groups:
            parameters += _fields(groups[name])
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    parameters += _fields(General)
    setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = function.__doc__
    run.__name__ = function.__name__
    return run


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, OptionGroup)


def _fields(group: type[OptionGroup]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    ]


def _gather(group: type[Any], values: dict[str, Any]) -> Any:
    """The group, made from its fields, which are removed from ``values``."""
    return group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
