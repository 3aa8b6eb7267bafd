"""Statistics of a data set: sizes, the long tail of its labels, duplicates, and what a test split shares."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from ..errors import DataError
from ..strings import Strings
from .dataset import Dataset

Counts = npt.NDArray[np.int64]

_BUCKETS = ((1, 1), (2, 5), (6, 10), (11, 100), (101, 1000), (1001, None))


@dataclass(frozen=True)
class CountSummary:
    """A distribution of counts in three numbers; 0 if it is empty."""

    mean: float
    median: float
    max: int


@dataclass(frozen=True)
class Bucket:
    """The labels with a number of texts in some range."""

    texts: str
    """"1", "2-5", … ">1000"."""
    labels: int
    share_of_occurrences: float


@dataclass(frozen=True)
class DatasetComparison:
    """A second split, compared with the first."""

    examples: int
    duplicate_texts: int | None
    """Texts of the second split that are also in the first; None without texts."""
    unseen_labels: int
    """Labels used in the second split and never in the first."""
    unseen_occurrences: int
    """The number of times that they are used."""
    unseen_share: float
    """Their share of the second split's label occurrences, which no model trained on the first can find."""
    excluded_pairs: int = 0
    """Pairs of a text and a label of the second split that are left out of evaluation."""


@dataclass(frozen=True)
class Statistics:
    """What `describe` returns. Statistics of texts are None if the data have only features."""

    source: str
    examples: int
    features: int | None
    labels: int
    """Labels in the vocabulary."""
    labels_used: int
    occurrences: int
    """The number of pairs of a text and one of its labels."""
    labels_per_text: CountSummary
    texts_without_labels: int
    relevance: tuple[float, float] | None
    """The smallest and the largest relevance of a label; None: all are 1."""
    texts_per_label: CountSummary
    """Over the labels that are used."""
    buckets: tuple[Bucket, ...]
    head_share: float
    """The share of occurrences that belong to the most frequent tenth of the used labels."""
    words_per_text: CountSummary | None
    empty_texts: int | None
    duplicate_texts: int | None
    """Texts that repeat an earlier one exactly."""
    excluded_pairs: int = 0
    """Pairs of a text and a label that are left out of evaluation."""
    label_texts: bool = False
    """Whether the labels have texts of their own."""
    label_features: bool = False
    """Whether the labels have features of their own."""
    other: DatasetComparison | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dictionaries, ready for JSON."""
        return dataclasses.asdict(self)


def describe(dataset: Dataset, other: Dataset | None = None) -> Statistics:
    """The statistics of a data set and, with ``other`` (a test split), what the two have in common."""
    counts = dataset.label_counts
    used = np.sort(counts[counts > 0])[::-1]
    occurrences = int(used.sum())
    per_text = np.zeros(len(dataset), np.int64) if dataset.Y is None else np.diff(dataset.Y.indptr)
    head = int(used[: math.ceil(len(used) / 10)].sum())
    words = None if dataset.texts is None else word_counts(dataset.texts)
    hashes = None if dataset.texts is None else _hashes(dataset.texts)
    return Statistics(
        source=dataset.source,
        examples=len(dataset),
        features=None if dataset.X is None else int(dataset.X.shape[1]),
        labels=len(dataset.labels),
        labels_used=len(used),
        occurrences=occurrences,
        labels_per_text=_summary(per_text),
        texts_without_labels=int((per_text == 0).sum()),
        relevance=None
        if dataset.relevance is None
        else (float(dataset.relevance.data.min()), float(dataset.relevance.data.max())),
        texts_per_label=_summary(used),
        buckets=frequency_buckets(used),
        head_share=_share(head, occurrences),
        words_per_text=None if words is None else _summary(words),
        empty_texts=None if words is None else int((words == 0).sum()),
        duplicate_texts=None if hashes is None else len(hashes) - len(np.unique(hashes)),
        excluded_pairs=dataset.excluded_pairs,
        label_texts=dataset.label_texts is not None,
        label_features=dataset.label_features is not None,
        other=None if other is None else _compare(dataset, other, hashes),
    )


def word_counts(texts: Strings) -> Counts:
    """The number of words, separated by white space, of every text."""
    return np.fromiter((len(text.split()) for text in texts), np.int64, len(texts))


def long_tail_plot(counts: npt.ArrayLike, width: int = 64, height: int = 14) -> str:
    """Texts per label over the label's rank, both logarithmic, as ``height`` lines of at most ``width``.

    A braille character is a grid of 2 × 4 dots. Dot column c of C shows the label of rank n^(c/(C−1)), at the
    height log f / log f_max of its frequency f.
    """
    used = np.sort(np.asarray(counts, np.int64))[::-1]
    used = used[used > 0]
    if not len(used):
        raise DataError("no label is used, so there is no tail to plot; give labelled data")
    top, last = f"{used[0]:,}", f"{len(used):,}"
    gutter = max(len(top), len("texts"))
    columns, rows = width - gutter - 2, height - 2
    if rows < 2 or columns < len(last) + len("rank") + 4:
        raise DataError(f"a plot of {width} × {height} characters is too small; make it larger")

    dots = np.zeros((4 * rows, 2 * columns), bool)
    ranks = np.rint(len(used) ** np.linspace(0, 1, 2 * columns)).astype(np.int64)
    heights = np.log(used[ranks - 1]) / max(math.log(used[0]), 1e-9)
    levels = np.rint(heights * (4 * rows - 1)).astype(np.int64)
    above = levels[0]
    for column, level in enumerate(levels):
        dots[level : max(above, level + 1), column] = True  # joined to the column on the left
        above = level
    lines = []
    for row in reversed(range(rows)):
        # Bits of U+2800…U+28FF: dots 1-3 and 7 down the left side, 4-6 and 8 down the right.
        cells = dots[4 * row : 4 * row + 4][::-1].reshape(4, columns, 2)
        bits = np.tensordot(cells, [[1, 8], [2, 16], [4, 32], [64, 128]], ([0, 2], [0, 1]))
        name = {rows - 1: top if used[0] > 1 else "", rows - 2: "texts", 0: "1"}.get(row, "")
        lines.append(f"{name:>{gutter}} │" + "".join(chr(0x2800 + bit) for bit in bits.tolist()))
    axis = f"1{'label rank' if columns > len(last) + 14 else 'rank':^{columns - len(last) - 1}}{last}"
    return "\n".join([*lines, f"{'':>{gutter}} └{'─' * columns}", f"{'':>{gutter}}  {axis}"])


def _summary(counts: Counts) -> CountSummary:
    if not len(counts):
        return CountSummary(0.0, 0.0, 0)
    return CountSummary(float(counts.mean()), float(np.median(counts)), int(counts.max()))


def frequency_buckets(used: Counts) -> tuple[Bucket, ...]:
    """The long tail in a few numbers: used labels by their number of texts."""
    buckets = []
    for low, high in _BUCKETS:
        inside = used[(used >= low) & (used <= (high or used.max(initial=0)))]
        name = f">{low - 1}" if high is None else f"{low}-{high}" if high > low else str(low)
        buckets.append(Bucket(name, len(inside), _share(int(inside.sum()), int(used.sum()))))
    return tuple(buckets)


def _compare(first: Dataset, second: Dataset, hashes: npt.NDArray[np.uint64] | None) -> DatasetComparison:
    seen = {name for name, count in zip(first.labels, first.label_counts.tolist(), strict=True) if count}
    pairs = zip(second.labels, second.label_counts.tolist(), strict=True)
    unseen = [count for name, count in pairs if count and name not in seen]
    return DatasetComparison(
        examples=len(second),
        duplicate_texts=None
        if hashes is None or second.texts is None
        else int(np.isin(_hashes(second.texts), hashes).sum()),
        unseen_labels=len(unseen),
        unseen_occurrences=sum(unseen),
        unseen_share=_share(sum(unseen), 0 if second.Y is None else second.Y.nnz),
        excluded_pairs=second.excluded_pairs,
    )


def _hashes(texts: Strings) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of every text; a false duplicate among ten million texts has a probability of 3e-6."""
    buffer = np.ascontiguousarray(texts.buffer).data
    bounds = pairwise(texts.offsets.tolist())
    return np.fromiter((xxhash.xxh3_64_intdigest(buffer[a:b]) for a, b in bounds), np.uint64, len(texts))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
