"""Gradients are clipped to a given limit, or to one that follows their last norms."""

from __future__ import annotations

import math
from collections import deque

import pytest
import torch
from torch import nn

from treetop.neural.clipping import Clipping
from treetop.neural.config import TrainingConfig

HERE = torch.device("cpu")


def with_gradient(*values: float) -> nn.Parameter:
    parameter = nn.Parameter(torch.zeros(len(values)))
    parameter.grad = torch.tensor(values, dtype=torch.float32)
    return parameter


def shortened(clipping: Clipping, norm: float) -> float:
    parameter = with_gradient(norm)
    clipping.clip([parameter])
    return float(parameter.grad)


def test_a_given_limit_is_that_of_torch():
    torch.manual_seed(0)
    ours, theirs = ([nn.Parameter(torch.zeros(4, 3)), nn.Parameter(torch.zeros(2))] for _ in range(2))
    for limit in (0.1, 100.0):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        Clipping(TrainingConfig(clip=limit), HERE).clip([*ours, nn.Parameter(torch.zeros(9))])
        nn.utils.clip_grad_norm_(theirs, limit)
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one.grad, other.grad)


def test_rows_of_sparse_tables_and_narrow_weights_count():
    table = nn.Embedding(4, 1, sparse=True)
    rows = torch.tensor([2, 2])  # a row twice: its gradients are added, to 3 · 2 = 6
    (3 * table(rows)).sum().backward()
    narrow = nn.Parameter(torch.zeros(1, dtype=torch.bfloat16))
    narrow.grad = torch.full_like(narrow, 8)
    Clipping(TrainingConfig(clip=1), HERE).clip([*table.parameters(), narrow])
    assert table.weight.grad.to_dense().flatten().tolist() == pytest.approx([0, 0, 0.6, 0])
    assert narrow.grad.item() == pytest.approx(0.8, rel=1e-2)


def test_a_limit_that_follows_the_norms():
    """As the released code of AttentionXML has it: a queue that begins with one infinite norm."""
    queue = deque([math.inf], maxlen=5)
    clipping = Clipping(TrainingConfig(adaptive_clip=True), HERE)
    norms = [0.2, 0.1, 0.3, 90, 0.1, 0.1, 0.1, 0.1, 0.1, 80, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02, 0.5, 7]
    cut = []
    for norm in norms:
        largest = max(queue)
        wanted = min(norm, 5 * largest)
        queue.append(min(norm, 2 * largest, 1.0))
        assert shortened(clipping, norm) == pytest.approx(wanted, rel=1e-4)
        cut.append(wanted < norm)
    assert clipping.norms.tolist() == pytest.approx(list(queue))
    assert [norm for norm, was in zip(norms, cut, strict=True) if was] == [80, 0.5, 7]


def test_the_lower_of_two_limits_holds():
    clipping = Clipping(TrainingConfig(adaptive_clip=True, clip=2), HERE)
    assert shortened(clipping, 9) == pytest.approx(2)  # 5m is infinite yet
    for _ in range(5):
        shortened(clipping, 0.1)
    assert shortened(clipping, 9) == pytest.approx(0.5)


@pytest.mark.parametrize("norm", [math.inf, math.nan])
def test_norms_that_are_no_numbers_are_forgotten(norm):
    clipping = Clipping(TrainingConfig(adaptive_clip=True), HERE)
    shortened(clipping, norm)
    assert clipping.norms.tolist() == [math.inf] * 4 + [1]


def test_the_norms_are_part_of_the_state():
    clipping, other = (Clipping(TrainingConfig(adaptive_clip=True), HERE) for _ in range(2))
    for norm in (0.1, 0.2, 0.3, 0.2, 0.1):
        shortened(clipping, norm)
    other.restore(clipping.state())
    assert shortened(other, 50) == shortened(clipping, 50) == pytest.approx(1.5)


def test_nothing_is_cut_unless_told():
    assert not Clipping(TrainingConfig(), HERE).is_on
    assert Clipping(TrainingConfig(clip=1), HERE).is_on
    assert Clipping(TrainingConfig(adaptive_clip=True), HERE).is_on
