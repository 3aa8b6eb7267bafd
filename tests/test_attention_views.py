"""What the first token attends to, against the equation on BERT's own weights."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from tiny_bert import WIDTH, tiny_bert
from treetop import Dataset, Strings
from treetop.errors import ConfigError, DataError, MissingExtraError
from treetop.methods.cascade_analysis import attention_views
from treetop.methods.cascadexml import CascadeXML
from treetop.neural.attention_views import AttentionViews
from treetop.report.attention import draw_attention

TEXTS = ["the boat and the wind", "flour", "rook pawn bishop gambit checkmate and the opening"]
HEADS = 2


@pytest.fixture(scope="module")
def model() -> CascadeXML:
    train = Dataset.from_texts(*topic_texts(40, seed=0), source="train")
    settings = {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "device": "cpu", "threads": 1}
    return treetop.make("cascadexml", **settings, taps="1-2").fit(train)


def by_hand(model: CascadeXML, text: str) -> list[np.ndarray]:
    """Of every layer, heads × tokens: softmax(q_0 · k_j / √d)."""
    examples = model._examples(Strings.of([text]))
    (batch,) = examples.batches([np.zeros(1, np.int64)], torch.device("cpu"))
    bert = model.network.encoder.transformer
    with torch.no_grad():
        states = bert(input_ids=batch.tokens.long(), output_hidden_states=True).hidden_states
        found = []
        for layer, state in zip(bert.encoder.layer, states[:-1], strict=True):
            own = layer.attention.self
            query, key = (part(state[0]).view(-1, HEADS, WIDTH // HEADS) for part in (own.query, own.key))
            scores = torch.einsum("hd,jhd->hj", query[0], key) / math.sqrt(WIDTH // HEADS)
            found.append(scores.softmax(-1).numpy())
    return found


def test_weights_by_hand(model):
    views = attention_views(model, TEXTS)
    assert views.layers == (1, 2) and views.lengths.tolist() == [7, 3, 10]
    assert views.weights.shape == (3, 2, HEADS, 10)
    for row, text in enumerate(TEXTS):
        for layer, expected in enumerate(by_hand(model, text)):
            length = int(views.lengths[row])
            assert np.allclose(views.weights[row, layer, :, :length], expected, atol=1e-5)
            assert not views.weights[row, layer, :, length:].any()
    assert np.allclose(views.weights.sum(-1), 1, atol=1e-5)


def test_what_is_told_of_them():
    first, second = [[1, 0, 0, 0], [0.25] * 4], [[0, 1, 0, 0], [0.5, 0.5, 0, 0]]
    weights = np.array([[first, second]], np.float32)
    views = AttentionViews((3, 4), np.array([4]), weights)
    assert views.to_itself.tolist() == [[[1, 0.25], [0, 0.5]]]
    assert np.allclose(views.entropy, [[[0, math.log(4)], [0, math.log(2)]]], atol=1e-6)


def test_layers_and_the_encoder_before_training(model):
    last = attention_views(model, TEXTS, [2])
    assert np.array_equal(last.weights[:, 0], attention_views(model, TEXTS).weights[:, 1])
    before = attention_views(model, TEXTS, [2], published=True)
    assert before.weights.shape == last.weights.shape and not np.array_equal(before.weights, last.weights)
    with pytest.raises(ConfigError, match="there is no layer 3: the encoder has 2"):
        attention_views(model, TEXTS, [3])
    assert np.array_equal(attention_views(model, TEXTS, 2).weights, last.weights)
    with pytest.raises(ConfigError, match="layers must be numbers from 1 to 2, not 'x'"):
        attention_views(model, TEXTS, [1, "x"])
    assert np.array_equal(attention_views(model, TEXTS, [2]).weights, last.weights)  # the model is as it was


def test_a_picture(model, tmp_path):
    pytest.importorskip("matplotlib")
    kinds = {"tuned": False, "published": True}
    views = {name: attention_views(model, TEXTS, published=kind) for name, kind in kinds.items()}
    draw_attention(views, tmp_path / "attention.svg")
    picture = (tmp_path / "attention.svg").read_text()
    assert all(word in picture for word in ("tuned", "published", "layer", "entropy, nats"))


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.PDF", b"%PDF")])
def test_a_picture_has_the_format_of_its_name(name, start, model, tmp_path):
    pytest.importorskip("matplotlib")
    for path in (tmp_path / name, str(tmp_path / f"again-{name}")):
        draw_attention({"tuned": attention_views(model, TEXTS)}, path)
    first, again = ((tmp_path / file).read_bytes() for file in (name, f"again-{name}"))
    assert first.startswith(start) and first == again


def test_pictures_that_cannot_be(model, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match=r"a\.jpg: the name of a plot must end with \.svg, \.png, \.pdf"):
        draw_attention({"tuned": attention_views(model, TEXTS)}, "a.jpg")
    full, empty = attention_views(model, TEXTS), attention_views(model, [])
    for views in ({}, {"tuned": empty}, {"tuned": full, "published": empty}):
        with pytest.raises(DataError, match="there is no attention to draw"):
            draw_attention(views, tmp_path / "a.svg")


@pytest.mark.parametrize("layer", ["x", 1.5])
def test_layers_are_whole_numbers(layer, model):
    with pytest.raises(ConfigError, match=f"layers must be numbers from 1 to 2, not {layer!r}"):
        attention_views(model, TEXTS, [layer])


def test_a_picture_without_matplotlib(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="plots"):
        draw_attention({"tuned": attention_views(model, TEXTS)}, tmp_path / "attention.svg")
