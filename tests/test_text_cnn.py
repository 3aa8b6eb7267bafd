"""Sweeps and poolings of the convolutional network: shapes, and numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from treetop.errors import ConfigError
from treetop.neural.batches import Batch, Positives
from treetop.neural.text_cnn import TextCNN, TextCNNConfig

VALUES = [0.0, 3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]
"""Of words 0 … 7, whose vectors have one number; word 0 is padding."""


def batch_of(*texts: list[int], width: int | None = None) -> Batch:
    width = width or max(map(len, texts))
    tokens = torch.tensor([text[:width] + [0] * (width - len(text)) for text in texts])
    lengths = torch.tensor([min(len(text), width) for text in texts])
    return Batch(tokens, lengths, torch.arange(len(texts)))


def words_of(vectors: list[list[float]]) -> nn.Embedding:
    layer = nn.Embedding(len(vectors), len(vectors[0]), padding_idx=0)
    layer.weight.data = torch.tensor(vectors)
    return layer


def network(words: nn.Embedding, length: int, filters: list[list[list[float]]], **settings) -> TextCNN:
    """One filter for each size, with these weights, and no bias."""
    sizes = tuple(len(weights[0]) for weights in filters)
    config = TextCNNConfig(filter_sizes=sizes, filters=1, embedding_dropout=0, dropout=0, **settings)
    made = TextCNN(words, 2, length, config)
    for layer, weights in zip(made.filters, filters, strict=True):
        layer.weight.data = torch.tensor([weights])
        layer.bias.data.zero_()
    return made.eval()


PLAIN = words_of([[value] for value in VALUES])
COPY = [[[1.0]]]
"""A filter that gives the value of each word."""
PAIRS = [[[1.0, -1.0]]]
"""A filter that gives the value of a word less that of the next."""


def test_maximum_along_words():
    text = [1, 2, 3, 4, 5]
    assert network(PLAIN, 9, COPY).encode(batch_of(text)).tolist() == [[9.0]]
    # 3-1, 1-4, 4-1.5, 1.5-9: the largest is 2.5; nothing is said about the padding behind.
    assert network(PLAIN, 9, PAIRS).encode(batch_of(text, width=9)).tolist() == [[2.5]]
    assert network(PLAIN, 9, [*COPY, *PAIRS]).encode(batch_of(text)).tolist() == [[9.0, 2.5]]


def test_dynamic_pooling_along_words():
    text = [1, 2, 3, 4, 5]  # 3 1 4 1.5 9
    for pools, wanted in {1: [9.0], 2: [4.0, 9.0], 3: [3.0, 4.0, 9.0], 5: [3.0, 1.0, 4.0, 1.5, 9.0]}.items():
        made = network(PLAIN, 9, COPY, pooling="dynamic", pools=pools)
        assert made.encode(batch_of(text)).tolist() == [wanted]
    # More pools than places: a place belongs to several, as ⌊j·n/d⌋ … ⌈(j+1)·n/d⌉ says.
    made = network(PLAIN, 9, COPY, pooling="dynamic", pools=4)
    assert made.encode(batch_of([1, 2])).tolist() == [[3.0, 3.0, 1.0, 1.0]]


@pytest.mark.parametrize("pools", [1, 2, 3, 4, 8])
def test_dynamic_pooling_is_that_of_torch(pools):
    torch.manual_seed(0)
    made = TextCNN(nn.Embedding(30, 6), 3, 40, TextCNNConfig(pooling="dynamic", pools=pools, filters=5))
    made.eval()
    tokens = torch.randint(1, 30, (4, 25))
    batch = Batch(tokens, torch.full((4,), 25), torch.arange(4))
    maps = made.filters[0](made.words(tokens).transpose(1, 2))
    wanted = torch.relu(nn.functional.adaptive_max_pool1d(maps, pools)).flatten(1)
    torch.testing.assert_close(made.encode(batch), wanted)


def test_adjacent_and_no_pooling_along_words():
    text = [1, 2, 3]  # 3 1 4, then padding
    made = network(PLAIN, 5, COPY, pooling="none")
    assert made.fixed_width == 5
    assert made.encode(batch_of(text, width=5)).tolist() == [[3.0, 1.0, 4.0, 0.0, 0.0]]
    made = network(PLAIN, 5, COPY, pooling="adjacent")
    assert made.encode(batch_of(text, width=5)).tolist() == [[3.0, 4.0, 4.0, 0.0]]


TWO = words_of([[0.0, 0.0, 0.0], [1.0, 2.0, 5.0], [3.0, 0.5, 1.0]])
"""Three numbers for each of two words."""
SUM = [[[1.0], [10.0]]]
"""Over texts of two words, one number at a time: first word + 10 · second word."""


@pytest.mark.parametrize(
    ("pooling", "wanted"),
    [
        ("none", [31.0, 7.0, 15.0]),
        ("adjacent", [31.0, 15.0]),
        ("max", [31.0]),
        ("dynamic", [31.0, 15.0]),
    ],
)
def test_sweep_along_embeddings(pooling, wanted):
    made = network(TWO, 2, SUM, sweep="embeddings", pooling=pooling, pools=2)
    assert made.fixed_width == 2
    assert made.encode(batch_of([1, 2])).tolist() == [wanted]


def test_stride():
    made = network(TWO, 2, SUM, sweep="embeddings", pooling="none", stride=2)
    assert made.encode(batch_of([1, 2])).tolist() == [[31.0, 15.0]]


def test_negative_features_are_cut():
    minus = [[[-1.0]]]
    assert network(PLAIN, 9, minus).encode(batch_of([1, 2])).tolist() == [[0.0]]


def test_sizes_of_the_first_public_code():
    """149 + 148 + 146 numbers of 128 filters each."""
    config = TextCNNConfig(
        sweep="embeddings", pooling="adjacent", filter_sizes=(2, 4, 8), filters=128, stride=2, hidden=512
    )
    made = TextCNN(nn.Embedding(10, 300), 5, 500, config)
    assert made.hidden.layer.in_features == 56_704
    assert made.counts()["filters"] == 128 * (500 * (2 + 4 + 8) + 3)
    assert made.encode(batch_of([1, 2, 3], width=500)).shape == (1, 512)


def test_parameters_with_and_without_a_hidden_layer():
    """t·L and t·h + h·L weights behind the filters, and biases."""
    sizes = {"filter_sizes": (3,), "filters": 20}
    without = TextCNN(nn.Embedding(10, 4), 50, 9, TextCNNConfig(**sizes)).counts()
    assert without == {"words": 40, "filters": 20 * 4 * 3 + 20, "head": 20 * 50 + 50}
    narrow = TextCNN(nn.Embedding(10, 4), 50, 9, TextCNNConfig(hidden=6, **sizes)).counts()
    assert narrow["hidden"] == 20 * 6 + 6 and narrow["head"] == 6 * 50 + 50
    pooled = TextCNN(nn.Embedding(10, 4), 50, 9, TextCNNConfig(pooling="dynamic", pools=3, **sizes)).counts()
    assert pooled["head"] == 60 * 50 + 50


@pytest.mark.parametrize("pooling", ["max", "dynamic"])
@pytest.mark.parametrize("stride", [1, 2])
def test_padding_has_no_say(pooling, stride):
    torch.manual_seed(0)
    config = TextCNNConfig(filter_sizes=(2, 4), filters=6, pooling=pooling, pools=3, stride=stride, hidden=5)
    made = TextCNN(nn.Embedding(30, 6, padding_idx=0), 9, 40, config).eval()
    texts = [[5, 6, 7, 8, 9, 10, 11], [3], [], [4, 5, 6, 7, 8, 9, 3, 2, 1, 12, 13]]
    together = made.encode(batch_of(*texts, width=23))
    for row, text in enumerate(texts):
        alone = made.encode(batch_of(text, width=max(len(text), 1)))
        torch.testing.assert_close(together[row], alone[0])


@pytest.mark.parametrize("sweep", ["words", "embeddings"])
@pytest.mark.parametrize("pooling", ["max", "dynamic", "adjacent", "none"])
def test_gradients_against_differences(sweep, pooling):
    torch.manual_seed(0)
    config = TextCNNConfig(
        sweep=sweep, pooling=pooling, pools=2, filter_sizes=(2,), filters=2, hidden=3, embedding_dropout=0,
        dropout=0,
    )  # fmt: skip
    made = TextCNN(nn.Embedding(6, 4), 3, 5, config).double()
    positives = Positives(torch.tensor([0, 1]), torch.tensor([2, 0]), torch.ones(2).double())
    batch = batch_of([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    batch = Batch(batch.tokens, batch.lengths, batch.rows, positives)
    parameters = dict(made.named_parameters())

    def loss(*values):
        return torch.func.functional_call(made, dict(zip(parameters, values, strict=True)), (batch,))

    assert torch.autograd.gradcheck(loss, tuple(parameters.values()))


def test_settings_that_do_not_fit():
    with pytest.raises(ConfigError, match="at least one size"):
        TextCNNConfig(filter_sizes=())
    with pytest.raises(ConfigError, match="vectors have only 4 dimensions"):
        TextCNN(nn.Embedding(6, 4), 3, 5, TextCNNConfig(sweep="embeddings", filter_sizes=(5,)))
    with pytest.raises(ConfigError, match="pooling must be one of"):
        TextCNNConfig(pooling="mean")
