"""Losses and penalties against LIBLINEAR and a general-purpose optimizer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from conftest import planted
from treetop import LabelTree
from treetop.errors import ConfigError
from treetop.linear import LinearConfig, TreeModel

TIGHT = LinearConfig(tolerance=1e-8, max_passes=20_000, threshold=0.0, weight_bits=32)


def problem(seed=3):
    X, Y = planted(200, 8, 40, seed=seed)
    return X, Y, np.where(Y.toarray() > 0, 1, -1)


def flat_weights(X, Y, **settings):
    """Labels × features, the bias last, of one classifier per label."""
    config = TIGHT.replace_settings(settings)
    tree = LabelTree.flat(np.arange(Y.shape[1], dtype=np.int32))
    return TreeModel.fit(X, Y, tree, config, threads=2).levels[0].to_csr(X.shape[1]).toarray()


def reference(solver, X, targets, weights=None):
    """LIBLINEAR's coefficients; its intercept is the weight of a constant feature, penalised as ours is."""
    rows = []
    for label in range(targets.shape[1]):
        sample_weight = None if weights is None else np.where(targets[:, label] > 0, *weights)
        solver.fit(X, targets[:, label], sample_weight=sample_weight)
        rows.append(np.append(solver.coef_[0], solver.intercept_[0]))
    return np.array(rows)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (5.0, 0.5)])
def test_hinge_is_liblinears(weights):
    X, Y, targets = problem()
    solver = LinearSVC(loss="hinge", dual=True, tol=1e-8, max_iter=1_000_000)
    settings = {"loss": "hinge", "cost_positive": weights[0], "cost_negative": weights[1]}
    expected = reference(solver, X, targets, weights)
    np.testing.assert_allclose(flat_weights(X, Y, **settings), expected, atol=1e-3)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (10.0, 10.0), (5.0, 0.5)])
def test_logistic_is_liblinears(weights):
    X, Y, targets = problem()
    solver = LogisticRegression(solver="liblinear", dual=True, tol=1e-9, max_iter=1_000_000)
    settings = {"loss": "logistic", "cost_positive": weights[0], "cost_negative": weights[1]}
    expected = reference(solver, X, targets, weights)
    np.testing.assert_allclose(flat_weights(X, Y, **settings), expected, atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*penalty.*deprecated")
@pytest.mark.parametrize("strength", [0.1, 1.0])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_l1_is_liblinears(loss, strength):
    """LIBLINEAR minimises |w| + C Σ loss: a strength λ with costs of 1 is its C = 1/λ."""
    X, Y, targets = problem()
    solver = (
        LinearSVC(penalty="l1", dual=False, C=1 / strength, tol=1e-9, max_iter=1_000_000)
        if loss == "squared-hinge"
        else LogisticRegression(penalty="l1", solver="liblinear", C=1 / strength, tol=1e-9, max_iter=100_000)
    )
    expected = reference(solver, X, targets)
    weights = flat_weights(X, Y, loss=loss, regulariser="l1", l1_strength=strength)
    np.testing.assert_allclose(weights, expected, atol=2e-3)
    assert (weights == 0).sum() > 0


def test_huber_hinge_is_at_the_minimum():
    X, Y, targets = problem()
    dense = np.hstack([X.toarray(), np.ones((200, 1))]).astype(np.float64)

    def objective(w, s):
        gap = np.maximum(0, 1 - s * (dense @ w))
        slope = 2 * np.minimum(gap, 1)
        value = 0.5 * w @ w + np.where(gap <= 1, gap**2, 2 * gap - 1).sum()
        return value, w - dense.T @ (s * slope)

    weights = flat_weights(X, Y, loss="huber-hinge")
    for label in range(Y.shape[1]):
        s = targets[:, label]
        best = minimize(objective, np.zeros(41), (s,), "L-BFGS-B", jac=True, options={"gtol": 1e-9})
        np.testing.assert_allclose(weights[label], best.x, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_refitting_is_l2_on_the_features_that_l1_chose(loss):
    X, Y, targets = problem()
    chosen = flat_weights(X, Y, loss=loss, regulariser="l1", l1_strength=1.0) != 0
    weights = flat_weights(X, Y, loss=loss, regulariser="l1", l1_strength=1.0, refit=True)
    assert (weights[:, :-1][~chosen[:, :-1]] == 0).all()
    solver = (
        LinearSVC(tol=1e-9, max_iter=1_000_000)
        if loss == "squared-hinge"
        else LogisticRegression(solver="liblinear", dual=True, tol=1e-9, max_iter=100_000)
    )
    for label in range(Y.shape[1]):
        features = chosen[label, :-1]
        solver.fit(X[:, features], targets[:, label])
        np.testing.assert_allclose(weights[label, :-1][features], solver.coef_[0], atol=1e-3)
        np.testing.assert_allclose(weights[label, -1], solver.intercept_[0], atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [{"loss": "hinge"}, {"loss": "huber-hinge"}, {"loss": "logistic"}, {"regulariser": "l1", "refit": True}],
)
def test_positives_outside_the_shortlist_take_part_and_threads_change_nothing(settings):
    """Under matcher-aware negatives the examples of a label are more than its siblings share."""
    X, Y = planted(300, 24, 60, seed=4)
    tree = LabelTree((np.array([0, 3]), np.array([0, 8, 16, 24])), np.arange(24, dtype=np.int32))
    config = LinearConfig(negatives=("man",), beam=(1,)).replace_settings(settings)
    one, two = (TreeModel.fit(X, Y, tree, config, threads=threads) for threads in (1, 2))
    for a, b in zip(one.levels, two.levels, strict=True):
        assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.TYPES)
    _, ids, _ = one.rank(X, 1)
    assert np.mean(Y.toarray()[np.arange(300), ids] > 0) > 0.6


def test_settings_that_do_not_fit():
    with pytest.raises(ConfigError, match="regulariser=l1 needs loss squared-hinge or logistic, not hinge"):
        LinearConfig(regulariser="l1", loss="hinge")
    with pytest.raises(ConfigError, match="refit=true needs regulariser=l1"):
        LinearConfig(refit=True)
    with pytest.raises(ConfigError, match="loss must be one of"):
        LinearConfig(loss="quadratic")
