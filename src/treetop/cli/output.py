"""The standard output of commands: tables and text for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import DataError, not_written

if TYPE_CHECKING:
    from rich.console import Console

_UNBOUNDED = 100_000
"""Width in characters where the output is not a terminal: nothing is wrapped or cut."""


def show(text: str = "") -> None:
    """Plain text, exactly as given."""
    typer.echo(text)


def heading(text: str) -> None:
    """A line in bold, where the terminal supports it."""
    from rich.text import Text

    _console().print(Text(text, style="bold"))


def show_table(
    rows: Iterable[Sequence[str]], header: Sequence[str] = (), *, right: Sequence[int] = ()
) -> None:
    """A table; the columns whose numbers are in ``right`` are aligned right."""
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    table = Table(box=None, show_header=bool(header), pad_edge=False, padding=(0, 2, 0, 0))
    for column in range(max(map(len, [*rows, header]), default=0)):
        title = Text(header[column]) if header else ""
        table.add_column(title, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = _console()
    with console.capture() as captured:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def show_json(value: Any) -> None:
    typer.echo(to_json(value))


def to_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def check_output(path: Path | None) -> None:
    """Rejects a file that could not be written, before the work begins."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise DataError(f"{path}: is a folder, not a file; add a file name")
    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist; create it first")


def write_text(path: Path, text: str) -> None:
    """Writes a text file, which appears under its name only when complete; ``-`` is standard output."""
    from ..data.files import Output

    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    try:
        with Output() as output:
            output.text(path).write(text)
    except OSError as error:
        raise not_written(path, error) from None


def _console() -> Console:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_UNBOUNDED)
