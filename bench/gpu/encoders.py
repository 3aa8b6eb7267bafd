"""How fast a transformer is fine-tuned on this GPU, against its rate of large matrix products.

    python bench/gpu/encoders.py [--shape bert-base] [--length 128] [--batch 256] [--set NAME=VALUE …]

The encoder has random weights and reads random texts of one length; all labels are in the loss. Prints the
texts per second over an epoch, the TFLOP/s of its matrix products, and their share of the rate that bf16
products of large square matrices reach here; then the share of GPU time by kind of kernel.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
import transformers
from scipy import sparse
from torch.profiler import ProfilerActivity, profile

from common import provenance
from common.options import add_settings, named, parser_for
from treetop.neural.batches import Examples
from treetop.neural.config import TrainingConfig
from treetop.neural.encoder import Encoder
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.encoder_network import EncoderNetwork
from treetop.neural.training import Training

SHAPES = {"bert-base": (12, 768, 12, 3072), "minilm": (6, 384, 12, 1536)}
"""Layers, width, heads, width of the inner layer."""
LABELS = 5
"""Labels per text."""
KINDS = {
    "attention": ("fmha", "flash", "sdpa", "attention"),
    "matrix products": ("nvjet", "gemm", "cutlass", "xmma"),
    "layer norms": ("layer_norm", "gammabeta"),
    "sums of gradients": ("reduce_kernel",),
    "optimizer": ("multi_tensor", "adam"),
}
"""Parts of the names of GPU kernels; the first kind that matches counts."""


def shares(seen: profile) -> str:
    """Shares of GPU time by kind of kernel."""
    spent: Counter[str] = Counter()
    for event in seen.key_averages():
        name = event.key.lower()
        kinds = (kind for kind, parts in KINDS.items() if any(part in name for part in parts))
        spent[next(kinds, "elementwise and others")] += event.self_device_time_total
    total = sum(spent.values())
    return ", ".join(f"{kind} {100 * spent[kind] / total:.0f} %" for kind, _ in spent.most_common())


def matrix_rate(size: int = 8192, rounds: int = 30) -> float:
    """TFLOP/s of bf16 matrix products."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(rounds):
        a @ b
    torch.cuda.synchronize()
    return 2 * size**3 * rounds / (time.monotonic() - began) / 1e12


def flops(shape: tuple[int, int, int, int], length: int, labels: int) -> float:
    """Operations of the matrix products for one text, forward and backward (three times forward)."""
    layers, width, _, inner = shape
    token = layers * (4 * width * width + 2 * width * inner + 2 * length * width)
    return 3 * 2 * (length * token + width * labels)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="bert-base", help="shape of the encoder")
    parser.add_argument("--length", type=int, default=128, help="tokens per text")
    parser.add_argument("--batch", type=int, default=256, help="texts per batch")
    parser.add_argument("--labels", type=int, default=10_000, help="number of labels")
    parser.add_argument("--steps", type=int, default=60, help="optimizer steps per epoch")
    add_settings(parser, "the training loop")
    options = parser.parse_args()
    stamp = provenance.this_run()
    layers, width, heads, inner = shape = SHAPES[options.shape]
    config = transformers.BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=inner
    )
    texts = options.batch * options.steps
    rng = np.random.default_rng(0)
    tokens = rng.integers(1000, 30000, texts * options.length).astype(np.int32)
    labels = rng.integers(0, options.labels, LABELS * texts)
    arrays = np.ones(len(labels), np.float32), labels, np.arange(texts + 1) * LABELS
    Y = sparse.csr_matrix(arrays, shape=(texts, options.labels))
    examples = Examples((np.arange(texts + 1, dtype=np.int64) * options.length, tokens), Y)
    encoder = Encoder(transformers.BertModel(config), EncoderConfig(), 0)
    network = EncoderNetwork(encoder, options.labels, "bce")
    settings = TrainingConfig().replace_settings(named(options.settings))
    training = Training(
        network, examples, settings, epochs=3, batch_size=options.batch, seed=0, device=torch.device("cuda")
    )
    began = time.monotonic()
    course = training.run("Training")
    all_seconds = time.monotonic() - began
    speed = texts / (course.entries[-1]["seconds"] - course.entries[-2]["seconds"])
    rate, best = speed * flops(shape, options.length, options.labels) / 1e12, matrix_rate()
    what = f"{options.shape}, {' '.join(options.settings) or 'defaults'}"
    share = f"{rate:.0f} TFLOP/s, {100 * rate / best:.0f} % of {best:.0f}"
    print(f"{what}: {speed:,.0f} texts/s, {share}; all {all_seconds:.1f} s")
    network.train()
    batch = next(examples.batches([np.arange(options.batch)], training.device))
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(3):
            training.plain_step(batch)
    print(shares(seen))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
