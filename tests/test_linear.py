"""Weights against LIBLINEAR, rankings against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from conftest import planted
from treetop import LabelTree
from treetop.errors import ConfigError, DataError
from treetop.linear import LinearConfig, TreeModel
from treetop.tree import TreeConfig, build_tree
from treetop.tree.label_vectors import pifa

TIGHT = LinearConfig(tolerance=1e-8, max_passes=10_000, threshold=0.0, weight_bits=32)


def small_tree(X, Y, **settings):
    settings = {"branching": 3, "leaf_size": 5} | settings
    return build_tree(pifa(X, Y, share_rows=True, threads=1), TreeConfig(**settings), seed=0, threads=1)


def coarse(Y, tree, level):
    """Y at a level of the tree, by matrix products."""
    matrix = Y[:, tree.labels]
    for C in reversed(tree.chain()[level + 1 :]):
        matrix = matrix @ C
    return np.asarray(matrix.toarray())


def liblinear(X, targets, config, costs=None):
    """Weights and bias of LIBLINEAR's dual L2-loss solver; it needs both classes."""
    solver = LinearSVC(C=1.0, dual=True, tol=1e-9, max_iter=200_000, intercept_scaling=config.bias)
    weights = np.where(targets > 0, config.cost_positive, config.cost_negative)
    if costs is not None:
        weights = weights * np.where(targets > 0, costs, 1.0)
    solver.fit(X, targets, sample_weight=weights)
    return np.append(solver.coef_[0], solver.intercept_[0])


@pytest.mark.parametrize(
    "settings", [{}, {"cost_positive": 4.0, "cost_negative": 0.5}, {"costs": "all"}, {"costs": "last"}]
)
def test_weights_agree_with_liblinear_at_every_level(settings):
    X, Y = planted(150, 20, 50, seed=3)
    Y.data *= np.random.default_rng(0).integers(1, 3, Y.nnz)  # relevance weights
    config = TIGHT.replace_settings(settings)
    tree = small_tree(X, Y)
    model = TreeModel.fit(X, Y, tree, config, threads=2)
    assert tree.depth == 3
    compared = 0
    for level in range(tree.depth):
        weights = model.levels[level].to_csr(X.shape[1]).toarray()
        R = coarse(Y, tree, level)
        parents = tree.parents(level)
        taking_part = np.ones((150, 1)) if level == 0 else coarse(Y, tree, level - 1)
        last = level + 1 == tree.depth
        for node in range(R.shape[1]):
            if (parents == parents[node]).sum() == 1 and not last:
                continue
            rows = np.flatnonzero(taking_part[:, parents[node]])
            targets = np.where(R[rows, node] > 0, 1, -1)
            if len(set(targets)) == 1:
                continue
            costs = None
            if config.costs == "all" or (config.costs == "last" and last):
                costs = R[rows, node] / R[rows].sum(axis=1)
            expected = liblinear(X[rows], targets, config, costs)
            np.testing.assert_allclose(weights[node], expected, atol=2e-4)
            compared += 1
    assert compared > 20


def test_without_bias():
    X, Y = planted(80, 6, 30, seed=4)
    config = TIGHT.replace_settings({"bias": 0.0})
    model = TreeModel.fit(X, Y, LabelTree.flat(np.arange(6, dtype=np.int32)), config)
    weights = model.levels[0].to_csr(30).toarray()
    assert (weights[:, -1] == 0).all()
    solver = LinearSVC(dual=True, tol=1e-9, max_iter=100_000, fit_intercept=False)
    for label in range(6):
        solver.fit(X, np.where(Y.toarray()[:, label] > 0, 1, -1))
        np.testing.assert_allclose(weights[label, :-1], solver.coef_[0], atol=2e-4)


def test_threshold_drops_small_weights_only():
    X, Y = planted(150, 20, 50, seed=3)
    tree = small_tree(X, Y)
    full = TreeModel.fit(X, Y, tree, LinearConfig(threshold=0.0, weight_bits=32))
    pruned = TreeModel.fit(X, Y, tree, LinearConfig(threshold=0.2, weight_bits=32))
    for whole, thin in zip(full.levels, pruned.levels, strict=True):
        expected = whole.to_csr(50).toarray()
        expected[:, :-1][np.abs(expected[:, :-1]) < 0.2] = 0
        np.testing.assert_array_equal(thin.to_csr(50).toarray(), expected)


def all_scores(model, X, transform):
    """Scores of all labels by dense algebra: the product (or the rule) along every path."""
    tree, U = model.tree, []
    for level in model.levels:
        U.append(X.toarray().astype(np.float64) @ level.to_csr(X.shape[1]).toarray()[:, :-1].T + level.biases)
    name = transform.removeprefix("log-").removesuffix("-noisy-or")

    def t(u):
        if name == "raw":
            return u
        if name == "sigmoid":
            return 1 / (1 + np.exp(-u))
        return np.exp(-(np.maximum(0, 1 - u) ** int(name[1])))

    noisy = transform.endswith("noisy-or")
    scores = np.full((X.shape[0], 1), 0.0 if noisy else 1.0)
    for level, u in enumerate(U):
        parents = tree.parents(level)
        only = np.bincount(parents, minlength=parents.max() + 1)[parents] == 1
        above = scores[:, parents]
        if name == "raw":
            combined = u
        elif noisy:
            combined = 1 - (1 - t(u)) * (1 - above)
        else:
            combined = t(u) * above
        carried = only & (not model.config.scores_only_children(level, tree.depth))
        scores = np.where(carried, above, combined)
    result = np.empty_like(scores)
    result[:, tree.labels] = scores
    return np.log(result) if transform.startswith("log-") else result


def test_costs_by_level():
    """Each level is the one of a model with its costs everywhere."""
    X, Y = planted(120, 25, 50, seed=6)
    tree = small_tree(X, Y)
    assert tree.depth == 3
    model = TreeModel.fit(X, Y, tree, LinearConfig(level_costs=("1/2", "2/4")))
    upper = TreeModel.fit(X, Y, tree, LinearConfig(cost_positive=1, cost_negative=2))
    last = TreeModel.fit(X, Y, tree, LinearConfig(cost_positive=2, cost_negative=4))
    for level, expected in enumerate([upper, upper, last]):
        found = model.levels[level].state()
        assert all(np.array_equal(found[key], value) for key, value in expected.levels[level].state().items())
    for wrong in ("2", "1/0", "1/x", "-1/2", "1/inf"):
        with pytest.raises(ConfigError, match="level_costs must have the form positive/negative"):
            LinearConfig(level_costs=(wrong,))


@pytest.mark.parametrize(
    "transform",
    [
        "l3-hinge",
        "l2-hinge",
        "l1-hinge",
        "sigmoid",
        "log-sigmoid",
        "log-l3-hinge",
        "raw",
        "l2-hinge-noisy-or",
    ],
)
@pytest.mark.parametrize("kind", ["balanced", "unbalanced"])
def test_unlimited_beam_equals_brute_force(transform, kind):
    X, Y = planted(120, 25, 50, seed=6)
    config = LinearConfig(transform=transform, beam=(1000,), threshold=0.05)
    tree = small_tree(X, Y, kind=kind)
    model = TreeModel.fit(X, Y, tree, config, threads=2)
    queries, _ = planted(30, 25, 50, seed=7)
    queries = sparse.vstack([queries, sparse.csr_matrix((1, 50), dtype=np.float32)]).tocsr()
    indptr, ids, scores = model.rank(queries, 25)
    assert indptr.tolist() == list(range(0, 31 * 25 + 1, 25))
    got = np.full((31, 25), np.nan)
    got[np.repeat(np.arange(31), 25), ids] = scores
    np.testing.assert_allclose(got, all_scores(model, queries, transform), rtol=2e-5, atol=1e-6)
    rank_scores = scores.reshape(31, 25)
    assert (np.diff(rank_scores, axis=1) <= 0).all()


def test_only_children_may_have_classifiers_of_their_own():
    X, Y = planted(80, 6, 40, seed=4)
    tree = LabelTree((np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 2, 4, 6])), np.arange(6))
    config = TIGHT.replace_settings({"beam": (9,)})
    plain = TreeModel.fit(X, Y, tree, config)
    model = TreeModel.fit(X, Y, tree, config.replace_settings({"only_children": True}))
    for level in (0, 2):
        np.testing.assert_array_equal(model.levels[level].biases, plain.levels[level].biases)
    assert plain.levels[1].biases[0] == 0
    # All its examples are positive: at the minimum of |w|²/2 + Σ max(0, 1 − u)², w = 2 Σ max(0, 1 − u) x.
    rows = np.flatnonzero(coarse(Y, tree, 0)[:, 0])
    examples = np.hstack([X[rows].toarray(), np.ones((len(rows), 1))])
    w = model.levels[1].to_csr(40).toarray()[0]
    np.testing.assert_allclose(w, 2 * np.maximum(0, 1 - examples @ w) @ examples, atol=1e-4)
    for trained in (plain, model):
        indptr, labels, scores = trained.rank(X, 6)
        expected = all_scores(trained, X, "l3-hinge")[np.repeat(np.arange(80), np.diff(indptr)), labels]
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-7)


def test_flat_prediction_is_one_versus_all():
    X, Y = planted(120, 25, 50, seed=6)
    model = TreeModel.fit(
        X, Y, LabelTree.flat(np.arange(25, dtype=np.int32)), LinearConfig(transform="raw", threshold=0.0)
    )
    weights = model.levels[0].to_csr(50).toarray()
    expected = X.toarray() @ weights[:, :-1].T + weights[:, -1]
    _, ids, _ = model.rank(X, 5)
    for row in range(120):
        best = sorted(range(25), key=lambda label: (-np.float32(expected[row, label]), label))[:5]
        np.testing.assert_allclose(expected[row, ids.reshape(-1, 5)[row]], expected[row, best], atol=1e-5)


def test_last_transform_raw_ranks_by_raw_scores():
    X, Y = planted(120, 25, 50, seed=6)
    tree = small_tree(X, Y)
    plain = TreeModel.fit(X, Y, tree, LinearConfig(beam=(100,)))
    raw = TreeModel(tree, plain.levels, LinearConfig(beam=(100,), last_transform="raw"), 50)
    _, ids, scores = raw.rank(X, 25)
    weights = plain.levels[-1].to_csr(50).toarray()
    expected = X.toarray() @ weights[:, :-1].T + weights[:, -1]
    by_label = np.empty_like(expected)
    by_label[:, tree.labels] = expected
    np.testing.assert_allclose(
        scores.reshape(120, 25), np.take_along_axis(by_label, ids.reshape(120, 25), 1), atol=1e-5
    )


def test_last_transform_alone_leaves_the_parents_out():
    X, Y = planted(120, 25, 50, seed=6)
    tree = small_tree(X, Y)
    plain = TreeModel.fit(X, Y, tree, LinearConfig(beam=(100,)))
    raw, alone = (
        TreeModel(tree, plain.levels, LinearConfig(beam=(100,), last_transform=last), 50).rank(X, 25)
        for last in ("raw", "alone")
    )
    assert np.array_equal(raw[1], alone[1])
    np.testing.assert_allclose(alone[2], np.exp(-(np.maximum(0, 1 - raw[2]) ** 3)), atol=1e-6)
    with pytest.raises(ConfigError, match="last_transform=alone needs a transform that multiplies"):
        LinearConfig(transform="raw", last_transform="alone")


def test_rankings_do_not_depend_on_company_or_threads():
    X, Y = planted(500, 60, 80, seed=8)
    model = TreeModel.fit(X, Y, small_tree(X, Y), LinearConfig(beam=(3,)))
    indptr, ids, scores = model.rank(X, 4, threads=1)
    for threads in (2, 3):
        again = model.rank(X, 4, threads=threads)
        assert all(np.array_equal(a, b) for a, b in zip(again, (indptr, ids, scores), strict=True))
    for row in (0, 17, 499):
        _, one_ids, one_scores = model.rank(X[row], 4)
        assert np.array_equal(one_ids, ids[indptr[row] : indptr[row + 1]])
        assert np.array_equal(one_scores, scores[indptr[row] : indptr[row + 1]])


@pytest.mark.parametrize("negatives", ["tfn", "man", "tfn+man", "given", "tfn,tfn+man"])
def test_training_is_the_same_on_any_number_of_threads(negatives):
    X, Y = planted(500, 60, 80, seed=8)
    given = Y[np.random.default_rng(1).permutation(500)]
    config = LinearConfig(beam=(3,)).replace_settings({"negatives": negatives})
    tree = small_tree(X, Y)
    one, two = (TreeModel.fit(X, Y, tree, config, negatives=given, threads=threads) for threads in (1, 2))
    for a, b in zip(one.levels, two.levels, strict=True):
        assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.TYPES)


def test_matcher_aware_negatives_are_the_beam():
    """The last level under MAN, checked against LIBLINEAR on the beam of the trained upper levels."""
    X, Y = planted(150, 20, 50, seed=3)
    tree = small_tree(X, Y)
    config = TIGHT.replace_settings({"negatives": "man", "beam": (2,)})
    model = TreeModel.fit(X, Y, tree, config)
    indptr, nodes, _ = model.kept_nodes(X, tree.depth - 2)
    visited = sparse.csr_matrix((np.ones(len(nodes)), nodes, indptr), shape=(150, tree.sizes[-2])).toarray()
    weights = model.levels[-1].to_csr(50).toarray()
    labels = Y[:, tree.labels].toarray()
    parents = tree.parents(tree.depth - 1)
    outside = 0
    for leaf in range(20):
        taking_part = (visited[:, parents[leaf]] > 0) | (labels[:, leaf] > 0)  # positives are always in
        outside += int(((visited[:, parents[leaf]] == 0) & (labels[:, leaf] > 0)).sum())
        rows = np.flatnonzero(taking_part)
        expected = liblinear(X[rows], np.where(labels[rows, leaf] > 0, 1, -1), config)
        np.testing.assert_allclose(weights[leaf], expected, atol=2e-4)
    assert outside > 0


def test_bad_settings_and_bad_shapes():
    with pytest.raises(ConfigError, match="tfm"):
        LinearConfig(negatives=("tfm",))
    with pytest.raises(ConfigError, match="l9-hinge"):
        LinearConfig(transform="l9-hinge")
    X, Y = planted(50, 6, 30, seed=4)
    tree = small_tree(X, Y)
    with pytest.raises(ConfigError, match="given"):
        TreeModel.fit(X, Y, tree, LinearConfig(negatives=("given",)))
    with pytest.raises(DataError, match=r"matrix of negatives is 3 ×"):
        TreeModel.fit(X, Y, tree, LinearConfig(negatives=("given",)), negatives=Y[:3])
    with pytest.raises(DataError, match="not in the label tree"):
        TreeModel.fit(X, Y, LabelTree.flat(np.arange(3, dtype=np.int32)), LinearConfig())
    with pytest.raises(DataError, match="outside 0…5"):
        TreeModel.fit(X, Y, LabelTree.flat(np.arange(7, dtype=np.int32)), LinearConfig())
    with pytest.raises(DataError, match="matrix of negatives is 20 × 6, but that of the labels is 50 × 6"):
        TreeModel.fit(X, Y, tree, LinearConfig(negatives=("given",)), negatives=Y[:20])


def test_per_level_lists_are_aligned_with_the_labels():
    config = LinearConfig(beam=(10, 50), negatives=("tfn", "tfn+man"))
    assert config.beams(3) == [10, 10, 50]
    assert config.beams(1) == [50]
    assert config.schemes(3) == [{"tfn"}, {"tfn"}, {"tfn", "man"}]


def assert_same_weights(a, b):
    assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.TYPES)
    assert a.to_csr(50).nnz > 100


def test_matcher_aware_negatives_use_the_beams_of_the_search():
    X, Y = planted(150, 20, 50, seed=3)
    tree = small_tree(X, Y)
    assert tree.depth == 3
    narrow = TreeModel.fit(X, Y, tree, LinearConfig(negatives=("man",), beam=(1,)))
    widening = TreeModel.fit(X, Y, tree, LinearConfig(negatives=("man",), beam=(1, 1000)))
    assert_same_weights(narrow.levels[1], widening.levels[1])


def test_given_negatives_of_labels_outside_the_tree_are_passed_over():
    X, Y = planted(150, 20, 50, seed=3)
    tree = small_tree(X, Y)
    config = LinearConfig(negatives=("given",))
    given = sparse.csr_matrix(np.ones(Y.shape, np.float32))
    plain = TreeModel.fit(X, Y, tree, config, negatives=given)
    wider = sparse.csr_matrix(np.ones((150, 21), np.float32))
    Y_wider = sparse.hstack([Y, sparse.csr_matrix((150, 1), dtype=np.float32)], format="csr")
    same = TreeModel.fit(X, Y_wider, tree, config, negatives=wider)
    assert_same_weights(plain.levels[-1], same.levels[-1])
