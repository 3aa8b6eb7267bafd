"""Memory and time of the loss over all labels with its gradients: in blocks of labels, and all at once.

    python bench/label_loss.py [--labels 670091] [--texts 256] [--width 512]

*Beside* is what the device held at most on top of the weights of the labels and their gradient.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import Tensor
from torch.nn import functional

from table import markdown
from treetop.neural.batches import Positives
from treetop.neural.losses import LOSSES, all_label_loss

ROUNDS = 10


def at_once(loss: str, hidden: Tensor, weight: Tensor, bias: Tensor, positives: Positives) -> Tensor:
    """What is left to autograd: the scores of all labels, their targets, and what gradients need of them."""
    scores = functional.linear(hidden, weight.to(hidden.dtype), bias.to(hidden.dtype)).float()
    targets = torch.zeros_like(scores)
    targets[positives.texts, positives.labels] = positives.weights
    if loss == "bce":
        return functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum") / len(hidden)
    if loss == "softmax":
        return -(targets * functional.log_softmax(scores, 1)).sum() / len(hidden)
    return (functional.relu(1 - (2 * targets - 1) * scores) ** 2).sum() / len(hidden)


def measured(function, loss: str, options: argparse.Namespace) -> tuple[list[str], Tensor]:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(options.labels, options.width, device="cuda") / 100)
    bias = torch.nn.Parameter(torch.zeros(options.labels, device="cuda"))
    hidden = torch.randn(
        options.texts, options.width, device="cuda", dtype=torch.bfloat16, requires_grad=True
    )
    texts = torch.arange(options.texts, device="cuda").repeat_interleave(5)
    labels = torch.randint(options.labels, (5 * options.texts,), device="cuda")
    positives = Positives(texts, labels, torch.ones(len(texts), device="cuda"))

    def step() -> Tensor:
        weight.grad = bias.grad = hidden.grad = None
        lost: Tensor = function(loss, hidden, weight, bias, positives)
        lost.backward()
        return lost.detach()

    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    began = time.monotonic()
    for _ in range(ROUNDS):
        lost = step()
    torch.cuda.synchronize()
    seconds = (time.monotonic() - began) / ROUNDS
    held = torch.cuda.max_memory_allocated() - 2 * (weight.nbytes + bias.nbytes)
    return [f"{held / 1e9:.2f}", f"{1000 * seconds:.1f}"], lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=int, default=670_091)
    parser.add_argument("--texts", type=int, default=256, help="in one batch")
    parser.add_argument("--width", type=int, default=512, help="of a label's vector")
    options = parser.parse_args()
    rows = []
    for loss in LOSSES:
        (blocks, first), (whole, second) = (measured(way, loss, options) for way in (all_label_loss, at_once))
        assert torch.allclose(first, second, rtol=1e-2), (first, second)
        rows.append([loss, *blocks, *whole])
    weights = 4 * options.labels * (options.width + 1) / 1e9
    print(f"{options.labels:,} labels, {options.texts} texts, {torch.cuda.get_device_name()}")
    print(f"weights {weights:.2f} GB, as much again for their gradient\n")
    print(markdown(("loss", "blocks: GB beside", "ms", "at once: GB beside", "ms"), rows))


if __name__ == "__main__":
    main()
