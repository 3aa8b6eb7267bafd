"""The statistics of a data set, by hand, and the plot of its long tail."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import treetop
from treetop.data import Dataset, describe, long_tail_plot
from treetop.errors import DataError


def test_statistics_by_hand():
    train = Dataset.from_texts(
        ["a b c", "a b c", "", "x"] + [f"text {row}" for row in range(8)],
        [["p", "q"], ["p"], [], ["p", "r"]] + [["s"]] * 8,
    )
    train = train.aligned_to(treetop.Strings.of(["never", *train.labels]))
    test = Dataset.from_texts(["x", "y", "a b c"], [["p", "new"], ["new"], ["never", "s"]])
    figures = describe(train, test)
    assert (figures.examples, figures.labels, figures.labels_used, figures.occurrences) == (12, 5, 4, 13)
    assert figures.labels_per_text == type(figures.labels_per_text)(13 / 12, 1.0, 2)
    assert figures.texts_without_labels == 1
    assert dataclasses.astuple(figures.texts_per_label) == (13 / 4, 2.0, 8)  # 1, 1, 3, 8
    buckets = {bucket.texts: (bucket.labels, bucket.share_of_occurrences) for bucket in figures.buckets}
    assert buckets == {
        "1": (2, 2 / 13), "2-5": (1, 3 / 13), "6-10": (1, 8 / 13), "11-100": (0, 0), "101-1000": (0, 0),
        ">1000": (0, 0),
    }  # fmt: skip
    assert figures.head_share == 8 / 13
    assert dataclasses.astuple(figures.words_per_text) == (23 / 12, 2.0, 3)
    assert (figures.empty_texts, figures.duplicate_texts) == (1, 1)
    assert dataclasses.astuple(figures.other) == (3, 2, 2, 3, 3 / 5, 0)
    assert json.loads(json.dumps(figures.to_dict()))["other"]["unseen_labels"] == 2


def test_statistics_of_features_and_of_unlabelled_texts():
    figures = describe(Dataset.from_matrices(np.eye(3), np.eye(3)[:, :2]))
    assert (figures.features, figures.words_per_text, figures.duplicate_texts) == (3, None, None)
    assert figures.relevance is None
    assert describe(Dataset.from_matrices(np.eye(3), np.diag([2, 1, 0.5]))).relevance == (0.5, 2)
    figures = describe(Dataset.from_texts(["a"]))
    assert (figures.labels, figures.head_share, figures.texts_without_labels) == (0, 0.0, 1)


def test_long_tail_plot():
    lines = long_tail_plot([0, 1, 1, 10, 100, 1000], width=32, height=10).splitlines()
    assert len(lines) == 10 and max(map(len, lines)) == 32
    assert lines[0].startswith("1,000 │") and lines[7].startswith("    1 │")
    assert lines[-1].split() == ["1", "rank", "5"] or lines[-1].split() == ["1", "label", "rank", "5"]
    cells = [line.split("│")[1] for line in lines[:8]]
    assert cells[0][0] != "\u2800" and cells[-1][0] == "\u2800"  # begins at the top left
    assert cells[-1][-1] != "\u2800" and cells[0][-1] == "\u2800"  # ends at the bottom right
    for left, right in zip(cells[0], cells[0][1:], strict=False):
        assert not (left == "\u2800" and right != "\u2800")  # never rises again
    flat = long_tail_plot([1, 1, 1], width=32, height=6).splitlines()
    assert set(flat[3].split("│")[1]) == {"\u28c0"} and set(flat[2].split("│")[1]) == {"\u2800"}
    with pytest.raises(DataError, match="no label"):
        long_tail_plot([0, 0])
    with pytest.raises(DataError, match="too small"):
        long_tail_plot([1], width=8, height=8)
