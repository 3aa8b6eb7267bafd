"""Memory and time of the loss over all labels and its gradients: in blocks of labels, and all at once.

    python bench/gpu/label_loss.py [--labels 670091] [--texts 256] [--width 512]

*Extra GB* is the peak memory of the device without the label weights and their gradient.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor
from torch.nn import functional

from common import provenance
from common.options import parser_for
from common.tables import markdown
from treetop.neural.batches import Positives
from treetop.neural.losses import LOSSES, all_label_loss

ROUNDS = 10


def at_once(loss: str, hidden: Tensor, weight: Tensor, bias: Tensor, positives: Positives) -> Tensor:
    """The loss by autograd, which keeps the scores and targets of all labels for the gradients."""
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
    parser = parser_for(__doc__)
    parser.add_argument("--labels", type=int, default=670_091, help="number of labels")
    parser.add_argument("--texts", type=int, default=256, help="texts per batch")
    parser.add_argument("--width", type=int, default=512, help="width of a label's weights")
    options = parser.parse_args()
    stamp = provenance.this_run()
    rows = []
    for loss in LOSSES:
        (blocks, first), (whole, second) = (
            measured(function, loss, options) for function in (all_label_loss, at_once)
        )
        assert torch.allclose(first, second, rtol=1e-2), (first, second)
        rows.append([loss, *blocks, *whole])
    weights = 4 * options.labels * (options.width + 1) / 1e9
    print(f"{options.labels:,} labels, {options.texts} texts, {torch.cuda.get_device_name()}")
    print(f"label weights {weights:.2f} GB, and the same for their gradient\n")
    print(markdown(("loss", "blocks: extra GB", "ms", "at once: extra GB", "ms"), rows))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
