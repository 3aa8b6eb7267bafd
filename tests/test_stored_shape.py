"""What the configuration of a stored encoder may contain, and that nothing in it fetches or runs anything."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
import transformers

from tiny_bert import LONGEST, tiny_bert
from treetop import Strings
from treetop.errors import ModelError
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.stored_shape import reduced
from treetop.neural.text_encoder import TextEncoder

HOSTILE = {
    "attn_implementation": "someone/kernel",
    "_attn_implementation": "someone/kernel",
    "_attn_implementation_internal": "someone/kernel",
    "experts_implementation": "someone/kernel",
    "auto_map": {"AutoModel": "someone/code--modeling.Model"},
    "trust_remote_code": True,
    "_name_or_path": "someone/code",
    "name_or_path": "someone/code",
    "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True},
    "dtype": "load",
    "use_kernels": True,
    "to_dict": 3,
    "hidden_act": "someone/kernel:act",
    "rope_parameters": {"rope_type": "default", "_attn_implementation": "someone/kernel"},
}


@functools.cache
def pretrained() -> TextEncoder:
    return TextEncoder.pretrained(EncoderConfig(encoder=tiny_bert()), LONGEST)


@pytest.fixture
def nothing_is_fetched(monkeypatch):
    """Every way to the hub, to code of others and to kernels ends the test."""
    pretrained()

    def fetched(*args, **_):
        raise AssertionError(f"fetched {args}")

    monkeypatch.setattr("socket.create_connection", fetched)
    monkeypatch.setattr("huggingface_hub.file_download.hf_hub_download", fetched)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    monkeypatch.setattr("transformers.models.auto.auto_factory.get_class_from_dynamic_module", fetched)
    monkeypatch.setattr("transformers.models.auto.auto_factory.resolve_trust_remote_code", fetched)
    monkeypatch.setattr("transformers.integrations.hub_kernels.get_kernel", fetched, raising=False)
    monkeypatch.setattr("transformers.modeling_flash_attention_utils.lazy_import_flash_attention", fetched)


def stored(**fields) -> tuple[TextEncoder, dict[str, np.ndarray]]:
    """An encoder, and its arrays with other fields in its configuration."""
    made = pretrained()
    arrays = made.whole_state()
    described = json.loads(arrays["shape.config"].tobytes())
    described["config"] |= fields
    arrays["shape.config"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
    return made, arrays


def test_hostile_fields_are_ignored(nothing_is_fetched):
    made, arrays = stored(**HOSTILE)
    again = TextEncoder.from_whole_state(made.encoder.config, LONGEST, arrays)
    config = again.encoder.transformer.config
    assert not set(vars(config)) & {"auto_map", "trust_remote_code", "quantization_config", "use_kernels"}
    assert config._attn_implementation in ("sdpa", "eager") and config.name_or_path == ""
    assert config.hidden_act == "gelu" and callable(config.to_dict)
    tokens = made.tokens(Strings.of(["bread oven", "rook"]))
    states = [each.encoder.state_dict() for each in (made, again)]
    assert len(tokens[1]) and all(states[0][name].equal(states[1][name]) for name in states[0])


def test_flash_attention_that_is_not_installed_is_not_fetched(nothing_is_fetched, monkeypatch):
    _, arrays = stored()
    monkeypatch.setattr("treetop.neural.encoder.is_flash_attn_2_available", lambda: False)
    config = EncoderConfig(encoder=tiny_bert(), attention="flash_attention_2")
    again = TextEncoder.from_whole_state(config, LONGEST, arrays)
    assert again.encoder.transformer.config._attn_implementation in ("sdpa", "eager")


def test_only_known_fields_are_written():
    config = transformers.BertConfig(
        hidden_size=32, num_attention_heads=2, **{"auto_map": {"AutoModel": "x"}}
    )
    fields = reduced(config.to_dict() | HOSTILE)
    assert fields["hidden_size"] == 32 and fields["model_type"] == "bert"
    assert not fields.keys() & HOSTILE.keys() - {"rope_parameters"} and "transformers_version" not in fields
    assert "rope_parameters" not in fields  # it holds a field that is not safe
    assert reduced(fields) == fields


@pytest.mark.parametrize("family", ["detr", "timm_wrapper", "timm_backbone", "somebody", "../x", 3, None])
def test_other_families_are_refused(family, nothing_is_fetched):
    _, arrays = stored(model_type=family)
    with pytest.raises(ModelError, match="the encoder of the model is damaged"):
        TextEncoder.from_whole_state(EncoderConfig(), LONGEST, arrays)


@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_size": "32"}, {"hidden_size": -4}, {"hidden_size": 0}, {"hidden_size": 33},
        {"num_attention_heads": 0}, {"hidden_act": "no_such"}, {"hidden_act": 3}, {"layer_norm_eps": "x"},
        {"vocab_size": 10**30}, {"vocab_size": 10**8}, {"max_position_embeddings": 10**12},
        {"pad_token_id": 10**6}, {"num_hidden_layers": "many"}, {"num_hidden_layers": None},
    ],
)  # fmt: skip
def test_wrong_values_are_named(fields):
    made, arrays = stored(**fields)
    with pytest.raises(
        ModelError, match=r"the encoder of the model is damaged|the array weights\..* must be"
    ):
        TextEncoder.from_whole_state(made.encoder.config, LONGEST, arrays)


@pytest.mark.parametrize("config", ["[]", "3", '"bert"', "null", "[" * 100_000, '{"padding": 0}'])
def test_other_json_is_named(config):
    made, arrays = stored()
    arrays["shape.config"] = np.frombuffer(config.encode(), np.uint8)
    with pytest.raises(ModelError, match="the encoder of the model is damaged"):
        TextEncoder.from_whole_state(made.encoder.config, LONGEST, arrays)


def test_too_many_layers(monkeypatch):
    made, arrays = stored(num_hidden_layers=50_000)
    with pytest.raises(
        ModelError, match=r"num_hidden_layers .* is 50,000, and the limit is 1,000.*TREETOP_LIMITS"
    ):
        TextEncoder.from_whole_state(made.encoder.config, LONGEST, arrays)
    monkeypatch.setenv("TREETOP_LIMITS", "layers=1")
    with pytest.raises(ModelError, match="is 2, and the limit is 1"):
        TextEncoder.from_whole_state(made.encoder.config, LONGEST, made.whole_state())
