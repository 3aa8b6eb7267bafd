"""Calibration: the maps by hand and against scikit-learn, and calibrated models."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import treetop
from conftest import planted
from treetop import Dataset, Predictions, Strings, store
from treetop.calibration import CALIBRATED_LABELS, KINDS, Isotonic, Platt, pool_adjacent_violators
from treetop.data.held_out import held_out_rows
from treetop.errors import ConfigError, DataError, ModelError


def pairs(count: int, seed: int, *, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Scores and hits that are likelier where the score is high, but far less likely than it says."""
    rng = np.random.default_rng(seed)
    scores = rng.random(count).astype(np.float32)
    if ties:
        scores = np.round(scores, 2)
    return scores, rng.random(count) < 0.7 * scores**2


# -- the maps ------------------------------------------------------------------------------------------------


def test_pooling_by_hand():
    # Means 1, 0, 1/2, 1/2, 3/4, 0: the first two pool to 1/2, equal to their neighbours; the last two to 3/8,
    # below 1/2, and then all: (1 + 0 + 1 + 1 + 3 + 0) / (1 + 1 + 2 + 2 + 4 + 4) = 3/7.
    sums, counts = np.array([1, 0, 1, 1, 3, 0]), np.array([1, 1, 2, 2, 4, 4])
    starts, means = pool_adjacent_violators(sums[:5], counts[:5])
    assert starts.tolist() == [0, 4] and means.tolist() == [0.5, 0.75]
    starts, means = pool_adjacent_violators(sums, counts)
    assert starts.tolist() == [0] and means.tolist() == [6 / 14]


def test_isotonic_by_hand():
    scores = np.array([0.5, 0.1, 0.2, 0.4, 0.3], np.float32)
    hits = np.array([True, False, True, True, False])
    fitted = Isotonic.fit(scores, hits)  # 0 | 1/2 from 0.2 to 0.3 | 1 from 0.4 on
    asked = np.array([0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.9], np.float32)
    assert fitted(asked).tolist() == pytest.approx([0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1], abs=1e-6)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [1, 2, 500])
def test_isotonic_is_scikit_learns(count, ties):
    scores, hits = pairs(count, seed=count, ties=ties)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores.astype(np.float64), hits)
    asked = np.linspace(-0.5, 1.5, 1001).astype(np.float32)
    np.testing.assert_allclose(Isotonic.fit(scores, hits)(asked), theirs.predict(asked), atol=1e-6)


def logistic_regression(inputs: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    """By scikit-learn: every pair is given as a hit and as a miss, weighted by its target."""
    right, wrong = hits.sum(), (~hits).sum()
    targets = np.where(hits, (right + 1) / (right + 2), 1 / (wrong + 2))
    column = np.concatenate([inputs, inputs])[:, None]
    classes = np.repeat([1, 0], len(hits))
    model = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000)
    model.fit(column, classes, sample_weight=np.concatenate([targets, 1 - targets]))
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def test_platt_is_logistic_regression():
    scores, hits = pairs(500, seed=1)
    fitted = Platt.fit(scores, hits)
    odds = np.log(scores.astype(np.float64) / (1 - scores.astype(np.float64)))
    assert fitted.odds
    assert (fitted.slope, fitted.intercept) == pytest.approx(logistic_regression(odds, hits), rel=1e-3)
    raw = (4000 * scores - 1000).astype(np.float32)
    plain = Platt.fit(raw, hits)
    slope, intercept = logistic_regression(raw.astype(np.float64) / 1000, hits)
    assert not plain.odds
    assert (plain.slope, plain.intercept) == pytest.approx((slope / 1000, intercept), rel=1e-3)
    assert plain(raw[:3]).tolist() == pytest.approx(
        1 / (1 + np.exp(-plain.slope * raw[:3] - plain.intercept))
    )


def test_platt_stays_finite_and_never_falls():
    scores = np.array([0.1, 0.2, 0.8, 0.9], np.float32)
    separated = Platt.fit(scores, scores > 0.5)
    assert 0 < separated(scores)[0] < 0.5 < separated(scores)[-1] < 1
    backwards = Platt.fit(scores, scores < 0.15)
    assert backwards.slope == 0
    np.testing.assert_allclose(backwards(scores), (2 / 3 + 3 * (1 / 5)) / 4, rtol=1e-6)  # the mean target
    constant = Platt.fit(np.full(4, 0.5, np.float32), scores > 0.15)
    np.testing.assert_allclose(constant(scores), (3 * (4 / 5) + 1 / 3) / 4, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_maps_rise_everywhere(kind):
    scores, hits = pairs(400, seed=2)
    for factor in (1, 1e-6, 1e6):  # log-odds, tiny scores, plain scores
        fitted = KINDS[kind].fit((factor * scores).astype(np.float32), hits)
        centre = np.float32(0.3 * factor)
        near = centre + np.arange(-500, 500, dtype=np.float32) * np.spacing(centre)
        asked = np.sort(
            np.concatenate([near, np.linspace(-1, 2, 5000, dtype=np.float32) * np.float32(factor)])
        )
        values = fitted(asked)
        assert values.dtype == np.float32 and values.min() >= 0 and values.max() <= 1
        assert (np.diff(values) >= 0).all()
        assert fitted(asked[7:8])[0] == values[7]


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_stored_and_damage_is_seen(kind):
    scores, hits = pairs(50, seed=3)
    fitted = KINDS[kind].fit(scores, hits)
    again = KINDS[kind].from_state(fitted.state())
    assert np.array_equal(again(scores), fitted(scores))
    for name, array in fitted.state().items():
        for bad in (array[:0], -np.ones_like(array, np.float32), array.astype(np.int16)):
            with pytest.raises(ModelError):
                KINDS[kind].from_state(fitted.state() | {name: bad})


# -- calibrated models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> dict[str, Dataset]:
    """Labels that share features, and few examples of each: no model can be certain."""
    whole = Dataset.from_matrices(*planted(1500, 100, 60, seed=0))
    return {"train": whole[:600], "held out": whole[600:1000], "test": whole[1000:]}


def model_of(data: Dataset, **settings) -> treetop.XRLinear:
    return treetop.XRLinear(leaf_size=8, branching=4, **settings).fit(data)


@pytest.mark.parametrize("kind", KINDS)
def test_calibrate(kind, data, tmp_path):
    model = model_of(data["train"])
    before, errors = model.predict(data["test"], k=10), model.evaluate(data["test"])
    assert model.calibrate(data["held out"], kind) is model
    after = model.predict(data["test"], k=10)
    assert np.array_equal(after.indices, before.indices) and np.array_equal(after.indptr, before.indptr)
    assert after.scores.min() >= 0 and after.scores.max() <= 1
    better = model.evaluate(data["test"])
    assert better["ECE@5"] < 0.5 * errors["ECE@5"] and better["P@3"] == errors["P@3"]

    model.save(tmp_path / "model")
    loaded = treetop.load(tmp_path / "model")
    assert loaded.statistics == model.statistics
    assert loaded.statistics["calibration"]["kind"] == kind
    assert np.array_equal(loaded.predict(data["test"], k=10).scores, after.scores)

    model.calibrate(data["held out"], kind)  # again: learned from the model's own scores, not from the map's
    assert np.array_equal(model.predict(data["test"], k=10).scores, after.scores)
    model.fit(data["train"])
    assert model.calibration is None and "calibration" not in model.statistics


def test_threshold_keeps_what_is_above_it_however_many(data):
    model = model_of(data["train"]).calibrate(data["held out"])
    everything = model.predict(data["test"], k=100)
    chosen = model.predict(data["test"], threshold=0.01)
    assert chosen.counts.max() > 5
    assert len(chosen.scores) == (everything.scores > np.float32(0.01)).sum()
    assert model.predict(data["test"], k=2, threshold=0.01).counts.max() == 2
    exact = float(everything.scores[everything.scores < 1].max())
    assert model.predict(data["test"], threshold=exact).scores.min(initial=1) > exact
    for bad in (float("nan"), "0.5"):
        with pytest.raises(ConfigError, match="threshold must be a number, not"):
            model.predict(data["test"], threshold=bad)


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_while_training(kind, data, tmp_path):
    model = model_of(data["train"], calibration=kind, calibration_share=0.25, seed=3)
    plain = model_of(data["train"], seed=3)
    assert np.array_equal(model.predict(data["test"]).indices, plain.predict(data["test"]).indices)
    kept, held_out = data["train"].split(0.25, seed=3)
    expected = model_of(kept, seed=3).calibrate(held_out, kind)
    assert model.calibration is not None and expected.calibration is not None
    for name, array in expected.calibration.state().items():
        assert np.array_equal(model.calibration.state()[name], array)
    assert model.statistics["examples"] == 600 and model.statistics["calibration"]["examples"] == 150
    assert model.evaluate(data["test"])["ECE@5"] < plain.evaluate(data["test"])["ECE@5"]
    model.save(tmp_path / "model")
    assert treetop.load(tmp_path / "model").config.calibration == kind


def test_whole_groups_are_held_out():
    groups = [f"g{row // 10}" for row in range(100)]
    data = Dataset.from_texts(["word"] * 100, [["x"]] * 100, groups=groups)
    kept, held_out = held_out_rows(data, 0.3, 0, "test")
    assert len(held_out) == 30 and not {row // 10 for row in kept} & {row // 10 for row in held_out}


def test_given_negatives_are_held_out_with_their_examples(data):
    negatives = sparse.csr_matrix(np.ones((600, 100), np.float32))
    model = treetop.XRLinear(leaf_size=8, branching=4, negatives="tfn+given", calibration="platt")
    assert model.fit(data["train"], negatives=negatives).calibration is not None


def test_a_map_of_a_few_labels_serves_all(data):
    """Labels beyond the depth a map is learned from keep their order too."""
    model = model_of(data["train"]).calibrate(data["held out"])
    assert len(model.predict(data["test"], k=30)[0]) > CALIBRATED_LABELS


def test_mistakes(data):
    model = model_of(data["train"])
    with pytest.raises(ConfigError, match="no calibration 'sigmoid'; choose from isotonic, platt"):
        model.calibrate(data["held out"], "sigmoid")
    with pytest.raises(DataError, match="needs a labelled Dataset"):
        model.calibrate(["a text"])
    with pytest.raises(DataError, match="no labels"):
        model.calibrate(dataclasses.replace(data["held out"], Y=None))
    other = Strings.of(f"other {name}" for name in data["test"].labels)
    model.calibrate(data["held out"])
    with pytest.raises(DataError, match="no predicted label is correct"):
        model.calibrate(dataclasses.replace(data["test"], labels=other))
    assert model.calibration is not None  # as before
    with pytest.raises(ModelError, match="not trained"):
        treetop.XRLinear().calibrate(data["test"])
    with pytest.raises(ConfigError, match="calibration must be one of none, isotonic, platt"):
        treetop.XRLinear(calibration="sigmoid")
    with pytest.raises(DataError, match=r"cannot hold out examples for the calibration \(cannot split 1"):
        treetop.XRLinear(calibration="platt").fit(["bread and flour"], ["baking"])
    with pytest.raises(DataError, match="too few examples have labels to hold some out for the calibration"):
        treetop.XRLinear(calibration="platt").fit(["bread", "flour"], [["baking"], []])


def test_a_damaged_calibration_is_refused(data, tmp_path):
    model_of(data["train"]).calibrate(data["held out"]).save(tmp_path / "model")
    stored = store.load(tmp_path / "model")
    for calibration in ({"kind": "sigmoid"}, {}, "isotonic", {"kind": "platt"}):
        changed = dataclasses.replace(stored, data=stored.data | {"calibration": calibration})
        store.save(tmp_path / "changed", changed)
        with pytest.raises(ModelError, match="cannot be restored"):
            treetop.load(tmp_path / "changed")


def test_predictions_refuse_a_threshold_that_is_none():
    predictions = Predictions.from_csr(np.eye(2), ["a", "b"])
    with pytest.raises(ConfigError, match="threshold must be a number, not nan"):
        predictions.above(float("nan"))
    assert len(predictions.above(np.float32(0.5)).indices) == 2
