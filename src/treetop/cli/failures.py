"""Errors as one sentence on standard error and an exit code.

0: success; 1: a fault of treetop or of the machine; 2: one that the user can fix; 130: interrupted; 141: the
reader of a pipe has closed it; 143: terminated.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import typer

from ..errors import TreetopError

INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
_USER_CAN_FIX = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends a command like Ctrl-C: what it was writing is removed."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raises `TerminatedError` at a first SIGTERM, unless it is ignored; a second one kills."""

    def terminate(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise TerminatedError

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) in (signal.SIG_IGN, None):
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def report(error: BaseException, *, debug: bool) -> int:
    """Prints the sentence (after the traceback, with ``debug``) and returns the exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_standard_output()
        return PIPE_CLOSED
    if debug:
        traceback.print_exception(error)
    sentence, code = _explain(error)
    typer.echo(f"treetop: {sentence}", err=True)
    return code


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, TreetopError):
        return str(error), error.exit_code
    if isinstance(error, TerminatedError):
        return "terminated", TERMINATED
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, MemoryError):
        return "not enough memory: close other programs, or use less data or smaller settings", 1
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror}", 2 if isinstance(error, _USER_CAN_FIX) else 1
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error: {' '.join(what.split())}; please report it with the output of --debug", 1


def _drop_standard_output() -> None:
    """Discards what is still buffered, which would fail again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
