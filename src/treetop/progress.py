"""Long work tells how far it is: a bar with an estimate on a terminal, plain lines when piped, or nothing.

The library is silent unless somebody listens: the command line installs a `Reporter` with `listen`.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Protocol


class Reporter(Protocol):
    """Who shows the progress. Steps may nest: `advance` and `finish` are about the step started last."""

    def start(self, title: str) -> None: ...
    def advance(self, done: int, total: int, note: str = "") -> None: ...
    def finish(self, complete: bool) -> None: ...


_reporter: contextvars.ContextVar[Reporter | None] = contextvars.ContextVar("reporter", default=None)


@contextlib.contextmanager
def listen(reporter: Reporter | None) -> Iterator[None]:
    """Sends the progress of everything inside to ``reporter``."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


@contextlib.contextmanager
def step(title: str) -> Iterator[Callable[..., None]]:
    """One named piece of work; call the given function with (done, total), and a note if there is one."""
    reporter = _reporter.get()
    if reporter is None:
        yield lambda done, total, note="": None
        return
    reporter.start(title)
    complete = False
    try:
        yield reporter.advance
        complete = True
    finally:
        reporter.finish(complete)
