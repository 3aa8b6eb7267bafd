"""Parabel, Bonsai, PLT, DiSMEC: their trees, their sums, their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import treetop
from conftest import planted
from treetop.errors import ConfigError
from treetop.linear import Forest, LinearConfig, TreeModel
from treetop.methods.tree_linear import TreeLinearConfig
from treetop.sparse import normalize_rows
from treetop.tree import TreeConfig, build_tree, trees_of
from treetop.tree.config import MANY
from treetop.tree.label_vectors import example_vectors


def test_parabel_halves_until_a_leaf_is_small_enough():
    X, Y = planted(1200, 700, 300, seed=1)
    model = treetop.make("parabel", max_passes=1, threads=2).fit(X, Y)
    trees = [member.tree for member in model.forest.models]
    used = int((model.label_counts > 0).sum())
    assert len(trees) == 3
    for tree in trees:
        assert tree.sizes == [2, 4, 8, used]
        for level in range(3):
            assert (np.diff(tree.offsets[level]) == 2).all()
            sizes = [len(tree.members(level, node)) for node in range(tree.sizes[level])]
            assert max(sizes) - min(sizes) <= 1
        assert np.diff(tree.offsets[-1]).max() <= 100
    assert trees[0].labels.tolist() != trees[1].labels.tolist()


def test_bonsai_is_wide_shallow_and_without_singletons():
    X, Y = planted(1500, 900, 400, seed=1)
    model = treetop.make("bonsai", max_passes=1, threads=2).fit(X, Y)
    assert len(model.forest.models) == 3
    for member in model.forest.models:
        tree = member.tree
        sizes = np.diff(tree.offsets[-1])
        assert tree.depth <= 3 and 10 < tree.sizes[0] <= 100
        assert sizes.min() >= 2 and sizes.max() > 2 * sizes.min()
    # No given depth: two levels of clusters for fewer than 100,000 labels.
    vectors = normalize_rows(sparse.random(600, 50, 0.2, "csr", np.float32, np.random.default_rng(0)))
    config = TreeConfig(kind="unbalanced", branching=3, leaf_size=2, depth=None)
    assert vectors.shape[0] < MANY
    assert build_tree(vectors, config, seed=0, threads=1).depth == 3
    assert build_tree(vectors, config.replace_settings({"depth": 4}), seed=0, threads=1).depth == 5


def test_label_vectors_from_co_occurrence():
    X, Y = planted(80, 10, 40, seed=5)
    dense = Y.toarray().astype(np.float64)
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True)

    def normalised(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    for share_rows in (True, False):
        weights = unit if share_rows else dense
        config = TreeConfig(vectors="co-occurrence", share_rows=share_rows)
        by_label = normalised(weights.T @ unit)
        np.testing.assert_allclose(example_vectors(config, X, Y, threads=2).toarray(), by_label, atol=1e-6)
        config = TreeConfig(vectors="both", share_rows=share_rows)
        expected = np.hstack([normalised(weights.T @ X.toarray()), by_label]) * np.sqrt(0.5)
        np.testing.assert_allclose(example_vectors(config, X, Y, threads=2).toarray(), expected, atol=1e-6)


def test_labels_that_occur_together_share_a_cluster():
    """Features are noise; only the label sets tell the two groups apart."""
    rng = np.random.default_rng(0)
    Y = np.zeros((200, 12), np.float32)
    for row in range(200):
        Y[row, rng.choice(6, 3, replace=False) + 6 * (row % 2)] = 1
    X = normalize_rows(sparse.random(200, 30, 0.3, "csr", np.float32, rng))
    config = TreeConfig(vectors="co-occurrence", levels=(2,))
    (tree,) = trees_of(X, sparse.csr_matrix(Y), config, seeds=[0], threads=1)
    assert {frozenset(tree.members(0, node)) for node in (0, 1)} == {
        frozenset(range(6)),
        frozenset(range(6, 12)),
    }


def test_trees_leave_out_labels_without_examples():
    X, Y = planted(100, 9, 40, seed=5)
    wider = sparse.hstack([sparse.csr_matrix((100, 2), dtype=np.float32), Y], format="csr")
    config = TreeConfig(leaf_size=3, branching=2)
    narrow, wide = (trees_of(X, y, config, seeds=[0, 7], threads=1) for y in (Y, wider))
    for a, b in zip(narrow, wide, strict=True):
        assert (b.labels == a.labels + 2).all() and a.sizes == b.sizes


def test_a_forest_is_the_mean_of_its_trees():
    X, Y = planted(200, 30, 60, seed=2)
    config = LinearConfig(beam=(2,), transform="l2-hinge")
    trees = trees_of(X, Y, TreeConfig(leaf_size=4, branching=2), seeds=[0, 1, 2], threads=1)
    forest = Forest.fit(X, Y, trees, config, seed=5, threads=2)
    assert [len(tree.labels) for tree in trees] == [30] * 3
    mean = np.zeros((200, 30))
    for model in forest.models:
        indptr, ids, scores = model.rank(X, 30)
        rows = np.repeat(np.arange(200), np.diff(indptr))
        mean[rows, ids] += scores / 3  # a label below a node that the beam left out is not there
    indptr, ids, scores = forest.rank(X, 4, threads=2)
    assert (np.diff(indptr) == 4).all()
    best = -np.sort(-mean, axis=1)[:, :4]
    np.testing.assert_allclose(scores.reshape(200, 4), best, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(mean, ids.reshape(200, 4), 1), best, rtol=1e-5, atol=1e-9)
    again = Forest.from_state(forest.state(), config, 60).rank(X, 4)
    assert all(np.array_equal(a, b) for a, b in zip(again, (indptr, ids, scores), strict=True))
    alone = Forest(forest.models[:1]).rank(X, 4)
    assert np.array_equal(alone[2], forest.models[0].rank(X, 4)[2])


def test_own_tree_makes_one_model():
    X, Y = planted(100, 6, 40, seed=5)
    own = treetop.LabelTree((np.array([0, 2]), np.array([0, 3, 6])), np.arange(6, dtype=np.int32))
    model = treetop.make("parabel").fit(X, Y, tree=own)
    assert model.tree is own and len(model.forest.models) == 1


def test_several_trees_need_scores_that_can_be_averaged():
    for settings in ({"transform": "raw"}, {"transform": "log-l2-hinge"}, {"last_transform": "raw"}):
        assert TreeLinearConfig().replace_settings(settings).trees == 1
        with pytest.raises(ConfigError, match="averaging several trees needs scores from 0 to 1"):
            treetop.make("parabel", **settings)


def test_probabilities_are_products_of_conditionals():
    """P(label) of a PLT from LIBLINEAR's logistic regressions, node by node on the parent's documents."""
    X, Y = planted(300, 12, 50, seed=3)
    exact = {"tolerance": 1e-8, "max_passes": 20_000, "threshold": 0.0, "weight_bits": 32}
    model = treetop.make("plt", leaf_size=3, beam=1000, **exact).fit(X, Y)
    tree = model.tree
    assert tree.sizes == [2, 4, 12]
    queries, _ = planted(40, 12, 50, seed=4)
    dense = Y.toarray() > 0
    expected = np.ones((40, 12))
    solver = LogisticRegression(C=10, solver="liblinear", dual=True, tol=1e-9, max_iter=200_000)
    for label in range(12):
        taking_part = np.ones(300, bool)
        for level, node in enumerate(tree.path(label)):
            positive = dense[:, tree.members(level, node)].any(axis=1)
            solver.fit(X[taking_part], positive[taking_part])
            expected[:, label] *= solver.predict_proba(queries)[:, 1]
            taking_part = positive
    predictions = model.predict(queries, k=12)
    got = np.zeros((40, 12))
    got[np.repeat(np.arange(40), 12), predictions.indices] = predictions.scores
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_level_discount_weakens_the_upper_levels():
    """log S_c = log T(u_c) + discount · log S_p along every path; an only child adds no decision."""
    X, Y = planted(150, 20, 50, seed=3)
    (tree,) = trees_of(X, Y, TreeConfig(leaf_size=5, branching=2), seeds=[0], threads=1)
    config = LinearConfig(transform="l2-hinge", level_discount=0.9, beam=(100,))
    model = TreeModel.fit(X, Y, tree, config)
    total = np.zeros((150, 1))
    for number, level in enumerate(model.levels):
        weights = level.to_csr(50).toarray()
        u = X.toarray() @ weights[:, :-1].T + weights[:, -1]
        total = -(np.maximum(0, 1 - u) ** 2) + 0.9 * total[:, tree.parents(number)]
    _, ids, scores = model.rank(X, 20)
    expected = np.take_along_axis(np.exp(total), np.argsort(tree.labels)[ids.reshape(150, 20)], 1)
    np.testing.assert_allclose(scores.reshape(150, 20), expected, rtol=1e-4)


def test_dismec_scores_every_label_by_its_margin():
    X, Y = planted(150, 20, 50, seed=3)
    model = treetop.make("dismec", threads=2).fit(X, Y)
    weights = model.model.levels[0].to_csr(50).toarray()
    inner = weights[:, :-1]
    assert np.abs(inner[inner != 0]).min() >= 0.01
    margins = X.toarray() @ inner.T + weights[:, -1]
    predictions = model.predict(X, k=20)
    got = np.zeros((150, 20))
    got[np.repeat(np.arange(150), 20), predictions.indices] = predictions.scores
    np.testing.assert_allclose(got, margins, atol=1e-5)
    thin = treetop.make("dismec", regulariser="l1", l1_strength=0.5, threshold=0.0).fit(X, Y)
    assert thin.model.levels[0].to_csr(50).nnz < 0.7 * np.count_nonzero(weights)
    assert thin.evaluate(treetop.Dataset.from_matrices(X, Y))["P@1"] > 80
