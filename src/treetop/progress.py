"""Progress of long work. The library shows none unless a `Reporter` listens.

The command line installs one with `listen`: bars with an estimate on a terminal, plain lines when piped.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Protocol


class Reporter(Protocol):
    """Shows progress. Steps may nest: `advance` and `finish` refer to the step that was started last."""

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
    """A named step; the function that it yields takes what is done, the total, and perhaps a note."""
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
