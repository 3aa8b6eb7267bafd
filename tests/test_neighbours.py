"""Neighbours and their votes against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop.errors import ModelError
from treetop.neighbours import Neighbours, NeighboursConfig


def rounded(X):
    """The features as the index keeps them: multiples of 1/127 of the largest of the row."""
    scales = np.maximum(abs(X).max(axis=1).toarray(), 1e-30) / 127
    return (np.rint(X.toarray() / scales) * scales).astype(np.float64)


def by_hand(X, Y, queries, config, k, skip_own=False):
    """Scores of the labels of every query, most similar documents first, equal ones by number."""
    products = queries.toarray() @ rounded(X).T
    rows = []
    for query, row in enumerate(products):
        order = [d for d in np.lexsort((np.arange(len(row)), -row)) if row[d] > 0]
        order = [d for d in order if not (skip_own and d == query)][: config.neighbours]
        votes = row[order] ** config.power
        scores = (votes[:, None] * (Y.toarray()[order] > 0)).sum(axis=0) / max(votes.sum(), 1e-30)
        best = np.lexsort((np.arange(len(scores)), -scores.astype(np.float32)))[:k]
        rows.append([(label, scores[label]) for label in best if scores[label] > 0])
    return rows


@pytest.mark.parametrize("skip_own", [False, True])
@pytest.mark.parametrize("settings", [{}, {"neighbours": 7, "power": 1.0}, {"neighbours": 5000, "power": 0}])
def test_votes_agree_with_brute_force(settings, skip_own):
    X, Y = planted(300, 30, 400, seed=0)
    Y.data *= 3.0  # weights of labels do not matter
    queries = X if skip_own else planted(80, 30, 400, seed=1)[0]
    config = NeighboursConfig(**settings)
    model = Neighbours.fit(X, Y, config, threads=2)
    indptr, labels, scores = model.rank(queries, 8, skip_own=skip_own)
    expected = by_hand(X, Y, queries, config, 8, skip_own)
    for row, answers in enumerate(expected):
        here = slice(indptr[row], indptr[row + 1])
        np.testing.assert_allclose(scores[here], [score for _, score in answers], rtol=1e-4)
        known = dict(answers)
        for label, score in zip(labels[here], scores[here], strict=True):
            if (
                label in known
            ):  # where the last scores are equal but for rounding, another label may be listed
                assert known[label] == pytest.approx(score, rel=1e-4)
            else:
                assert score == pytest.approx(answers[-1][1], rel=1e-4)


def test_nearest_are_the_largest_inner_products():
    X, Y = planted(300, 30, 400, seed=0)
    queries = planted(50, 30, 400, seed=1)[0]
    model = Neighbours.fit(X, Y, NeighboursConfig(neighbours=12))
    indptr, documents, similarities = model.nearest(queries, threads=2)
    products = queries.toarray() @ rounded(X).T
    for row in range(50):
        here = slice(indptr[row], indptr[row + 1])
        np.testing.assert_allclose(similarities[here], np.sort(products[row])[::-1][:12], rtol=1e-5)
        np.testing.assert_allclose(products[row][documents[here]], similarities[here], rtol=1e-5)


def test_values_below_zero():
    X = sparse.csr_matrix(np.array([[1, 0, 0], [-1, 0, 0], [1, -1, 0]], np.float32))
    Y = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    model = Neighbours.fit(X, Y, NeighboursConfig())
    _, documents, similarities = model.nearest(sparse.csr_matrix(np.array([[2, -1, 0]], np.float32)))
    np.testing.assert_array_equal(documents, [2, 0])  # a document that points away is no neighbour
    np.testing.assert_allclose(similarities, [3, 2], rtol=1e-6)


def test_equal_scores_go_by_number():
    X = sparse.csr_matrix(np.ones((5, 1), np.float32))
    Y = sparse.csr_matrix(np.eye(5, dtype=np.float32)[::-1])
    model = Neighbours.fit(X, Y, NeighboursConfig(neighbours=3))
    _, documents, _ = model.nearest(X[:1])
    np.testing.assert_array_equal(documents, [0, 1, 2])
    _, labels, scores = model.rank(X[:1], 2)
    np.testing.assert_array_equal(labels, [2, 3])
    np.testing.assert_allclose(scores, 1 / 3)


def test_arrays_that_do_not_fit():
    X, Y = planted(50, 6, 40, seed=0)
    state = Neighbours.fit(X, Y, NeighboursConfig()).state()
    for name, damage in {
        "norms": lambda a: a[:-1],
        "starts": lambda a: a[::-1],
        "label_ids": lambda a: a + 3,
        "codes": lambda a: a[1:],
        "rows": lambda a: a + 1,
    }.items():
        changed = state | {name: np.ascontiguousarray(damage(state[name]))}
        with pytest.raises(ModelError, match="the arrays of the neighbours do not match"):
            Neighbours.from_state(changed, NeighboursConfig(), 40, 6)


def test_method_finds_the_text_itself_first():
    texts = ["red apple pie", "green apple tart", "blue sea and sand", "deep blue sea"]
    model = treetop.make("neighbours", neighbours=1, min_df=1).fit(texts, ["pie", "tart", "beach", "sea"])
    for text, label in zip(texts, ("pie", "tart", "beach", "sea"), strict=True):
        assert model.predict(text)[0][0] == (label, 1.0)
    assert len(model.predict("nothing known")[0]) == 0  # no neighbour, no answer
