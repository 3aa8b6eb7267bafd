"""Annif's short-text corpus: ``text<TAB><uri> <uri>``, one example per line; empty lines are skipped.

Ids and groups are not written. Line breaks and tabs in a text become spaces.
"""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .examples import Examples, check_one_word_labels, label_sets, one_line
from .options import ReadOptions, WriteOptions

LINE = re.compile(r"[^\t]*\t(\s*<[^<>\s]+>)+\s*")
"""A line that can only be in this format."""


def read(source: Input, options: ReadOptions) -> Dataset:
    examples = Examples(source.name, options.need_labels)
    for line, content in source.lines():
        if not content:
            continue
        text, tab, subjects = content.partition("\t")
        if not tab and options.need_labels:
            raise DataError(f"{examples.place(line)}: no tab between the text and its subjects; add one")
        examples.append(line, text)
        examples.labels.append(label for subject in subjects.split() if (label := subject.strip("<>")))
    return examples.build()


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    assert dataset.texts is not None
    check_one_word_labels(dataset, "annif", forbidden="<>")
    file = output.text(path)
    for text, labels in zip(dataset.texts, label_sets(dataset), strict=True):
        file.write(one_line(text) + "\t" + " ".join(f"<{label}>" for label in labels) + "\n")
