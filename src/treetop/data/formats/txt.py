"""Plain text: one text per line, no labels. An empty line is an empty text, so that rows are lines."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .examples import Examples, one_line
from .options import ReadOptions, WriteOptions


def read(source: Input, options: ReadOptions) -> Dataset:
    if options.need_labels and source.first_line():
        raise DataError(
            f"{source.name}: plain text has no labels; if the format is another one, name it with --format"
        )
    examples = Examples(source.name, options.need_labels)
    for line, text in source.lines():
        examples.append(line, text)
    return examples.build()


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    write_texts(dataset, path, output)


def write_texts(dataset: Dataset, path: Path, output: Output) -> None:
    assert dataset.texts is not None
    file = output.text(path)
    for text in dataset.texts:
        file.write(one_line(text) + "\n")
