"""Feature matrices next to texts, and own label trees, in methods with networks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import treetop
from small_data import TOPICS, topic_texts
from test_contract import CASES
from treetop import Dataset, LabelTree
from treetop.errors import ConfigError, DataError
from treetop.features import fitted_tfidf
from treetop.linear.joined_ranker import JoinedRankerConfig

JOINED = ("x-transformer", "xr-transformer", "flat-transformer", "lightxml", "cascadexml")
CLUSTERED = ("x-transformer", "xr-transformer", "lightxml", "cascadexml", "attention-xml")


def brief(name: str, **settings):
    return treetop.make(name, **(CASES[name] | {"epochs": 1, "threads": 1} | settings))


@pytest.fixture(scope="module")
def texts() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0), source="train")


@pytest.fixture(scope="module")
def tfidf(texts):
    return fitted_tfidf(JoinedRankerConfig().tfidf, texts.texts, 1)


def with_features(data: Dataset, tfidf) -> Dataset:
    """Features of the usual TF-IDF, with rows of length 3."""
    return dataclasses.replace(data, X=3 * tfidf[0].transform(data.texts))


@pytest.mark.parametrize("name", JOINED)
def test_given_features_take_the_place_of_tfidf(name, texts, tfidf, tmp_path):
    test = Dataset.from_texts(topic_texts(10, seed=1)[0], source="test")
    given, new = with_features(texts, tfidf), with_features(test, tfidf)
    own = brief(name).fit(texts).predict(test.texts, k=3)
    model = brief(name).fit(given)
    found = model.predict(new, k=3)
    assert np.array_equal(found.indices, own.indices)
    np.testing.assert_allclose(found.scores, own.scores, atol=1e-4)
    assert model.needs_features and model.statistics["input"] == "texts and features"

    model.save(tmp_path / "model")
    loaded = treetop.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(new, k=3).scores, found.scores)
    with pytest.raises(DataError, match="trained on texts with given features but the input has none"):
        loaded.predict(test.texts)
    with pytest.raises(DataError, match=f"takes {new.X.shape[1]} features but the input has 2"):
        loaded.predict(dataclasses.replace(test, X=new.X[:, :2]))


def test_clusters_are_of_given_features(texts, tfidf):
    """AttentionXML reads features only to cluster the labels."""
    by_texts, by_features = (
        brief("attention-xml").fit(texts),
        brief("attention-xml").fit(with_features(texts, tfidf)),
    )
    assert np.array_equal(by_texts.tree.labels, by_features.tree.labels)
    assert not by_features.needs_features
    shuffled = with_features(texts, tfidf)
    shuffled = dataclasses.replace(shuffled, X=shuffled.X[::-1])
    assert not np.array_equal(brief("attention-xml").fit(shuffled).tree.labels, by_texts.tree.labels)
    assert len(by_features.predict(["oven boat"], k=2)) == 1


@pytest.mark.parametrize("name", ["xr-transformer", "lightxml"])
def test_label_features_take_the_place_of_label_texts(name, texts, tfidf):
    named = texts.with_label_texts({name: f"{words} {name}" for name, words in TOPICS.items()})
    given = dataclasses.replace(
        with_features(texts, tfidf), label_features=tfidf[0].transform(named.label_texts)
    )
    settings = {"tree.vectors": "label-text", "tree.vector_min_df": 1}
    by_texts, by_features = (brief(name, **settings).fit(data) for data in (named, given))
    assert np.array_equal(by_texts.tree.labels, by_features.tree.labels)
    with pytest.raises(ConfigError, match="label features"):
        brief(name, **settings).fit(with_features(texts, tfidf))


@pytest.mark.parametrize("name", CLUSTERED)
def test_own_clusters(name, texts):
    labels = list(texts.labels)
    parents = {label: f"cluster {number % 2}" for number, label in enumerate(labels)}
    tree = LabelTree.from_parents(parents | {"never seen": "cluster 2"}, texts.labels)
    settings = {"refine": False} if name == "xr-transformer" else {}
    model = brief(name, **settings).fit(texts, tree=tree)
    assert model.tree.sizes == [2, len(labels)]
    members = [{labels[label] for label in model.tree.members(0, node)} for node in range(2)]
    assert members == [
        {label for label in labels if parents[label] == f"cluster {node}"} for node in range(2)
    ]


@pytest.mark.parametrize("name", ["x-transformer", "lightxml"])
def test_own_clusters_of_several_levels(name, texts):
    parents = dict.fromkeys(texts.labels, "below") | {"below": "above"}
    tree = LabelTree.from_parents(parents, texts.labels)
    with pytest.raises(ConfigError, match=f"{name} has one level of clusters, but the label tree has 2"):
        brief(name).fit(texts, tree=tree)


def test_own_clusters_without_a_label(texts):
    tree = LabelTree.flat(np.arange(1, len(texts.labels), dtype=np.int32))
    with pytest.raises(DataError, match="the label tree lacks 1 label with training examples, such as"):
        brief("cascadexml").fit(texts, tree=tree)


def test_networks_without_clusters_take_no_tree(texts):
    with pytest.raises(ConfigError, match="no option 'tree'"):
        brief("kim-cnn").fit(texts, tree=LabelTree.flat(np.arange(3, dtype=np.int32)))


def test_a_restricted_tree():
    """Labels 0 to 5 under clusters {0, 1}, {2}, {3, 4, 5} of two branches; without 2 and 4."""
    tree = LabelTree((np.array([0, 2]), np.array([0, 2, 3]), np.array([0, 2, 3, 6])), np.arange(6))
    kept = tree.restricted(np.array([1, 1, 0, 1, 0, 1], bool))
    assert [list(borders) for borders in kept.offsets] == [[0, 2], [0, 1, 2], [0, 2, 4]]
    assert list(kept.labels) == [0, 1, 3, 5]
