"""Networks with label trees that are killed during training, and resume to the same result."""

from __future__ import annotations

import dataclasses
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset, Strings, checkpoints
from treetop.checkpoints import digest_of
from treetop.neural import distributed
from treetop.neural.training import Training
from treetop.tree.label_clusters import LabelClusters

ENCODED = {
    "encoder": tiny_bert(), "epochs": 2, "batch_size": 16, "max_length": 16, "learning_rate": 1e-3,
    "save_every": 0, "device": "cpu", "threads": 1,
}  # fmt: skip
LIGHT = ENCODED | {"layers": 2, "cluster_size": 2, "cluster_beam": 2, "hidden": 8}
CASCADE = ENCODED | {"clusters": (3,), "taps": (1, 1, 2), "cluster_beam": (2,)}
ATTENTION = {
    "epochs": 2, "batch_size": 16, "hidden": 8, "scorer": (8,), "dimension": 8, "clusters": (3,),
    "cluster_beam": 2, "save_every": 0, "device": "cpu", "threads": 1,
}  # fmt: skip
STEPS = 8
"""In two epochs of 60 texts."""


class KilledError(Exception):
    pass


def test_a_state_belongs_to_a_label_tree(train, tmp_path):
    model = treetop.make("cascadexml", **CASCADE).fit(train)
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        tokens = model.reader.tokens(train.texts)
        named = dataclasses.replace(train, label_texts=Strings.of(["a"] * len(train.labels)))
        one = model._checkpoint_name(train, None, tokens, train.Y)
        assert one is not None and one == model._checkpoint_name(train, None, tokens, train.Y)
        assert one != model._checkpoint_name(named, None, tokens, train.Y)
        *above, last = model.clusters.parents
        model.clusters = LabelClusters((*above, last[::-1].copy()))
        assert one != model._checkpoint_name(train, None, tokens, train.Y)


def test_a_state_belongs_to_the_vectors_and_encoders_that_a_training_begins_with(
    train, tmp_path, monkeypatch
):
    names = []

    def name_of(kind: str, *parts) -> str:
        names.append(f"{kind}-{digest_of(*parts)}")
        return names[-1]

    monkeypatch.setattr(checkpoints, "name_of", name_of)
    monkeypatch.setattr(checkpoints, "folder", lambda: tmp_path)
    monkeypatch.setattr(checkpoints, "find", lambda name: None)

    def name(method: str, **settings) -> str:
        names.clear()
        with pytest.raises(KilledError):
            treetop.make(method, **settings).fit(train)
        return names[-1]

    def stop(*arguments):
        raise KilledError

    monkeypatch.setattr(Training, "run", stop)
    vectors = tmp_path / "vectors.txt"
    words = {"epochs": 1, "dimension": 2, "filters": 2, "words.vectors": str(vectors), "device": "cpu"}
    found = []
    for number in (1, 2, 1):
        vectors.write_text(f"the {number} 2\nand 3 4\n")
        found.append(name("kim-cnn", **words))
    assert found[0] == found[2] != found[1]
    folder = tmp_path / "encoder"
    shutil.copytree(ENCODED["encoder"], folder)
    weights = load_file(folder / "model.safetensors")
    changed = weights | {"embeddings.LayerNorm.bias": weights["embeddings.LayerNorm.bias"] + 1}
    for method in ("flat-transformer", "xr-transformer", "x-transformer"):
        found = []
        for now in (weights, changed, weights):
            save_file(now, folder / "model.safetensors")
            found.append(name(method, **ENCODED | {"encoder": str(folder)}))
        assert found[0] == found[2] != found[1]


def test_processes_round_weights_alike_and_drop_other_units(monkeypatch):
    monkeypatch.setattr(distributed.dist, "is_initialized", lambda: True)
    drawn = {}
    for rank in (0, 1):
        monkeypatch.setattr(distributed, "process_rank", lambda rank=rank: rank)
        for alike in (False, True):
            distributed.reseed(3, 7, alike=alike)
            drawn[rank, alike] = torch.rand(4)
    assert torch.equal(drawn[0, True], drawn[1, True])
    assert not torch.equal(drawn[0, False], drawn[1, False])


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0), source="train")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "settings", "killed_in", "together"),
    [
        ("lightxml", LIGHT, 3, STEPS),
        ("lightxml", LIGHT | {"cluster_size": 1, "average": "swa"}, 6, STEPS),
        ("lightxml", LIGHT | {"sparse": True}, 5, STEPS),
        ("cascadexml", CASCADE, 3, STEPS),
        ("cascadexml", CASCADE | {"sparse": True, "schedule": "cosine-ends"}, 6, STEPS),
        ("attention-xml", ATTENTION, 3, 2 * STEPS),
        ("attention-xml", ATTENTION, STEPS + 3, 2 * STEPS),
        ("attention-xml", ATTENTION | {"warm_start": False}, STEPS + 1, 2 * STEPS),
    ],
)
def test_a_killed_training_goes_on_to_the_same_end(
    train, tmp_path, monkeypatch, method, settings, killed_in, together
):
    whole = treetop.make(method, **settings).fit(train)
    moves = []
    move = Training._optimizer_step

    def dying(self):
        moves.append(1)
        if len(moves) == killed_in:
            raise KilledError
        move(self)

    monkeypatch.setattr(Training, "_optimizer_step", dying)
    with pytest.raises(KilledError), checkpoints.keeping(tmp_path / "kept", resume=True):
        treetop.make(method, **settings).fit(train)
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        resumed = treetop.make(method, **settings).fit(train)
    assert len(moves) == together + 1  # the step that was not finished is the only one made twice
    expected, found = whole.network.state_dict(), resumed.network.state_dict()
    assert all(torch.equal(found[name], value) for name, value in expected.items())
    lists = [model.predict(train, k=3) for model in (whole, resumed)]
    assert (lists[0].to_csr() != lists[1].to_csr()).nnz == 0
    assert not (tmp_path / "kept").exists()
    courses = [[entry["loss"] for entry in model.training_log["epochs"]] for model in (whole, resumed)]
    assert courses[0] == courses[1] and len(courses[0]) == together // 4
