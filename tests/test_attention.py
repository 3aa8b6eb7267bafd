"""The parts of AttentionXML: the two-way LSTM and the label-wise attention."""

from __future__ import annotations

import torch
from torch import nn

from treetop.neural.bilstm import BiLSTM
from treetop.neural.label_attention import LabelAttention

LENGTHS = torch.tensor([5, 1, 3])


def test_both_ways_are_those_of_packed_texts():
    torch.manual_seed(0)
    ours, theirs = BiLSTM(4, 3), nn.LSTM(4, 3, batch_first=True, bidirectional=True)
    for name, value in ours.forth.named_parameters():
        getattr(theirs, name).data.copy_(value)
    for name, value in ours.back.named_parameters():
        getattr(theirs, f"{name}_reverse").data.copy_(value)
    nn.init.normal_(ours.first)
    words = torch.randn(3, 6, 4)
    packed = nn.utils.rnn.pack_padded_sequence(words, LENGTHS, batch_first=True, enforce_sorted=False)
    start = tuple(ours.first[:, part][:, None].expand(-1, 3, -1).contiguous() for part in (0, 1))
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed, start)[0], batch_first=True, total_length=6)
    inside = torch.arange(6) < LENGTHS[:, None]
    found = ours(words, LENGTHS)
    assert torch.allclose(found[inside], expected[inside], atol=1e-6)
    other = words.clone()
    other[~inside] = 100.0  # padding has no say
    assert torch.allclose(ours(other, LENGTHS)[inside], found[inside], atol=1e-6)


def test_attention_by_hand():
    torch.manual_seed(0)
    attention, states = LabelAttention(4, 7, [5, 3]), torch.randn(3, 6, 4)
    found = attention(states, LENGTHS)
    for text, length in enumerate(LENGTHS.tolist()):
        H = states[text, :length]
        for label in range(7):
            shares = torch.softmax(H @ attention.looks.weight[label], 0)
            expected = attention.scorer((shares[:, None] * H).sum(0))
            assert torch.allclose(found[text, label], expected, atol=1e-5)
    candidates = torch.tensor([[0, 6], [3, 3], [5, 1]])
    some = attention(states, LENGTHS, candidates)
    assert torch.allclose(some, found.gather(1, candidates), atol=1e-5)


def test_a_text_without_words_has_scores():
    attention = LabelAttention(4, 2, [3])
    assert attention(torch.zeros(1, 1, 4), torch.tensor([0])).isfinite().all()
