"""fastText: ``__label__x __label__y the text``; a word with that prefix is a label anywhere in the line.

Words are separated by ASCII white space, as fastText reads them. Every line is an example. Ids and groups are
not written. Line breaks and tabs in a text become spaces.
"""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .examples import Examples, label_sets, one_line
from .options import ReadOptions, WriteOptions

PREFIX = "__label__"
_WHITE = " \t\n\v\f\r\0"
_LEADING = re.compile(rf"{PREFIX}([^{_WHITE}]+)(?:[{_WHITE}]|$)")
_INSIDE = re.compile(rf"(?:^|[{_WHITE}]+){PREFIX}([^{_WHITE}]+)")


def read(source: Input, options: ReadOptions) -> Dataset:
    examples = Examples(source.name, options.need_labels)
    for line, content in source.lines():
        labels, start = [], 0
        while match := _LEADING.match(content, start):
            labels.append(match[1])
            start = match.end()
        text = content[start:]
        if PREFIX in text:
            labels += _INSIDE.findall(text)
            text = _INSIDE.sub("", text)
        examples.append(line, text)
        examples.labels.append(labels)
    return examples.build()


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    assert dataset.texts is not None
    for name in dataset.labels:
        if any(character in _WHITE for character in name):
            raise DataError(
                f"the label {name!r} cannot be written as fasttext: it contains white space; write jsonl"
            )
    file = output.text(path)
    for row, (text, labels) in enumerate(zip(dataset.texts, label_sets(dataset), strict=True)):
        line = one_line(text)
        if PREFIX in line and _INSIDE.search(line):
            raise DataError(
                f"the text of row {row} contains a word that begins with {PREFIX}, as labels do in fasttext;"
                " write jsonl"
            )
        file.write("".join(f"{PREFIX}{label} " for label in labels) + line + "\n")
