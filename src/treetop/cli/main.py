"""The ``treetop`` command and its subcommands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import __version__
from . import failures
from .ablations import ablations, studies
from .calibrate import calibrate, calibrate_help
from .command import Debug, Quiet, add_command
from .compare import compare
from .data_build import build, build_help
from .data_convert import convert
from .data_from_feedback import from_feedback
from .data_info import data_info
from .data_split import split
from .demo import demo
from .ensemble import ensemble, ensemble_help
from .evaluate import evaluate
from .explain import explain
from .import_model import import_model
from .info import info
from .methods import methods
from .options import both_helps, format_help, method_settings_help
from .predict import predict
from .recipes import recipes
from .report import report
from .reproduce import reproduce
from .serve import serve
from .train import train, train_help
from .tune import tune, tune_help
from .update import update

app = typer.Typer(
    name="treetop",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treetop {__version__}")
        raise typer.Exit


@app.callback()
def _general(
    context: typer.Context,
    quiet: Quiet = False,
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Extreme multi-label text classification: the few right labels out of thousands to millions.

    Start with: treetop demo
    """
    context.meta["treetop.quiet"] = quiet
    context.meta["treetop.debug"] = debug


add_command(app, demo, help_from=method_settings_help)
add_command(app, train, help_from=train_help)
add_command(app, tune, help_from=tune_help)
add_command(app, predict, help_from=both_helps)
add_command(app, evaluate, help_from=both_helps)
add_command(app, explain, help_from=both_helps)
add_command(app, update, help_from=both_helps)
add_command(app, calibrate, help_from=calibrate_help)
add_command(app, compare, help_from=both_helps)
add_command(app, report, help_from=both_helps)
add_command(app, ensemble, help_from=ensemble_help)
add_command(app, import_model, name="import", help_from=both_helps)
add_command(app, serve)
add_command(app, info)
add_command(app, methods)
add_command(app, recipes)
add_command(app, reproduce, help_from=both_helps)
add_command(app, ablations)
add_command(app, studies, hidden=True)

data = typer.Typer(name="data", no_args_is_help=True, help="Inspect, convert, split and build data sets.")
app.add_typer(data)
add_command(data, data_info, name="info", help_from=format_help)
add_command(data, convert, help_from=format_help)
add_command(data, split, help_from=format_help)
add_command(data, build, help_from=build_help)
add_command(data, from_feedback)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # characters that the terminal lacks are replaced
    try:
        # Not app(…): that would also replace sys.excepthook.
        with failures.terminable():
            typer.main.get_command(app)(args=arguments, prog_name="treetop")
    except (KeyboardInterrupt, BrokenPipeError) as error:
        sys.exit(failures.report(error, debug=False))
