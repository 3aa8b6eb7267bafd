"""What went wrong, as one sentence on standard error and an exit code.

0 all is well, 1 our fault or the machine's, 2 the caller's, 130 interrupted, 141 the reader of a pipe left.
"""

from __future__ import annotations

import os
import sys
import traceback

import typer

from ..errors import TreetopError

INTERRUPTED = 130
READER_LEFT = 141
_CALLERS_FAULT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def report(error: BaseException, *, debug: bool) -> int:
    """Prints the sentence (after the traceback, with ``debug``) and gives the exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_standard_output()
        return READER_LEFT
    if debug:
        traceback.print_exception(error)
    sentence, code = _explain(error)
    typer.echo(f"treetop: {sentence}", err=True)
    return code


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, TreetopError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, MemoryError):
        return "there is not enough memory", 1
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror}", 2 if isinstance(error, _CALLERS_FAULT) else 1
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error: {' '.join(what.split())}; run again with --debug", 1


def _drop_standard_output() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, instead of failing again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
