"""Batches: what is in them, in which order, and that every example is seen once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from treetop.neural import batches
from treetop.neural.batches import Examples, Ragged, mixed_plan, sorted_plan

CPU = torch.device("cpu")
TEXTS = [[5, 6, 7], [], [8], [9, 10]]
LABELS = [[0, 3], [1], [], [2]]


def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.append(0, np.cumsum([len(row) for row in rows])), np.array(
        [i for row in rows for i in row], np.int32
    )


def examples(**settings) -> Examples:
    indptr, labels = flat(LABELS)
    values = np.arange(1, 5, dtype=np.float32)
    return Examples(flat(TEXTS), sparse.csr_matrix((values, labels, indptr), shape=(4, 4)), **settings)


def test_rows_are_padded_or_cut():
    ragged = Ragged.of(np.array([0, 3, 3, 4]), np.array([5, 6, 7, 8], np.int32))
    values, lengths = ragged.padded(torch.tensor([2, 0, 1]), 2)
    assert values.tolist() == [[8, 0], [5, 6], [0, 0]]
    assert lengths.tolist() == [1, 2, 0]


def test_rows_one_after_another():
    ragged = Ragged.of(np.array([0, 3, 3, 4]), np.array([5, 6, 7, 8], np.int32))
    number, values, valid = ragged.flat(torch.tensor([2, 1, 0]), 6)
    assert number[valid].tolist() == [0, 2, 2, 2]
    assert values.tolist() == [8, 5, 6, 7, 0, 0]
    assert valid.tolist() == [True] * 4 + [False] * 2


def test_a_batch_has_the_tokens_and_labels_of_its_rows():
    (batch,) = examples().batches([np.array([3, 0, 2])], CPU)
    assert batch.tokens[:, :3].tolist() == [[9, 10, 0], [5, 6, 7], [8, 0, 0]]
    assert batch.lengths.tolist() == [2, 3, 1]
    assert batch.rows.tolist() == [3, 0, 2]
    parts = batch.positives.texts, batch.positives.labels, batch.positives.weights
    found = zip(*map(torch.Tensor.tolist, parts), strict=True)
    assert [entry for entry in found if entry[2]] == [(0, 2, 4.0), (1, 0, 1.0), (1, 3, 2.0)]


def test_every_text_as_wide_as_is_asked_for():
    (batch,) = examples(width=2).batches([np.array([0, 1])], CPU)
    assert batch.tokens.tolist() == [[5, 6], [0, 0]]
    assert batch.lengths.tolist() == [2, 0]


def test_examples_without_labels_and_without_rows():
    tokens = np.array([0, 1]), np.array([4], np.int32)
    (batch,) = Examples(tokens).batches([np.array([0])], CPU)
    assert batch.positives is None
    assert list(Examples(tokens).batches([], CPU)) == []


def test_batches_made_ahead_are_the_same(monkeypatch):
    plan = [np.array([3, 0]), np.array([2]), np.array([1])]
    wanted = [batch.tokens.tolist() for batch in examples().batches(plan, CPU)]
    monkeypatch.setattr(Examples, "parts_on", lambda self, device: None)
    assert [batch.tokens.tolist() for batch in examples().batches(plan, CPU)] == wanted
    left = examples().batches(plan * 10, CPU)
    next(left)
    left.close()  # the thread ends, though nobody takes what it has made


def test_an_error_while_batches_are_made_is_raised(monkeypatch):
    monkeypatch.setattr(Examples, "parts_on", lambda self, device: None)
    with pytest.raises(IndexError):
        list(examples().batches([np.array([99])], CPU))


@pytest.mark.parametrize("count", [1, 63, 64, 1000])
def test_every_row_once_in_an_epoch(count):
    lengths = np.random.default_rng(0).integers(0, 50, count)
    for plan in (mixed_plan(lengths, 8, seed=1, epoch=2), sorted_plan(lengths, 8)):
        assert sorted(np.concatenate(plan)) == list(range(count))
        assert all(0 < len(rows) <= 8 for rows in plan)


def test_texts_of_like_length_are_together_and_epochs_differ():
    lengths = np.random.default_rng(0).integers(0, 500, 2000)
    plan = mixed_plan(lengths, 20, seed=0, epoch=0)
    assert np.mean([np.ptp(lengths[rows]) for rows in plan]) < 50 < batches.POOL * 10
    again, other = mixed_plan(lengths, 20, seed=0, epoch=0), mixed_plan(lengths, 20, seed=0, epoch=1)
    assert all(map(np.array_equal, plan, again))
    assert not all(map(np.array_equal, plan, other))
    assert not all(map(np.array_equal, plan, mixed_plan(lengths, 20, seed=1, epoch=0)))
