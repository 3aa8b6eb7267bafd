"""``treetop serve``: models over HTTP."""

from __future__ import annotations

import dataclasses
import typing
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import MissingExtraError
from ..serve.settings import ServeConfig
from .command import OptionGroup
from .options import as_sentence, given

PACKAGES = ("fastapi", "starlette", "pydantic", "uvicorn", "httptools", "prometheus_client")
"""Packages that the extra ``serve`` installs."""


def _option_group() -> type[OptionGroup]:
    """One option per setting of the server."""
    hints = typing.get_type_hints(ServeConfig)
    fields = []
    for field in dataclasses.fields(ServeConfig):
        several = typing.get_origin(hints[field.name]) is tuple
        kind = list[str] | None if several else hints[field.name]
        option = typer.Option(help=as_sentence(field.metadata["help"]))
        default = None if several else field.default
        fields.append((field.name, Annotated[kind, option], dataclasses.field(default=default)))
    return dataclasses.make_dataclass("ServeOptions", fields, bases=(OptionGroup,), frozen=True)


if TYPE_CHECKING:

    class ServeOptions(OptionGroup): ...

else:
    ServeOptions = _option_group()


def serve(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL…", help="Model folders; NAME=FOLDER serves one under another name."),
    ],
    *,
    options: ServeOptions,
) -> None:
    """Serve models over HTTP, with a web page to try them on.

    A model that is saved again replaces the running one without downtime.
    """
    config = ServeConfig(**given(dataclasses.asdict(options)))
    try:
        from ..serve.models import named_folders
        from ..serve.workers import run
    except ModuleNotFoundError as error:
        if error.name in PACKAGES:
            raise MissingExtraError("the server", "serve") from None
        raise
    run(named_folders(models), config)
