"""Progress on standard error: bars with elapsed and remaining time on a terminal, plain lines when piped."""

from __future__ import annotations

import contextlib
import contextvars
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from .. import progress
from ..deprecation import RenamedWarning
from ..errors import DataWarning
from ..machine import is_main_process

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 15.0
_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("quiet", default=False)


@contextlib.contextmanager
def reporting(*, quiet: bool) -> Iterator[None]:
    """Shows the progress and the notes of everything inside, unless ``quiet``."""
    token = _quiet.set(quiet)
    try:
        with progress.listen(None if quiet or not is_main_process() else _reporter()):
            yield
    finally:
        _quiet.reset(token)


def note(message: str) -> None:
    """Prints a message on standard error; standard output is kept for data."""
    if not _quiet.get() and is_main_process():
        typer.echo(message, err=True)


@contextlib.contextmanager
def renamed_as_notes() -> Iterator[None]:
    """Shows treetop's own warnings as messages, without places in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, (RenamedWarning, DataWarning)):
                note(str(message))
            else:
                show(message, category, *place, **more)

        warnings.showwarning = shown
        yield


def duration(seconds: float) -> str:
    """``3.1 s``, ``2 min 05 s`` or ``1 h 07 min``."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _reporter() -> progress.Reporter:
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        return Bars(console)
    return Lines()


class Lines:
    """A line when a step starts, one when it ends, and one every 15 seconds if the step sends notes."""

    def __init__(self) -> None:
        self._running: list[tuple[str, float]] = []
        self._last_line = 0.0

    def start(self, title: str) -> None:
        self._last_line = time.monotonic()
        self._running.append((title, self._last_line))
        typer.echo(f"{title} …", err=True)

    def advance(self, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if note and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            typer.echo(f"{self._running[-1][0]}: {100 * done // max(total, 1)} %, {note}", err=True)

    def finish(self, complete: bool) -> None:
        title, began = self._running.pop()
        outcome = duration(time.monotonic() - began) if complete else "not finished"
        typer.echo(f"{title}: {outcome}", err=True)


class Bars:
    """A bar for each step; that of a nested step is below."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: Progress | None = None
        self._running: list[TaskID] = []

    def start(self, title: str) -> None:
        if self._bars is None:
            self._bars = _new_bars(self._console)
            self._bars.start()
        self._running.append(self._bars.add_task(title, total=None, note=""))

    def advance(self, done: int, total: int, note: str = "") -> None:
        assert self._bars is not None
        self._bars.update(self._running[-1], completed=done, total=total, note=note)

    def finish(self, complete: bool) -> None:
        assert self._bars is not None
        task = self._running.pop()
        if complete:
            self._bars.update(task, completed=1, total=1)
        if not self._running:
            self._bars.stop()
            self._bars = None


def _new_bars(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class Remaining(TimeRemainingColumn):
        def render(self, task: Task) -> Text:
            return Text() if task.finished else Text.assemble(super().render(task), " left")

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(min_width=28)),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        Remaining(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
    )
