"""LibMultiLabel's text files: ``id<TAB>label label<TAB>text`` on each line, or without ids.

Labels are separated by white space, quotes are ordinary characters, and empty lines are skipped.
"""

from __future__ import annotations

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input
from .examples import Examples
from .options import ReadOptions

_COLUMNS = (2, 3)
_LOOKED_AT = 100
"""Lines looked at to recognise the format."""


def read(source: Input, options: ReadOptions) -> Dataset:
    examples = Examples(source.name, options.need_labels)
    expected = 0
    for line, content in source.lines():
        if not content.strip():
            continue
        cells = content.split("\t")
        expected = expected or len(cells)
        if len(cells) != expected or expected not in _COLUMNS:
            columns = "2 or 3" if expected not in _COLUMNS else str(expected)
            raise DataError(
                f"{examples.place(line)}: has {len(cells)} cells instead of {columns}; write [id<TAB>]labels"
                "<TAB>text"
            )
        id = cells[0] if expected == 3 and options.id is not None else None
        examples.append(line, cells[-1], id)
        labels = cells[-2].split(options.label_separator)
        examples.labels.append(name for label in labels if (name := label.strip()))
    return examples.build()


def columns_in(source: Input) -> int:
    """2 or 3 if the first lines can be in this format, else 0.

    They have as many cells, ids differ from each other, and no list of labels is longer than all texts.
    """
    rows = [line.split("\t") for line in source.head(_LOOKED_AT) if line.strip()]
    counts = {len(row) for row in rows}
    if len(counts) != 1 or not counts <= set(_COLUMNS):
        return 0
    if len(rows[0]) == 3 and len({row[0] for row in rows}) < len(rows):
        return 0
    words = [sum(len(row[column].split()) for row in rows) for column in (-2, -1)]
    return len(rows[0]) if words[0] <= words[1] else 0
