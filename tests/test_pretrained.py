"""Encoders from folders and from the hub: which are accepted, and the errors for the others."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import treetop
from test_contract import topic_texts
from test_encoder import vectors
from tiny_bert import LONGEST, WIDTH, save_tokenizer, tiny_bert
from treetop import Strings
from treetop.errors import ConfigError
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.pretrained import hub_is_out_of_reach, pretrained
from treetop.neural.text_encoder import TextEncoder

USUAL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": LONGEST,
}  # fmt: skip
FAMILIES = {
    "bert": USUAL,
    "roberta": USUAL | {"max_position_embeddings": LONGEST + 2, "pad_token_id": 1},
    "xlnet": {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "modernbert": USUAL | {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    "deberta-v2": USUAL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "electra": USUAL | {"embedding_size": 16},
    "mpnet": USUAL | {"max_position_embeddings": LONGEST + 2, "pad_token_id": 1},
    "albert": USUAL | {"embedding_size": 16},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": LONGEST},
    "t5": {"d_model": 32, "num_layers": 2, "num_heads": 2, "d_ff": 64, "d_kv": 16},
    "bart": {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2},
}
"""Small ones with random weights."""
WITHOUT_DECODER = [name for name in FAMILIES if name not in ("t5", "bart")]


@pytest.fixture
def saved(tmp_path):
    """Folder of an encoder of a family."""

    def save(family: str) -> str:
        folder = tmp_path / family
        save_tokenizer(str(folder), LONGEST)
        config = transformers.AutoConfig.for_model(
            family, **({"vocab_size": 200, "pad_token_id": 0} | FAMILIES[family])
        )
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config).save_pretrained(folder)
        return str(folder)

    return save


@pytest.mark.parametrize("family", WITHOUT_DECODER)
def test_families(family, saved):
    """Loaded from a folder, they distinguish texts, and do not depend on the other texts of a batch."""
    made = TextEncoder.pretrained(EncoderConfig(encoder=saved(family)), LONGEST)
    texts = ["bread oven", "the wind and the harbour and the waves", "rook"]
    together = vectors(made, Strings.of(texts))
    assert abs(together[0] - together[1]).max() > 1e-3
    for text, vector in zip(texts, together, strict=True):
        assert abs(vectors(made, Strings.of([text]))[0] - vector).max() < 1e-5


@pytest.mark.parametrize("family", WITHOUT_DECODER)
def test_nothing_is_left_as_allocated_when_an_encoder_is_rebuilt(family, saved):
    """Not the weights, nor the buffers that no model folder holds: positions, rotary frequencies."""
    made = TextEncoder.pretrained(EncoderConfig(encoder=saved(family)), LONGEST)
    state, texts = (
        made.whole_state(),
        Strings.of(["bread oven", "the wind and the harbour and the waves", ""]),
    )
    torch.use_deterministic_algorithms(True)  # new tensors are filled with NaN
    try:
        again = TextEncoder.from_whole_state(made.encoder.config, LONGEST, state)
    finally:
        torch.use_deterministic_algorithms(False)
    buffers = dict(made.encoder.named_buffers())
    assert buffers.keys() == dict(again.encoder.named_buffers()).keys()
    for name, buffer in again.encoder.named_buffers():
        assert torch.equal(buffer, buffers[name]), name
    assert np.array_equal(vectors(again, texts), vectors(made, texts))


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_an_encoder_with_a_decoder_is_refused(family, saved):
    with pytest.raises(ConfigError, match=rf"also has a decoder \({family}\): choose an encoder-only model"):
        pretrained(EncoderConfig(encoder=saved(family)), 10)


def test_a_first_token_that_sees_nothing_is_refused(saved):
    folder = saved("gpt2")
    with pytest.raises(ConfigError, match=r"pooling=cls: the first token of .* set pooling=mean or last"):
        pretrained(EncoderConfig(encoder=folder, pooling="cls"), 10)
    pretrained(EncoderConfig(encoder=folder, pooling="last"), 10)
    pretrained(EncoderConfig(encoder=saved("xlnet"), pooling="cls"), 10)


def test_xlnet_reads_as_the_released_lightxml(saved, tmp_path):
    """The first token, though XLNet's token for the whole text is the last, in the last layers."""
    folder = saved("xlnet")
    texts, labels = topic_texts(40, seed=0)
    settings = {"encoder": folder, "epochs": 1, "max_length": 16, "rankers": False, "device": "cpu"}
    settings |= {"weight_decay": 0.01, "dropout_steps": 2, "reduction": "mean"}
    model = treetop.make("lightxml", **settings).fit(texts, labels)
    encoder = TextEncoder.pretrained(EncoderConfig(encoder=folder, pooling="cls", layers=5), LONGEST)
    assert model.config.transformer.pooling == "cls" and model.config.transformer.layers == 5
    assert encoder.encoder.width == model.network.encoder.width == 2 * WIDTH  # it has two layers
    found = vectors(encoder, Strings.of(texts[:4]))
    alone = transformers.AutoModel.from_pretrained(folder).eval()
    indptr, numbers = encoder.tokens(Strings.of(texts[:4]))
    for row, (start, end) in enumerate(itertools.pairwise(indptr)):
        ids = torch.from_numpy(numbers[start:end])[None].long()
        with torch.no_grad():
            states = alone(ids, output_hidden_states=True).hidden_states[-2:]
        assert np.allclose(found[row], torch.cat([state[0, 0] for state in states]), atol=1e-5)
    model.save(tmp_path / "model")
    before, after = (one.predict(texts[:5]) for one in (model, treetop.load(tmp_path / "model")))
    assert np.array_equal(before.indices, after.indices) and np.array_equal(before.scores, after.scores)


def test_a_text_needs_room_beside_the_marks():
    for longest in (1, 2):
        with pytest.raises(ConfigError, match=rf"max_length={longest}: the encoder .* adds 2 special tokens"):
            pretrained(EncoderConfig(encoder=tiny_bert()), longest)
    pretrained(EncoderConfig(encoder=tiny_bert()), 3)


@pytest.fixture
def without_connection(monkeypatch) -> list[tuple[str, int]]:
    """Addresses that were asked for; none answers."""
    asked = []

    def unreachable(address, *_, **__):
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", unreachable)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return asked


def test_without_a_connection_what_was_downloaded_is_found_at_once(without_connection, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--somebody--small"
    shutil.copytree(tiny_bert(), folder / "snapshots" / ("1" * 40))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("1" * 40)
    encoder, _ = pretrained(EncoderConfig(encoder="somebody/small"), 10)
    assert encoder.width == WIDTH
    with pytest.raises(
        ConfigError, match="'somebody/large' is not a local folder and could not be downloaded from the hub"
    ):
        pretrained(EncoderConfig(encoder="somebody/large"), 10)
    assert set(without_connection) == {("huggingface.co", 443)}
    assert len(without_connection) < 5  # files that are asked for are asked for six times each


def test_a_proxy_may_reach_the_hub(without_connection, monkeypatch):
    assert hub_is_out_of_reach()
    monkeypatch.setenv("https_proxy", "http://localhost:1")
    assert not hub_is_out_of_reach()


def test_what_is_said_of_an_encoder_that_cannot_be_had(tmp_path, without_connection):
    with pytest.raises(ConfigError, match="is not a local folder and could not be downloaded from the hub"):
        pretrained(EncoderConfig(encoder="nobody/no-such-model"), 10)
    with pytest.raises(ConfigError, match="does not contain a transformer"):
        pretrained(EncoderConfig(encoder=str(tmp_path)), 10)
    with pytest.raises(ConfigError, match=f"max_length={LONGEST + 1}: .* reads at most {LONGEST} tokens"):
        pretrained(EncoderConfig(encoder=tiny_bert()), LONGEST + 1)
    with pytest.raises(ConfigError, match="set layers=1"):
        EncoderConfig(pooling="pooler", layers=2)


def copied(tmp_path: Path, **changes) -> Path:
    """A copy of the small encoder whose config says something else."""
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tiny_bert(), folder)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changes))
    return folder


def refused(folder: Path, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        pretrained(EncoderConfig(encoder=str(folder)), 10)


def test_an_encoder_with_parts_missing_or_damaged_is_refused(tmp_path):
    """transformers itself continues: unknown words become [UNK], and missing weights are random."""
    folder = copied(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).unlink()
    refused(folder, "has no vocabulary")
    refused(
        copied(tmp_path, num_hidden_layers=3), r"lacks weights .*\(encoder\.layer\.2\.\S+ and 15 others\)"
    )
    folder = copied(tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file({f"student.{name}": weight for name, weight in weights.items()}, folder / "model.safetensors")
    refused(folder, "lacks weights")
    refused(copied(tmp_path, hidden_size=64), "does not contain a transformer")
    folder = copied(tmp_path)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:1000])
    refused(folder, "does not contain a transformer")


def test_weights_of_a_pooler_may_be_missing_unless_it_is_asked_for(tmp_path):
    folder = copied(tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file({name: weights[name] for name in weights if "pooler" not in name}, folder / "model.safetensors")
    pretrained(EncoderConfig(encoder=str(folder)), 10)
    with pytest.raises(ConfigError, match=r"lacks weights .*pooler"):
        pretrained(EncoderConfig(encoder=str(folder), pooling="pooler"), 10)
