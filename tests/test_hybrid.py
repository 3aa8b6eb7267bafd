"""The hybrid against its two halves, each trained on its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop import Dataset, Strings
from treetop.data.held_out import held_out_if_possible, split_rows
from treetop.errors import ConfigError
from treetop.methods import hybrid

SMALL = {"leaf_size": 5, "branching": 3}


def halves(X, Y):
    return treetop.make("xr-linear", **SMALL).fit(X, Y), treetop.make("neighbours").fit(X, Y)


def test_a_given_weight_adds_up_the_two_scores():
    X, Y = planted(300, 20, 60, seed=0)
    queries = planted(40, 20, 60, seed=1)[0]
    model = treetop.make("hybrid", weight=0.4, **SMALL).fit(X, Y)
    linear, neighbours = (half.predict(queries, k=20).to_csr().toarray() for half in halves(X, Y))
    both = 0.6 * np.sqrt(linear) + 0.4 * neighbours
    predictions = model.predict(queries, k=3)
    for row, answers in enumerate(predictions):
        expected = np.sort(both[row])[::-1][:3]
        np.testing.assert_allclose([score for _, score in answers], expected, rtol=1e-5)
        np.testing.assert_allclose([both[row, int(label)] for label, _ in answers], expected, rtol=1e-5)


def test_without_weight_it_is_the_linear_model_and_keeps_no_neighbours():
    X, Y = planted(300, 20, 60, seed=0)
    model = treetop.make("hybrid", weight=0, **SMALL).fit(X, Y)
    expected = halves(X, Y)[0].predict(X)
    np.testing.assert_array_equal(model.predict(X).indices, expected.indices)
    np.testing.assert_array_equal(model.predict(X).scores, expected.scores)
    assert model.neighbours is None and "members" not in model._state()


def test_the_learned_weight_ranks_held_out_examples_best():
    X, Y = planted(400, 30, 40, seed=2)
    model = treetop.make("hybrid", validation=0.4, seed=3, **SMALL).fit(X, Y)
    rows, held_out = split_rows(400, 0.4, 3)
    lists = []
    for half in (treetop.make("xr-linear", seed=3, **SMALL), treetop.make("neighbours")):
        lists.append(half.fit(X[rows], Y[rows]).predict(X[held_out], k=30).to_csr().toarray())
    truth = Dataset.from_matrices(X[held_out], Y[held_out])
    names = Strings.numbers(30)
    quality = {}
    for weight in (0.0, *hybrid.GRID):
        both = sparse.csr_matrix((1 - weight) * np.sqrt(lists[0]) + weight * lists[1])
        predictions = treetop.Predictions.from_csr(both, names).top(5)
        quality[weight] = treetop.evaluate(predictions, truth)
    harmless = [w for w in quality if all(quality[w][name] >= quality[0][name] for name in hybrid.KEPT)]
    assert model.weight == max(harmless, key=lambda weight: quality[weight]["nDCG@5"])
    assert 0 < model.weight < 1


def test_neighbours_that_do_not_help_are_left_out():
    """Every label has a word of its own: the linear model makes no mistake."""
    words = np.arange(1200) % 4
    texts = [f"word{word} noise{row % 97} noise{row % 89}" for row, word in enumerate(words)]
    labels = [f"label{word}" for word in words]
    model = treetop.make("hybrid").fit(texts, labels)
    assert model.weight == 0 and model.neighbours is None


def test_too_few_examples_to_learn_a_weight_from():
    X, Y = planted(300, 20, 60, seed=0)
    model = treetop.make("hybrid", **SMALL).fit(X, Y)
    assert model.weight == 0 and model.neighbours is None


def test_groups_stay_on_one_side():
    groups = np.arange(200) // 5
    dataset = Dataset.from_texts(["text"] * 200, ["a"] * 200, groups=[str(group) for group in groups])
    rows, held_out = held_out_if_possible(dataset, 0.1, seed=0)
    assert len(rows) + len(held_out) == 200 and len(held_out) == 20
    assert not set(groups[rows]) & set(groups[held_out])
    one_group = Dataset.from_texts(["text"] * 50, ["a"] * 50, groups=["same"] * 50)
    assert len(held_out_if_possible(one_group, 0.1, seed=0)[1]) == 5


def test_the_tree_and_negatives_of_the_caller_are_used():
    X, Y = planted(400, 12, 40, seed=2)
    tree = treetop.LabelTree.flat(np.arange(12, dtype=np.int32))
    model = treetop.make("hybrid", validation=0.4, negatives="tfn+given")
    model.fit(Dataset.from_matrices(X, Y), tree=tree, negatives=np.ones((400, 12), np.float32))
    assert model.tree.sizes == [12]


def test_scores_must_be_comparable():
    with pytest.raises(ConfigError, match="transform=raw"):
        treetop.make("hybrid", last_transform="raw")
    with pytest.raises(ConfigError, match="weight must be at most 1"):
        treetop.make("hybrid", weight=1.5)
