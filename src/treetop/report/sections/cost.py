"""Time and memory."""

from __future__ import annotations

from ...units import file_size, three_digits
from .. import charts
from ..blocks import Block, Chart, Section, Table, Text
from ..subject import Evidence


def cost(evidence: Evidence) -> Section | None:
    """Time and memory; None where nothing is known of them."""
    columns: list[tuple[str, list[str]]] = []
    costs = [subject.cost for subject in evidence.subjects]

    def add(title: str, cells: list[str]) -> None:
        if any(cells):
            columns.append((title, cells))

    add("training, s", [_digits(item.train_seconds) for item in costs])
    add("peak of training", [_size(item.train_peak) for item in costs])
    add("loading, s", [_digits(item.load_seconds) for item in costs])
    add("ms a text, all at once", [_digits(item.many) for item in costs])
    add("ms one text, median", [_digits(item.one) for item in costs])
    add("ms one text, 95 % below", [_digits(item.slow) for item in costs])
    add("memory", [_size(item.added) for item in costs])
    add("stored", [_size(item.size) for item in costs])
    add("parameters", ["" if item.parameters is None else f"{item.parameters:,}" for item in costs])
    if not columns:
        return None
    names = [subject.name for subject in evidence.subjects]
    rows = [[name, *(cells[place] for _, cells in columns)] for place, name in enumerate(names)]
    blocks: list[Block] = [
        Text(
            "Answers were timed on the machine that made this report; training was timed when the model was"
            " made, and its peak is the memory of the whole process. “Memory” is what loading the model and"
            " answering all texts added at most. What is empty was not recorded."
        )
    ]
    timed = [
        {"model": name, "milliseconds": item.many, "value": evidence.scores[place][evidence.leading].value}
        for place, (name, item) in enumerate(zip(names, costs, strict=True))
        if item.many
    ]
    if len(timed) > 1:
        spec = charts.cost(timed, names, evidence.leading)
        blocks.append(Chart("cost", f"{evidence.leading} against the time of a text", spec))
    blocks.append(Table("Time and memory", ["model", *(title for title, _ in columns)], rows))
    return Section("cost", "Time and memory", blocks)


def _digits(value: float | None) -> str:
    return "" if value is None else three_digits(value)


def _size(value: int | None) -> str:
    return "" if value is None else file_size(value)
