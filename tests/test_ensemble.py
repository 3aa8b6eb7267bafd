"""Ensembles: the rules by hand on fixed lists, learned weights, and one folder for all members."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import treetop
from conftest import planted
from treetop import Dataset, Ensemble, Strings, store
from treetop.errors import ConfigError, DataError, ModelError
from treetop.methods import Method, MethodConfig
from treetop.methods.ensemble import best_weights


class Fixed(Method):
    """Predicts the same list for every text, or the list of that text."""

    name = "fixed"
    config_class = MethodConfig
    takes_texts = True

    def __init__(self, labels: str, *rows: dict[str, float], counts: dict[str, int] | None = None) -> None:
        super().__init__()
        self.labels = Strings.of(labels)
        self.label_counts = np.array([(counts or {}).get(label, 1) for label in labels])
        self.rows = rows
        self.statistics = {
            "examples": int(self.label_counts.max()),
            "labels": len(labels),
            "labels_used": len(labels),
            "labels_per_example": 1.0,
            "input": "texts",
            "source": f"the data of {labels}",
        }

    def _rank(self, dataset, k):
        rows = [self.rows[row % len(self.rows)] for row in range(len(dataset))]
        best = [sorted(row.items(), key=lambda item: -item[1])[:k] for row in rows]
        indptr = np.cumsum([0, *map(len, best)])
        ids = [self.labels.position(label) for row in best for label, _ in row]
        scores = [score for row in best for _, score in row]
        return indptr, np.array(ids, np.int32), np.array(scores, np.float32)

    def _fit(self, dataset): ...
    def _state(self): ...
    def _restore(self, arrays): ...


def answer(model: Method, k: int | None = None) -> list[tuple[str, float]]:
    return [(label, round(score, 6)) for label, score in model.predict("any text", k)[0]]


FIRST = Fixed("abcd", {"a": 0.8, "b": 0.4, "c": 0.2})
SECOND = Fixed("abcd", {"b": 0.9, "c": 0.6})

# -- the rules -----------------------------------------------------------------------------------------------


def test_mean_counts_missing_labels_as_zero():
    assert answer(Ensemble([FIRST, SECOND])) == [("b", 0.65), ("a", 0.4), ("c", 0.4)]


def test_given_weights_are_shares():
    # (3·0.4 + 0.9)/4, 3·0.8/4, (3·0.2 + 0.6)/4
    expected = [("a", 0.6), ("b", 0.525), ("c", 0.3)]
    assert answer(Ensemble([FIRST, SECOND], rule="weighted", weights=(3, 1))) == expected
    assert answer(Ensemble([FIRST, SECOND], rule="weighted", weights="0.75,0.25")) == expected


def test_ranks_in_place_of_scores():
    # The longest list has 3 labels: ranks 0, 1, 2 count 3/3, 2/3, 1/3; b has (2 + 3)/3/2, c (1 + 2)/3/2.
    expected = [("b", 0.833333), ("a", 0.5), ("c", 0.5)]
    assert answer(Ensemble([FIRST, SECOND], rule="rank")) == expected
    louder = Fixed("abcd", {"b": 900, "c": -600})
    assert answer(Ensemble([FIRST, louder], rule="rank")) == expected


def test_logistic_functions_of_scores():
    def sigmoid(score):
        return 1 / (1 + math.exp(-score))

    first, second = Fixed("abc", {"a": 2, "b": 0}), Fixed("abc", {"b": 1, "c": -800})
    expected = [("b", (0.5 + sigmoid(1)) / 2), ("a", sigmoid(2) / 2), ("c", 0.0)]
    assert answer(Ensemble([first, second], rule="sigmoid")) == [(n, round(s, 6)) for n, s in expected]


def test_softmax_of_each_list():
    first, second = Fixed("abc", {"a": 902, "b": 900}, {}), Fixed("abc", {"b": 1, "c": 0}, {"c": -5})
    share, other = 1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-1))
    model = Ensemble([first, second], rule="softmax")
    rows = [[(label, round(score, 6)) for label, score in row] for row in model.predict(["", ""])]
    expected = [("a", share / 2), ("b", (1 - share + other) / 2), ("c", (1 - other) / 2)]
    expected.sort(key=lambda pair: -pair[1])
    assert rows == [[(label, round(score, 6)) for label, score in expected], [("c", 0.5)]]


def test_the_longest_list_is_that_of_the_text():
    long, short = {"a": 3, "b": 2, "c": 1}, {"b": 1}
    model = Ensemble([Fixed("abc", long, short), Fixed("abc", short)], rule="rank")
    rows = [[(label, round(score, 6)) for label, score in row] for row in model.predict(["", ""])]
    assert rows == [[("b", 0.833333), ("a", 0.5), ("c", 0.166667)], [("b", 1.0)]]


def test_members_rank_more_labels_than_are_asked_for():
    members = [Fixed("abc", {"a": 0.9, "b": 0.8}), Fixed("abc", {"c": 0.9, "b": 0.8})]
    assert answer(Ensemble(members), k=1) == [("b", 0.8)]
    assert answer(Ensemble(members, depth=1), k=1) == [("a", 0.45)]


def test_labels_are_matched_by_name():
    other = Fixed("eba", {"a": 0.2, "e": 0.6}, counts={"a": 7, "e": 2, "b": 0})
    model = Ensemble([FIRST, other])
    assert list(model.labels) == ["a", "b", "c", "d", "e"]
    assert answer(model) == [("a", 0.5), ("e", 0.3), ("b", 0.2), ("c", 0.1)]
    assert model.label_counts.tolist() == [7, 1, 1, 1, 2]
    assert model.statistics["examples"] == 7 and model.statistics["labels"] == 5
    assert model.statistics["source"] == "the data of abcd, the data of eba"
    assert answer(Ensemble([other, FIRST]))[0] == ("a", 0.5)
    with pytest.raises(DataError, match="knows only 5 labels"):
        model.predict("text", k=6)


def test_an_ensemble_in_an_ensemble():
    inner = Ensemble([FIRST, SECOND])
    assert answer(Ensemble([inner, FIRST])) == [("a", 0.6), ("b", 0.525), ("c", 0.3)]


def test_label_texts_come_from_the_first_member_that_has_them():
    named = Fixed("ab", {"a": 1})
    named.label_texts = Strings.of(["A", "B"])
    again = Fixed("bc", {"b": 1})
    again.label_texts = Strings.of(["other B", "C"])
    assert list(Ensemble([Fixed("d", {"d": 1}), named, again]).label_texts) == ["d", "A", "B", "C"]
    assert Ensemble([FIRST, SECOND]).label_texts is None


# -- learned weights -----------------------------------------------------------------------------------------


def test_best_weights_finds_a_peak_between_the_members():
    peak = np.array([0.6, 0.3, 0.1])
    found = best_weights(lambda weights: -float(((weights - peak) ** 2).sum()), 3)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, peak, atol=0.05)
    assert best_weights(lambda weights: 1.0, 2).tolist() == [0.5, 0.5]  # a change needs an improvement
    assert best_weights(lambda weights: float(weights[1]), 3).tolist() == [0, 1, 0]
    assert best_weights(lambda weights: 0.0, 1).tolist() == [1]


def test_learned_weights_trust_the_member_that_is_right():
    # The second member has the right label second, by a margin that a small weight of the first decides.
    right = Fixed("abc", {"a": 0.6, "b": 0.5}, {"b": 0.6, "a": 0.5})
    wrong = Fixed("abc", {"c": 1.0, "b": 0.1}, {"c": 1.0, "a": 0.1})
    validation = Dataset.from_texts(["", ""], [["a"], ["b"]])
    model = Ensemble.learn([right, wrong], validation)
    assert model.weights[0] > model.weights[1] and model.weights.sum() == pytest.approx(1)
    assert [row[0].label for row in model.predict(["", ""])] == ["a", "b"]
    assert model.config.rule == "learned"
    unseen = Dataset.from_texts(["", ""], [["a", "new"], ["b"]])
    assert np.array_equal(Ensemble.learn([right, wrong], unseen).weights, model.weights)
    with pytest.raises(DataError, match="no example has a label"):
        Ensemble.learn([right, wrong], Dataset.from_texts(["", ""]))


# -- training, saving, loading -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_matrices(*planted(400, 20, 60, seed=0))


def members(**settings) -> list[Method]:
    return [treetop.XRLinear(leaf_size=4, branching=2, **settings), treetop.XRLinear(seed=1, **settings)]


def test_fit_trains_new_members_and_leaves_the_given_ones(data):
    given = members()
    model = Ensemble(given).fit(data[:300])
    assert all(member.labels is None for member in given)
    alone = [member.fit(data[:300]) for member in given]
    expected = Ensemble(alone).predict(data[300:], k=5)
    assert np.array_equal(model.predict(data[300:], k=5).scores, expected.scores)
    fitted = alone[0].predict(data[300:])
    Ensemble(alone).fit(data[:50])
    assert np.array_equal(alone[0].predict(data[300:]).scores, fitted.scores)
    of_given = Ensemble(alone)
    alone[0].calibrate(data[300:])
    assert np.array_equal(of_given.predict(data[300:], k=5).scores, expected.scores)
    assert "calibration" not in of_given.members[0].statistics


def test_fit_of_named_methods(data):
    model = Ensemble(methods="xr-linear,xr-linear", seed=5).fit(data)
    assert [member.config.seed for member in model.members] == [5, 6]
    assert model.predict(data).labels == data.labels
    again = model.blank().fit(data)
    assert np.array_equal(again.predict(data).scores, model.predict(data).scores)
    last = Ensemble(methods="xr-linear,xr-linear", seed=2**63 - 1).fit(data)
    assert [member.config.seed for member in last.members] == [2**63 - 1, 0]


def test_fit_learns_the_weights_on_a_held_out_part(data):
    model = Ensemble(members(), rule="learned", validation_share=0.25, seed=2).fit(data)
    kept, held_out = data.split(0.25, seed=2)
    expected = Ensemble.learn([member.fit(kept) for member in members()], held_out)
    assert np.array_equal(model.weights, expected.weights)
    assert all(member.statistics["examples"] == 400 for member in model.members)


def test_one_folder_holds_all_members(data, tmp_path):
    narrow = Dataset.from_matrices(data.X, data.Y[:, :15])  # knows fewer labels
    calibrated = members()[0].fit(data[:200]).calibrate(data[200:], "platt")
    model = Ensemble([calibrated, members()[1].fit(narrow), Ensemble(members()).fit(data)], rule="rank")
    model.calibrate(data)
    model.save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert [entry["method"] for entry in manifest["data"]["members"]] == [
        "xr-linear",
        "xr-linear",
        "ensemble",
    ]
    assert manifest["data"]["members"][0]["config"]["tree"]["leaf_size"] == 4
    loaded = treetop.load(tmp_path / "model")
    assert isinstance(loaded, Ensemble) and loaded.statistics == model.statistics
    assert loaded.members[0].statistics["calibration"]["kind"] == "platt"
    one, other = loaded.predict(data, k=20), model.predict(data, k=20)
    assert np.array_equal(one.indices, other.indices) and np.array_equal(one.scores, other.scores)
    refitted = loaded.fit(data)
    assert [type(member) for member in refitted.members] == [type(member) for member in model.members]


def test_equal_arrays_of_members_are_stored_once(data, tmp_path):
    one = members()[0].fit(data)
    one.save(tmp_path / "one")
    Ensemble([one, one, one]).save(tmp_path / "three")
    sizes = [sum(p.stat().st_size for p in (tmp_path / m).rglob("*.npy")) for m in ("one", "three")]
    assert sizes[1] < sizes[0] + 1000
    assert len(treetop.load(tmp_path / "three").predict(data)) == len(data)


def test_threads_of_the_ensemble_are_those_of_its_members(data):
    given = [member.fit(data) for member in members(threads=1)]
    model = Ensemble(given, threads=2)
    model.predict(data)
    assert [member.threads for member in model.members] == [2, 2] and given[0].threads == 1


def test_damaged_folders_are_refused(data, tmp_path):
    Ensemble([member.fit(data) for member in members()]).save(tmp_path / "model")
    stored = store.load(tmp_path / "model")
    entries = stored.data["members"]
    refused = [
        {"members": entries[:1]},
        {"members": []},
        {"members": [entries[0], {"method": "xr-linear"}]},
        {"members": [entries[0], entries[1] | {"method": "who"}]},
        {"members": 7},
    ]
    for changes in refused:
        store.save(tmp_path / "bad", dataclasses.replace(stored, data=stored.data | changes))
        with pytest.raises(ModelError, match="cannot be restored"):
            treetop.load(tmp_path / "bad")


# -- mistakes ------------------------------------------------------------------------------------------------


def test_mistakes(data):
    texts = treetop.XRLinear().fit(["bread", "flour"], ["x", "y"])
    features = members()[0].fit(data)
    with pytest.raises(DataError, match="member 1 takes texts and member 2 features"):
        Ensemble([texts, features])
    with pytest.raises(ConfigError, match="a list of models"):
        Ensemble(texts)
    with pytest.raises(ConfigError, match="a list of models"):
        Ensemble(["xr-linear"])
    with pytest.raises(ConfigError, match="3 weights for 2 members"):
        Ensemble([FIRST, SECOND], rule="weighted", weights=(1, 2, 3))
    with pytest.raises(ConfigError, match="weights must be at least 0"):
        Ensemble([FIRST, SECOND], rule="weighted", weights=(1, -1))
    with pytest.raises(ConfigError, match="at least one weight must be above 0"):
        Ensemble([FIRST, SECOND], rule="weighted", weights=(0, 0))
    for settings in ({"rule": "weighted"}, {"weights": (1, 2)}):
        with pytest.raises(ConfigError, match="must be used together"):
            Ensemble([FIRST, SECOND], **settings)
    with pytest.raises(ConfigError, match="rule must be one of mean, rank, sigmoid, softmax, weighted"):
        Ensemble([FIRST], rule="median")
    with pytest.raises(ModelError, match="rule of this ensemble has not been fitted yet"):
        Ensemble([FIRST, SECOND], rule="learned").predict("text")
    with pytest.raises(ModelError, match="not trained"):
        Ensemble([FIRST, treetop.XRLinear()]).predict("text")
    with pytest.raises(ModelError, match="not trained"):
        Ensemble.learn([FIRST, treetop.XRLinear()], data)
    with pytest.raises(ConfigError, match="given as a model, not by name"):
        Ensemble(methods="ensemble").fit(data)
    with pytest.raises(ConfigError, match="no method 'xr-liner'"):
        Ensemble(methods="xr-liner").fit(data)
    with pytest.raises(ConfigError, match="at least one member"):
        Ensemble(methods=())
    with pytest.raises(DataError, match="from fitted models and a labelled Dataset"):
        Ensemble.learn([], data)
