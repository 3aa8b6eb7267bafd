"""The papers' ensembles: networks of one method with clusters of their own, or with encoders of their own."""

from __future__ import annotations

import numpy as np
import pytest

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset

SMALL = {
    "lightxml": {"cluster_size": 2, "cluster_beam": 2, "layers": 2, "rankers": False},
    "cascadexml": {"clusters": (3,), "taps": (1, 2, 2), "cluster_beam": (2,), "rankers": False},
    "attention-xml": {
        "clusters": (2,), "cluster_beam": 2, "dimension": 8, "spread": 1, "attention.hidden": 8,
        "attention.scorer": (8,),
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(80, seed=0), source="train")


def member(name: str, seed: int, **settings) -> treetop.Method:
    own = {} if name == "attention-xml" else {"encoder": tiny_bert()}
    quick = {"epochs": 1, "batch_size": 16, "max_length": 16, "device": "cpu", "threads": 1, "seed": seed}
    return treetop.make(name, **(quick | own | SMALL[name] | settings))


def scores(model: treetop.Method, data: Dataset) -> np.ndarray:
    return model.predict(data, k=6).to_csr().toarray()


@pytest.mark.parametrize("name", SMALL)
def test_members_have_clusters_of_their_own(name, train, tmp_path):
    together = treetop.Ensemble([member(name, seed) for seed in range(3)]).fit(train)
    clusters = {tuple(part.clusters.parents[-1]) for part in together.members}
    assert len(clusters) > 1
    mean = np.mean([scores(part, train) for part in together.members], axis=0)
    np.testing.assert_allclose(scores(together, train), mean, atol=1e-6)
    together.save(tmp_path / "model")
    np.testing.assert_allclose(scores(treetop.load(tmp_path / "model"), train), mean, atol=1e-6)


@pytest.mark.parametrize("name", ["lightxml", "cascadexml"])
def test_members_have_encoders_of_their_own(name, train, tmp_path):
    folders = tiny_bert(), tiny_bert(layers=3)
    for number, folder in enumerate(folders):
        member(name, 0, encoder=folder).fit(train).save(tmp_path / str(number))
    parts = [treetop.load(tmp_path / str(number)) for number in range(2)]
    assert [part.network.encoder.depth for part in parts] == [2, 3]
    together = treetop.Ensemble(parts)
    together.save(tmp_path / "model")
    mean = (scores(parts[0], train) + scores(parts[1], train)) / 2
    np.testing.assert_allclose(scores(treetop.load(tmp_path / "model"), train), mean, atol=1e-6)
