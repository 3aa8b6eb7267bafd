"""Time and memory of every model."""

from __future__ import annotations

from ...units import file_size, three_digits
from .. import charts
from ..blocks import Block, Chart, Paragraph, Section, Table
from ..evidence import Evidence


def cost(evidence: Evidence) -> Section | None:
    """Time and memory; None if nothing is known about them."""
    columns: list[tuple[str, list[str]]] = []
    costs = [reported.cost for reported in evidence.models]

    def add(title: str, cells: list[str]) -> None:
        if any(cells):
            columns.append((title, cells))

    add("training, s", [_digits(item.train_seconds) for item in costs])
    add("peak memory in training", [_size(item.train_peak_bytes) for item in costs])
    add("loading, s", [_digits(item.load_seconds) for item in costs])
    add("ms per text, one call", [_digits(item.batch_milliseconds) for item in costs])
    add("ms for a single text, median", [_digits(item.single_milliseconds) for item in costs])
    add("ms for a single text, 95th percentile", [_digits(item.single_milliseconds_p95) for item in costs])
    add("memory added", [_size(item.memory_bytes) for item in costs])
    add("stored size", [_size(item.stored_bytes) for item in costs])
    add("parameters", ["" if item.parameters is None else f"{item.parameters:,}" for item in costs])
    if not columns:
        return None
    names = evidence.names
    rows = [[name, *(cells[place] for _, cells in columns)] for place, name in enumerate(names)]
    blocks: list[Block] = [
        Paragraph(
            "Predictions were timed on the machine that made this report, with all texts in one call and"
            " with single texts. Training was timed when the model was trained; its peak memory is that of"
            " the whole process. “memory added” is the peak memory added by loading the model and predicting"
            " all texts. Empty cells were not recorded."
        )
    ]
    timed = [
        {"model": name, "milliseconds": item.batch_milliseconds, "value": scores[evidence.main_metric].value}
        for name, item, scores in zip(names, costs, evidence.scores, strict=True)
        if item.batch_milliseconds
    ]
    if len(timed) > 1:
        chart = charts.cost(timed, names, evidence.main_metric)
        blocks.append(Chart("cost", f"{evidence.main_metric} against prediction time", chart))
    blocks.append(Table("Time and memory", ["model", *(title for title, _ in columns)], rows))
    return Section("cost", "Time and memory", blocks)


def _digits(value: float | None) -> str:
    return "" if value is None else three_digits(value)


def _size(value: int | None) -> str:
    return "" if value is None else file_size(value)
