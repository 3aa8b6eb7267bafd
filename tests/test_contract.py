"""What every method promises. A new method joins with one line in `CASES`, a variant of one too."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from small_data import TOPICS, same, topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset, Strings, store
from treetop.errors import ConfigError, DataError, ModelError, TreetopError
from treetop.methods import METHODS, Method

CNN = {
    "epochs": 40, "batch_size": 16, "max_length": 12, "dimension": 16, "spread": 1, "filters": 16,
    "filter_sizes": (2,), "learning_rate": 0.01, "embedding_dropout": 0, "device": "cpu",
}  # fmt: skip
ENCODED = {
    "encoder": tiny_bert(), "epochs": 30, "batch_size": 16, "max_length": 32, "learning_rate": 2e-3,
    "dropout": 0, "device": "cpu",
}  # fmt: skip
TREES = {
    "tree.leaf_size": 2,
    "tree.branching": 2,
    "tree.top": 2,
    "refined.leaf_size": 4,
    "refined.branching": 2,
}
LIGHT = ENCODED | {"layers": 2, "cluster_size": 2, "cluster_beam": 2, "hidden": 16}
STATIC = LIGHT | {
    "rankers": False,
    "epochs": 15,
    "pooling": "mean",
    "learning_rate": 1e-4,
    "rates": ("head=0.03",),
}
"""While it learns clusters, the encoder must not forget what distinguishes the labels in one."""
CASCADE = ENCODED | {"clusters": (3,), "taps": (1, 2, 2), "cluster_beam": (2,), "dropouts": (0.0,)}
CASES: dict[str, dict] = {
    # registry name, and perhaps that of a variant: settings that make it quick on small data
    "xr-linear": {"leaf_size": 4, "branching": 2},
    "parabel": {"leaf_size": 4},
    "bonsai": {"leaf_size": 3, "branching": 3},
    "plt": {"leaf_size": 4},
    "neighbours": {},
    "hybrid": {"leaf_size": 4, "branching": 2, "weight": 0.3},
    "dismec": {},
    "kim-cnn": CNN,
    "kim-cnn-softmax": CNN | {"dropout": 0},
    "xml-cnn": CNN | {"hidden": 32},
    "xml-cnn-impl": CNN | {"hidden": 32},
    "cnn-baseline": CNN | {"hidden": 32},
    "flat-transformer": ENCODED,
    "x-transformer": ENCODED | {"epochs": 5, "clusters": 3, "cluster_beam": 2},
    "xr-transformer": ENCODED | TREES | {"epochs": 2, "shortlist": 2},
    "lightxml": LIGHT,
    "lightxml static": STATIC | {"negatives": "static"},
    "lightxml static-own": STATIC | {"negatives": "static-own"},
    "cascadexml": CASCADE,
    "cascadexml alone": CASCADE | {"rankers": False},
    "attention-xml": {
        "epochs": 24,
        "batch_size": 16,
        "hidden": 16,
        "scorer": (16,),
        "dimension": 24,
        "words.min_df": 1,
    }
    | {"learning_rate": 0.02, "spread": 0.5, "clusters": (3,), "cluster_beam": 2, "device": "cpu"},
    "ensemble": {"members": [treetop.XRLinear(leaf_size=4, branching=2), treetop.XRLinear(seed=1)]},
}


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(150, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    texts, labels = topic_texts(40, seed=1)
    return Dataset.from_texts(texts, labels, ids=[f"t{i}" for i in range(40)], source="test")


def is_slow(name: str) -> bool:
    """Networks are, but for the smallest."""
    return "epochs" in CASES[name] and name != "kim-cnn"


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.slow if is_slow(name) else ()) for name in CASES],
)
def name(request) -> str:
    return request.param


def new(name: str, **settings) -> Method:
    return treetop.make(method_of(name), **(CASES[name] | settings))


def method_of(name: str) -> str:
    return name.split(maxsplit=1)[0]


def brief(name: str, **settings) -> Method:
    """Trained for a moment only: for promises that a model keeps however little it has learned."""
    short = {"epochs": 2} if "epochs" in CASES[name] else {}
    return new(name, **(short | settings))


@pytest.fixture(scope="module")
def model(name, train) -> Method:
    return new(name).fit(train)


@pytest.fixture(scope="module")
def brief_model(name, train) -> Method:
    return brief(name, threads=1).fit(train)


@pytest.fixture(scope="module")
def untidy_model(name, train) -> Method:
    """Trained with empty texts, examples without labels, and labels without examples."""
    data = Dataset.from_texts(
        [*train.texts, "", "oven boat", "   "],
        [*(train.labels_of(row) for row in range(len(train))), ["baking"], [], []],
    )
    Y = sparse.hstack([data.Y, sparse.csr_matrix((len(data), 2))]).tocsr()
    wider = Dataset(labels=Strings.of([*data.labels, "yoga", "zumba"]), texts=data.texts, Y=Y)
    return new(name).fit(wider)


def test_every_method_is_here():
    assert set(map(method_of, CASES)) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_what_it_says_of_itself(name):
    """An untrained model knows what kind of method it is."""
    untrained, entry = treetop.make(name), METHODS[name]
    assert untrained.name == name and type(untrained).__name__ == entry.class_name
    assert (type(untrained).weighted_members is not Method.weighted_members) == entry.combines_models
    assert untrained.scores_are_probabilities == (name == "plt")
    assert untrained.trains_in_epochs or not untrained.network_alone


def test_learns(model, test):
    metrics = model.evaluate(test)
    assert metrics["P@1"] > 90
    assert metrics["R@5"] > 95


def test_predictions_are_ranked_names_and_scores(model, test):
    predictions = model.predict(test, k=3)
    assert len(predictions) == len(test)
    for row in predictions:
        assert 1 <= len(row) <= 3
        assert all(item.label in TOPICS for item in row)
        assert [item.score for item in row] == sorted((item.score for item in row), reverse=True)
    assert predictions.to_csr().shape == (40, 6)
    assert list(predictions.ids) == list(test.ids)


def test_no_label_is_given_twice(model, test):
    for row in model.predict(test, k=len(TOPICS)):
        names = [item.label for item in row]
        assert len(names) == len(set(names)) <= len(TOPICS)


def test_inputs_of_every_kind_give_the_same_answer(model, test):
    expected = model.predict(test)
    texts = list(test.texts)
    for inputs in (texts, tuple(texts), test.texts, np.array(texts, object)):
        assert same(model.predict(inputs), expected)
    one = model.predict(texts[7])
    assert len(one) == 1 and [item.label for item in one[0]] == [item.label for item in expected[7]]


def test_one_at_a_time_is_the_same_as_together(model, test):
    together = model.predict(test)
    for row in range(5):
        alone = model.predict([test.texts[row]])[0]
        assert [item.label for item in alone] == [item.label for item in together[row]]
        np.testing.assert_allclose(
            [item.score for item in alone], [item.score for item in together[row]], rtol=1e-5
        )


def test_fit_takes_texts_and_labels(name, train, brief_model, test):
    labels = [train.labels_of(row) for row in range(len(train))]
    again = brief(name, threads=1).fit(list(train.texts), labels)
    assert same(again.predict(test), brief_model.predict(test))


def test_save_and_load_give_the_same_answer(model, test, tmp_path):
    model.save(tmp_path / "model")
    loaded = treetop.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    assert loaded.statistics == model.statistics
    assert same(loaded.predict(test, k=4), model.predict(test, k=4))
    assert loaded.evaluate(test).to_dict() == model.evaluate(test).to_dict()
    tree, again = model.tree, loaded.tree
    if tree is not None:
        assert again is not None
        assert sorted(tree.labels) == list(range(len(TOPICS)))
        assert again.sizes == tree.sizes and np.array_equal(again.labels, tree.labels)
    loaded.save(tmp_path / "copy")  # a loaded model can be saved again
    assert same(treetop.load(tmp_path / "copy").predict(test), model.predict(test))


def test_a_pickle_gives_the_same_answer(model, test):
    again = pickle.loads(pickle.dumps(model))
    assert same(again.predict(test), model.predict(test))
    assert again.config == model.config and again.statistics == model.statistics


LOAD_EACH = """
import json, sys, treetop
for folder in sys.argv[2:]:
    for module in [name for name in sys.modules if name.startswith("treetop") and name != "treetop._native"]:
        del sys.modules[module]
    import treetop
    print(json.dumps([item.label for item in treetop.load(folder).predict(sys.argv[1], k=2)[0]]), flush=True)
"""


@pytest.mark.slow
def test_loaded_models_need_only_their_folders(train, test, tmp_path):
    """One process loads them one after another, with treetop's modules imported again for each."""
    expected = {}
    for name in CASES:
        trained = brief(name).fit(train)
        trained.save(tmp_path / name)
        expected[name] = [item.label for item in trained.predict(test.texts[0], k=2)[0]]
    command = [sys.executable, "-c", LOAD_EACH, test.texts[0], *(tmp_path / name for name in CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=False))
    assert found == expected, done.stderr


def test_same_seed_same_model_on_any_number_of_threads(name, train, model, brief_model):
    states = [brief(name, threads=2).fit(train)._state()]
    states += [(brief_model if model.same_on_any_threads else brief(name, threads=2).fit(train))._state()]
    assert states[0].keys() == states[1].keys() == model._state().keys()
    for part, array in states[0].items():
        assert array.dtype == states[1][part].dtype
        assert array.tobytes() == states[1][part].tobytes(), part


def test_texts_of_unknown_words_get_an_answer(model):
    predictions = model.predict(["", "   ", "zzz qqq xyzzy", "!?"], k=2)
    assert len(predictions) == 4
    for row in predictions:
        assert all(np.isfinite(item.score) for item in row)


def test_empty_and_unlabelled_rows_in_training_do_no_harm(untidy_model, test):
    assert untidy_model.evaluate(test)["P@1"] > 90


def test_label_columns_without_examples_are_never_predicted(untidy_model, test):
    predictions = untidy_model.predict(test, k=6)
    assert predictions.to_csr().shape == (40, 8)
    assert all(item.label in TOPICS for row in predictions for item in row)


def test_no_input_gives_no_rows(model):
    assert len(model.predict([])) == 0


def test_explanations_give_the_predicted_score(model, test):
    if not model.can_explain:
        with pytest.raises(ModelError, match="cannot explain"):
            model.explain(test.texts[0], test.labels[0])
        return
    for label, score in model.predict(test.texts[0], k=3)[0]:
        explanation = model.explain(test.texts[0], label)
        assert (explanation.label, explanation.reached) == (label, True)
        assert explanation.score == pytest.approx(score, rel=1e-6)
        assert explanation.to_dict()["label"] == label


def test_updates_learn_from_more_examples(name, train, model, test):
    old, more = train[:30], train[30:]
    if not model.can_update:
        with pytest.raises(ModelError, match="cannot be updated"):
            model.update(more, old)
        return
    updated = new(name).fit(old)
    before = updated.evaluate(test)["R@5"]
    assert updated.update(more, old) is updated
    assert updated.statistics["examples"] == len(train) and updated.evaluate(test)["R@5"] >= before
    assert updated.evaluate(test)["P@1"] > 90


def test_weights_are_used_or_refused(name, train, test, brief_model):
    weights = np.arange(len(train)) % 3
    if not brief_model.weighs_examples:
        with pytest.raises(ConfigError, match=f"{method_of(name)} cannot weigh training examples: leave out"):
            brief(name).fit(train, sample_weight=weights)
        return
    model = brief(name, threads=1).fit(train, sample_weight=weights)
    kept = train[weights > 0].with_weights(weights=weights[weights > 0])
    assert same(model.predict(test), brief(name, threads=1).fit(kept).predict(test))
    plain = brief(name, threads=1).fit(dataclasses.replace(kept, weights=None))
    assert not same(model.predict(test), plain.predict(test))


def test_threshold(model, test):
    scores = model.predict(test, k=6).scores
    middle = float(np.median(scores))
    predictions = model.predict(test, k=6, threshold=middle)
    assert len(predictions) == len(test)
    assert predictions.scores.min() > middle
    assert len(predictions.scores) == (scores > middle).sum()


def test_calibrated_scores_are_probabilities_in_the_same_order(model, train, test, tmp_path):
    before = model.predict(test, k=6)
    model.save(tmp_path / "model")
    calibrated = treetop.load(tmp_path / "model").calibrate(train)
    after = calibrated.predict(test, k=6)
    assert np.array_equal(after.indices, before.indices)
    assert after.scores.min() >= 0 and after.scores.max() <= 1
    assert calibrated.predict(test, threshold=0.5).scores.min() > 0.5
    calibrated.save(tmp_path / "calibrated")
    assert same(treetop.load(tmp_path / "calibrated").predict(test, k=6), after)
    assert same(model.predict(test, k=6), before)


def test_calibration_while_training(name, train, brief_model, test):
    calibrated = brief(name, threads=1, calibration="platt").fit(train)
    assert calibrated.statistics["calibration"] == {"kind": "platt", "examples": 15, "source": "train"}
    assert np.array_equal(calibrated.predict(test).indices, brief_model.predict(test).indices)


def test_labels_unseen_in_training_count_as_missed(model, test):
    labels = [[*test.labels_of(row), "juggling"] for row in range(len(test))]
    other = Dataset.from_texts(test.texts, labels)
    assert model.evaluate(other)["R@5"] < model.evaluate(test)["R@5"] - 10
    assert model.evaluate(other)["P@1"] == model.evaluate(test)["P@1"]


def test_one_label_only(name):
    model = new(name).fit(["bread and flour", "flour bread"], [["baking"], ["baking"]])
    assert [item.label for item in model.predict("bread", k=1)[0]] == ["baking"]


def test_one_text_only(name):
    model = new(name).fit(["bread and flour"], ["baking"])
    assert [item.label for item in model.predict("bread")[0]] == ["baking"]
    assert len(model.predict(text for text in ["bread", "flour"])) == 2


def test_bad_training_input(name):
    with pytest.raises(DataError, match="no training examples"):
        new(name).fit([], [])
    with pytest.raises(DataError, match="none of the 2 examples has a label"):
        new(name).fit(["a text", "another"], [[], []])
    with pytest.raises(DataError, match="give their labels"):
        new(name).fit(["a text", "another"])
    with pytest.raises(DataError, match="1 row of Y but 2 examples"):
        new(name).fit(["a text", "another"], [["x"]])
    with pytest.raises(DataError, match="row 1 is int, not a text"):
        new(name).fit(["a text", 3], [["x"], ["y"]])
    with pytest.raises(DataError, match="labels of row 1 are missing"):
        new(name).fit(["a text", "another"], [["x"], None])
    with pytest.raises(DataError, match="str is not a list of texts"):
        new(name).fit("a text", [["x"]])
    with pytest.raises(
        ConfigError, match=f"the training of {method_of(name)} has no option 'colour'; its options: "
    ):
        new(name).fit(["a text", "another"], [["x"], ["y"]], colour=1)


DAMAGES = {
    "short": lambda array: array[:-1],
    "empty": lambda array: array[:0],
    "foreign byte order": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "table": lambda array: array.reshape(1, -1),
    "all ones": lambda array: np.full_like(array, -1 if array.dtype.kind == "i" else 255),
    "not numbers": lambda array: array if array.dtype.kind != "f" else np.full_like(array, np.nan),
}


def one_of_each_role(arrays: Mapping[str, np.ndarray]) -> Iterable[str]:
    """The first of arrays whose names differ in numbers only, or that all are an encoder's weights."""
    roles: dict[tuple[str, int], str] = {}
    for name, array in arrays.items():
        role = re.sub(r"\d+", "#", re.sub(r"(?<=\.transformer\.).*\.", "", name))
        roles.setdefault((role, array.ndim), name)
    return roles.values()


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_do_not_fit_give_a_sentence_or_an_answer(model, test, tmp_path, damage):
    """A folder somebody else made, with checksums that match: never a crash, never an internal error."""
    model.save(tmp_path / "model")
    stored = store.load(tmp_path / "model")
    for array_name in one_of_each_role(stored.arrays):
        changed = stored.arrays | {array_name: DAMAGES[damage](np.array(stored.arrays[array_name]))}
        with contextlib.suppress(TreetopError):
            list(
                type(model).from_stored(dataclasses.replace(stored, arrays=changed), "changed").predict(test)
            )


def test_statistics_that_are_missing_or_wrong(model, tmp_path):
    model.save(tmp_path / "model")
    stored = store.load(tmp_path / "model")
    for data in ({}, stored.data | {"examples": "many"}, stored.data | {"examples": 0}):
        store.save(tmp_path / "changed", dataclasses.replace(stored, data=data))
        with pytest.raises(ModelError, match="examples"):
            treetop.load(tmp_path / "changed")


def test_bad_prediction_input(name, model, test):
    with pytest.raises(ModelError, match="not trained"):
        new(name).predict(["text"])
    with pytest.raises(DataError, match="k is 7 but the model knows only 6 labels"):
        model.predict(test, k=7)
    with pytest.raises(DataError, match="k must be at least 1"):
        model.predict(test, k=0)
    with pytest.raises(DataError, match=r"k must be a whole number, not 2\.5"):
        model.predict(test, k=2.5)
    with pytest.raises(DataError, match="row 0 is missing"):
        model.predict([None])
    with pytest.raises(DataError, match="NoneType is not a list of texts"):
        model.predict(None)
    with pytest.raises(DataError, match="give their labels too"):
        model.evaluate(["text"])
    with pytest.raises(ConfigError, match="threshold must be a number, not nan"):
        model.predict(test, threshold=float("nan"))
    with pytest.raises(ConfigError, match=f"a prediction of {method_of(name)} has no option 'colour'"):
        model.predict(test, colour=1)
    with pytest.raises(ConfigError, match="an evaluation has no option 'metric'; did you mean 'metrics'"):
        model.evaluate(test, metric=("P",))
    with pytest.raises(DataError, match="trained on texts"):
        model.predict(sparse.csr_matrix((1, 3), dtype=np.float32))


def test_bad_settings(name):
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        treetop.make(method_of(name), sed=1)
    with pytest.raises(ConfigError, match="threads must be at least 0"):
        treetop.make(method_of(name), threads=-1)
    with pytest.raises(ConfigError, match="seed must be at most"):
        treetop.make(method_of(name), seed=2**64)
    with pytest.raises(ConfigError, match="threads must be at most 4096, not 100000"):
        treetop.make(method_of(name), threads=100_000)


FEATURE_METHODS = ["xr-linear", "parabel", "bonsai", "plt", "neighbours", "hybrid", "dismec", "ensemble"]


@pytest.mark.parametrize("name", FEATURE_METHODS)
def test_feature_matrices(name, tmp_path):
    X, Y = planted(200, 20, 60, seed=0)
    model = new(name).fit(Dataset.from_matrices(X, Y))
    predictions = model.predict(X, k=5)
    assert model.evaluate(Dataset.from_matrices(X, Y))["P@1"] > 80
    assert same(new(name).fit(X, Y).predict(X), predictions)
    model.save(tmp_path / "model")
    assert same(treetop.load(tmp_path / "model").predict(X.toarray()), predictions)
    with pytest.raises(DataError, match="trained on features"):
        model.predict(["a text"])
    bad = X.copy()
    bad.data[bad.indptr[3]] = np.nan
    with pytest.raises(DataError, match="row 3 contain NaN"):
        model.predict(bad)
    with pytest.raises(DataError, match="row 3 contain NaN"):
        new(name).fit(bad, Y)
    with pytest.raises(DataError, match="60 features but the input has 10"):
        model.predict(X[:, :10])
