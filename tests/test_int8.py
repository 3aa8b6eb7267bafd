"""8-bit layers: close to the wide ones, and used only where they are meant to be."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset
from treetop.errors import ConfigError, TreetopError
from treetop.neural.batches import Batch
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.int8 import Int8Linear, with_int8_layers
from treetop.neural.pretrained import pretrained

QUICK = {
    "encoder": tiny_bert(), "epochs": 2, "batch_size": 16, "max_length": 32, "device": "cpu", "threads": 1,
}  # fmt: skip


def test_products_of_whole_numbers_are_exact():
    layer = nn.Linear(4, 2)
    layer.weight.data = torch.tensor([[127.0, -3, 0, 5], [2, 0, -127, 1]])
    layer.bias.data = torch.tensor([0.5, -1])
    rows = torch.tensor([[[127.0, 1, 2, 3], [-127, 0, 0, 64]]])
    with torch.inference_mode():
        assert torch.allclose(Int8Linear(layer)(rows), layer(rows), atol=1e-3)
        assert torch.equal(Int8Linear(layer)(torch.zeros(1, 1, 4))[0, 0], layer.bias)


def test_the_error_is_that_of_rounding():
    torch.manual_seed(0)
    layer = nn.Linear(384, 100)
    rows = torch.randn(50, 384)
    with torch.inference_mode():
        exact, narrow = layer(rows), Int8Linear(layer)(rows)
    assert torch.nn.functional.cosine_similarity(exact, narrow).min() > 0.999


def test_a_copy_is_narrowed():
    network = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 3, bias=False)))
    narrow = with_int8_layers(network)
    assert [type(part).__name__ for part in narrow.modules()].count("Int8Linear") == 2
    assert all(type(part) is not Int8Linear for part in network.modules())
    with torch.inference_mode():
        assert torch.allclose(network(torch.ones(1, 8)), narrow(torch.ones(1, 8)), atol=0.02)


@pytest.mark.parametrize("method", ["flat-transformer", "xr-transformer"])
def test_a_loaded_model_can_be_narrowed(method, tmp_path):
    data = Dataset.from_texts(*topic_texts(80, seed=0))
    model = treetop.make(method, **QUICK).fit(data)
    model.save(tmp_path / "model")
    wide = treetop.load(tmp_path / "model").predict(data, k=6).to_csr().toarray()
    narrow = treetop.load(tmp_path / "model", int8=True).predict(data, k=6).to_csr().toarray()
    assert np.abs(wide - narrow).max() > 0
    assert np.abs(wide - narrow).mean() < 0.02
    both = treetop.Ensemble([model])
    both.save(tmp_path / "both")
    inside = treetop.load(tmp_path / "both", int8=True, threads=1)
    assert np.allclose(inside.predict(data, k=6).to_csr().toarray(), narrow, atol=1e-6)
    with pytest.raises(ConfigError, match="only the settings threads, device, precision, int8, not 'epochs'"):
        treetop.load(tmp_path / "model", epochs=3)


def test_a_model_is_made_with_wide_layers():
    """Network and rankers are those that a training without the setting gives."""
    data = Dataset.from_texts(*topic_texts(80, seed=0))
    for method in ("flat-transformer", "xr-transformer", "x-transformer"):
        wide, narrow = (treetop.make(method, int8=on, **QUICK).fit(data).to_stored() for on in (False, True))
        assert wide.arrays.keys() == narrow.arrays.keys()
        assert all(np.array_equal(wide.arrays[name], narrow.arrays[name]) for name in wide.arrays)


def test_several_threads_predict_at_a_time(tmp_path):
    texts, labels = topic_texts(80, seed=0)
    treetop.make("flat-transformer", **QUICK).fit(texts, labels).save(tmp_path / "model")
    model = treetop.load(tmp_path / "model", int8=True)
    alone = [model.predict(text).scores for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: model.predict(text).scores, texts * 3))
    for ours, theirs in zip(together, alone * 3, strict=True):
        assert np.allclose(ours, theirs, atol=1e-6)


def test_other_weights_are_rounded_anew():
    network = pretrained(EncoderConfig(encoder=tiny_bert()), 32)[0].eval()
    network.narrow = True
    batch = Batch(torch.randint(3, 50, (2, 5)), torch.tensor([5, 5]), torch.arange(2))
    with torch.inference_mode():
        before = network(batch)
        network.load_state_dict({name: 0.5 * value for name, value in network.state_dict().items()})
        assert not torch.allclose(network(batch), before)
        assert torch.allclose(copy.deepcopy(network)(batch), network(batch))
    assert pickle.dumps(network)  # other processes can be sent one


def test_damaged_folders_are_refused_with_settings_too(tmp_path):
    treetop.XRLinear(min_df=1).fit(["a text", "another"], ["x", "y"]).save(tmp_path / "model")
    manifest = tmp_path / "model" / "manifest.json"
    told = json.loads(manifest.read_text())
    for damaged in ([1], {"no_such_setting": 1}):
        manifest.write_text(json.dumps(told | {"config": damaged}))
        for settings in ({}, {"threads": 1}):
            with pytest.raises(TreetopError):
                treetop.load(tmp_path / "model", **settings)
