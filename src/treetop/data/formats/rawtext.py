"""Raw texts as AttentionXML and LightXML keep them: two files with a line for each example.

``train_raw_texts.txt`` (or ``train_texts.txt``) has the texts, ``train_labels.txt`` the labels, separated
by white space. The path is the texts file, or the folder together with a split. Ids and groups are not
written. Line breaks and tabs in a text become spaces.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from ...errors import DataError
from ...units import counted
from ..compression import SUFFIXES
from ..dataset import Dataset
from ..files import Input, Output, with_any_suffix
from .examples import Examples, check_one_word_labels, label_sets
from .options import ReadOptions, WriteOptions
from .splits import choose_split
from .txt import write_texts

_SUFFIX = "|".join(map(re.escape, SUFFIXES))
TEXTS_FILE = re.compile(rf"(?P<split>.+?)_(raw_)?texts\.txt(?P<suffix>{_SUFFIX})?")


def read(source: Input, options: ReadOptions) -> Dataset:
    texts_path = _in_folder(source, options.split) if source.is_folder else source.file_path()
    labels_path = with_any_suffix(texts_path.with_name(f"{_match(texts_path)['split']}_labels.txt"))
    if labels_path is None and options.need_labels:
        raise DataError(
            f"{texts_path}: no {_match(texts_path)['split']}_labels.txt next to it; labels are needed"
        )
    with Input(texts_path) as texts:
        examples = Examples(texts.name, options.need_labels)
        if labels_path is None:
            for line, text in texts.lines():
                examples.append(line, text)
            return examples.build()
        with Input(labels_path) as labels:
            _read_pairs(texts, labels, examples)
    return examples.build()


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    check_one_word_labels(dataset, "rawtext")
    if path.is_dir() or not path.suffix:
        output.folder(path)
        path /= f"{options.split or 'train'}_raw_texts.txt"
    match = _match(path)
    write_texts(dataset, path, output)
    if dataset.Y is not None:
        labels_file = output.text(path.with_name(f"{match['split']}_labels.txt{match['suffix'] or ''}"))
        for labels in label_sets(dataset):
            labels_file.write(" ".join(labels) + "\n")


def _read_pairs(texts: Input, labels: Input, examples: Examples) -> None:
    counts = [0, 0]
    for text, names in zip_longest(texts.lines(), labels.lines()):
        counts[0] += text is not None
        counts[1] += names is not None
        if text is not None and names is not None:
            examples.append(*text)
            examples.labels.append(names[1].split())
    if counts[0] != counts[1]:
        raise DataError(
            f"{texts.name} has {counted(counts[0], 'line')} but {labels.name} has {counts[1]:,};"
            " they must agree"
        )


def _in_folder(source: Input, wanted: str | None) -> Path:
    assert source.path is not None
    names = sorted(entry.name for entry in source.path.iterdir())
    # Sorted, "x_raw_texts.txt" comes before "x_texts.txt": raw texts win over pre-processed ones.
    files: dict[str, str] = {}
    for name in names:
        if match := TEXTS_FILE.fullmatch(name):
            files.setdefault(match["split"], name)
    return source.path / files[choose_split(source.name, list(files), wanted)]


def _match(path: Path) -> re.Match[str]:
    match = TEXTS_FILE.fullmatch(path.name)
    if match is None:
        raise DataError(
            f"{path}: rawtext files are named <split>_raw_texts.txt or <split>_texts.txt; rename it"
        )
    return match
