"""Losses over all labels against plain torch, and against hand-computed numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from treetop.neural.batches import Positives
from treetop.neural.heads import LabelHead
from treetop.neural.losses import LOSSES, Shortlist, all_label_loss


def problem(texts=5, width=7, labels=11, seed=0):
    """hidden, weight, bias, positives (with places left over), and texts × labels of their weights."""
    generator = torch.Generator().manual_seed(seed)
    where = (torch.rand((texts, labels), generator=generator) < 0.3).nonzero()
    weights = torch.rand(len(where), generator=generator, dtype=torch.float64) + 0.5
    none = torch.zeros(3, dtype=torch.int64)
    positives = Positives(
        torch.cat([where[:, 0], none]), torch.cat([where[:, 1], none]), torch.cat([weights, none.double()])
    )
    dense = torch.zeros(texts, labels, dtype=torch.float64)
    dense[where[:, 0], where[:, 1]] = weights
    values = [
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((texts, width), (labels, width), labels)
    ]
    return values, positives, dense


def plain(loss, scores, weights, label_weights=None, text_weights=None):
    """The formulas, written out."""
    if loss == "softmax":
        lost = weights * (torch.logsumexp(scores, 1, keepdim=True) - scores)
    elif loss == "bce":
        lost = torch.where(weights > 0, weights * functional.softplus(-scores), functional.softplus(scores))
    else:
        lost = torch.where(
            weights > 0, weights * functional.relu(1 - scores) ** 2, functional.relu(1 + scores) ** 2
        )
    lost = lost if label_weights is None else lost * label_weights
    return (lost if text_weights is None else lost * text_weights[:, None]).sum() / len(scores)


@pytest.mark.parametrize("block", [1 << 20, 15, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_gradients_are_those_of_the_formula(loss, block):
    (hidden, weight, bias), positives, dense = problem()
    of_labels, of_texts = torch.rand(11, dtype=torch.float64), torch.rand(5, dtype=torch.float64)
    for label_weights, text_weights in (
        (None, None),
        (of_labels, None),
        (None, of_texts),
        (of_labels, of_texts),
    ):
        weighted = replace(positives, text_weights=text_weights)
        found = all_label_loss(loss, hidden, weight, bias, weighted, label_weights=label_weights, block=block)
        wanted = plain(loss, hidden @ weight.T + bias, dense, label_weights, text_weights)
        torch.testing.assert_close(found, wanted)
        gradients = [torch.autograd.grad(value, (hidden, weight, bias)) for value in (found, wanted)]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("block", [1 << 20, 15])
@pytest.mark.parametrize("loss", ["bce", "squared-hinge"])
def test_weights_of_texts_and_a_shortlist(loss, block):
    (hidden, weight, bias), positives, dense = problem()
    parents = torch.arange(11) % 4
    chosen = torch.zeros(5, 4, dtype=torch.bool)
    chosen[:, 2] = True
    chosen[positives.texts, parents[positives.labels]] |= positives.weights > 0
    shortlist, inside = Shortlist(chosen, parents), chosen[:, parents]
    assert shortlist.counts().tolist() == inside.sum(1).tolist() and not inside.all()
    of_labels, of_texts = torch.rand(11, dtype=torch.float64), torch.rand(5, dtype=torch.float64)
    weighted = replace(positives, text_weights=of_texts)
    found = all_label_loss(
        loss, hidden, weight, bias, weighted, label_weights=of_labels, shortlist=shortlist, block=block
    )
    wanted = plain(loss, hidden @ weight.T + bias, dense, inside * of_labels, of_texts)
    torch.testing.assert_close(found, wanted)
    gradients = [torch.autograd.grad(value, (hidden, weight, bias)) for value in (found, wanted)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_against_differences(loss):
    values, positives, _ = problem(texts=3, width=2, labels=4)
    assert torch.autograd.gradcheck(lambda *parts: all_label_loss(loss, *parts, positives, block=6), values)


def test_by_hand():
    """One text, scores (0, ln 3), the second label right."""
    hidden, weight = torch.ones(1, 1), torch.tensor([[0.0], [math.log(3)]])
    positives = Positives(torch.tensor([0]), torch.tensor([1]), torch.tensor([1.0]))
    losses = {loss: all_label_loss(loss, hidden, weight, torch.zeros(2), positives) for loss in LOSSES}
    assert losses["softmax"].item() == pytest.approx(math.log(4 / 3))
    assert losses["bce"].item() == pytest.approx(math.log(2) + math.log(4 / 3))
    assert losses["squared-hinge"].item() == pytest.approx(1.0)  # ln 3 > 1: only the wrong label costs


def test_narrow_numbers_give_nearly_the_same():
    (hidden, weight, bias), positives, dense = problem()
    parts = [part.detach().float().requires_grad_() for part in (hidden, weight, bias)]
    with torch.autocast("cpu", torch.bfloat16):
        found = all_label_loss("bce", *parts, positives)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(plain("bce", hidden @ weight.T + bias, dense).item(), rel=0.02)
    found.backward()
    assert parts[1].grad.dtype == torch.float32


def test_the_best_labels_do_not_depend_on_the_blocks():
    torch.manual_seed(0)
    hidden = torch.randn(4, 8)
    head = LabelHead(8, 50, "bce")
    torch.nn.init.normal_(head.weight)
    scores, labels = head.top(hidden, 7)
    wanted = torch.sigmoid(hidden @ head.weight.T + head.bias).topk(7)
    torch.testing.assert_close(scores, wanted.values)
    assert torch.equal(labels, wanted.indices)
    head.block = 4 * 9
    torch.testing.assert_close(head.top(hidden, 7)[0], scores)
    assert torch.equal(head.top(hidden, 7)[1], labels)
