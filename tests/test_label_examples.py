"""Texts of labels as examples: which there are, and that nothing is evaluated on them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import treetop
from test_contract import topic_texts
from treetop import Dataset, Ensemble, Strings
from treetop.data.held_out import held_out_rows
from treetop.errors import ConfigError, DataError, ModelError


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0), ids=[str(row) for row in range(60)], source="train")


def test_every_label_that_occurs_and_has_a_letter_is_an_example():
    data = Dataset.from_texts(["one", "two"], [["b", "7"], ["a"]])
    data = data.with_label_texts({"a": "the letter a", "b": "the letter b", "7": "seven"})
    more = data.with_label_examples()
    assert list(more.texts) == ["one", "two", "seven", "the letter a", "the letter b"]
    assert [labels for _, labels in more][2:] == [["7"], ["a"], ["b"]]
    assert list(more.example_rows()) == [0, 1] and list(more[::-1].example_rows()) == [3, 4]
    assert list(more[np.array([-1, 0])].example_rows()) == [1]
    assert list(more.with_label_examples().texts) == list(more.texts)
    nameless = Dataset.from_texts(["one", "two"], [["b", "7"], ["a"]]).with_label_examples()
    assert list(nameless.texts)[2:] == ["a", "b"]
    with pytest.raises(DataError, match="label_examples needs labelled texts"):
        Dataset.from_matrices(np.eye(2), np.eye(2), texts=["one", "two"]).with_label_examples()
    unused = Dataset(labels=data.labels, texts=data.texts, Y=data.Y[:, [0, 1, 2]].multiply([[1, 1, 0]]))
    assert list(unused.with_label_examples().texts)[2:] == ["a"]
    with pytest.raises(DataError, match="label_examples needs labelled texts"):
        Dataset.from_matrices(np.eye(2), np.eye(2)).with_label_examples()


def test_features_of_labels_are_examples():
    """Of labels that occur and have features; next to texts, both are added."""
    Y = np.array([[1, 0, 0], [0, 1, 1.0]])
    own = np.array([[0.5, 0, 0], [0, 0, 0], [0, 0, 2]])
    data = Dataset(labels=Strings.of("abc"), X=np.eye(2, 3), Y=Y, label_features=own)
    more = data.with_label_examples()
    assert more.texts is None and more.X.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0.5, 0, 0], [0, 0, 2]]
    assert more.Y.toarray().tolist() == [*Y.tolist(), [1, 0, 0], [0, 0, 1]]
    assert list(more.example_rows()) == [0, 1]
    both = dataclasses.replace(data, texts=Strings.of(["one", "two"])).with_label_examples()
    assert list(both.texts) == ["one", "two", "a", "c"] and both.X.shape == (4, 3)
    model = treetop.make("xr-linear", label_examples=True, leaf_size=2).fit(data)
    assert model.predict(np.array([[0, 0, 1.0]]), k=1)[0][0].label == "c"


def test_they_are_never_held_out(data):
    more = data.with_label_examples()
    for seed in range(5):
        kept, held_out = held_out_rows(more, 0.3, seed, "test")
        assert held_out.max() < 60 and len(held_out) == 18
        assert list(kept[-6:]) == list(range(60, 66))
    grouped = Dataset.from_texts(*topic_texts(60, seed=0), groups=[str(row % 7) for row in range(60)])
    kept, held_out = held_out_rows(grouped.with_label_examples(), 0.3, 0, "test")
    assert held_out.max() < 60 and kept[-1] == 65
    turned = more[::-1]
    kept, held_out = held_out_rows(turned, 0.3, 0, "test")
    assert held_out.min() >= 6 and list(kept[:6]) == list(range(6))


def test_a_label_is_found_by_its_own_words():
    texts = ["boats and wind"] * 4 + ["bread and flour"] * 4
    data = Dataset.from_texts(texts, [["sailing"]] * 4 + [["baking"]] * 4)
    data = data.with_label_texts({"sailing": "regatta", "baking": "patisserie"})
    plain, taught = (treetop.make("xr-linear", min_df=1, label_examples=on).fit(data) for on in (False, True))
    for word, label in (("regatta", "sailing"), ("patisserie", "baking")):
        first, second = taught.predict(word, k=2)[0]
        assert first.label == label and first.score > 2 * second.score
    assert len({round(item.score, 6) for item in plain.predict("regatta", k=2)[0]}) == 1
    assert taught.statistics["examples"] == 8 and list(taught.label_counts) == [4, 4]


@pytest.mark.parametrize("method", ["hybrid", "neighbours", "ensemble"])
def test_methods_that_hold_out(method, data):
    settings = {"methods": "xr-linear,neighbours", "rule": "learned"} if method == "ensemble" else {}
    model = treetop.make(method, label_examples=True, **settings).fit(data)
    assert model.statistics["examples"] == 60
    assert model.evaluate(data)["P@1"] > 90
    if isinstance(model, Ensemble):
        assert [member.config.label_examples for member in model.members] == [True, True]


def test_calibration_is_learned_from_examples_only(data):
    model = treetop.make("xr-linear", label_examples=True, calibration="platt").fit(data)
    assert model.statistics["calibration"]["examples"] == 6


def test_mistakes(data):
    with pytest.raises(ConfigError, match="label_examples rules out"):
        treetop.make("xr-linear", label_examples=True, keep_data=True)
    model = treetop.make("xr-linear", label_examples=True).fit(data)
    with pytest.raises(ModelError, match="label_examples cannot be updated"):
        model.update(data, data)
    for negatives in (data.Y, data.Y.toarray()):
        with pytest.raises(ConfigError, match="which a matrix passed to fit lacks"):
            treetop.make("xr-linear", label_examples=True, negatives="given").fit(data, negatives=negatives)
    with pytest.raises(ConfigError, match="for methods given by name"):
        Ensemble([treetop.XRLinear()], label_examples=True)


def test_a_refused_training_leaves_the_model_as_it_was(data, tmp_path):
    model = treetop.make("xr-linear", label_examples=True, calibration="platt").fit(data)
    with pytest.raises(DataError, match="labelled texts"):
        model._train(Dataset.from_matrices(np.eye(2), np.eye(2)), {})
    model.save(tmp_path / "model")
    assert treetop.load(tmp_path / "model").calibration is not None


def test_an_ensemble_of_named_members_can_be_made_again(data):
    model = treetop.make("ensemble", methods="xr-linear,neighbours", label_examples=True).fit(data)
    again = model.blank().fit(data)
    assert [member.config.label_examples for member in again.members] == [True, True]
    assert np.array_equal(again.predict(data).scores, model.predict(data).scores)
