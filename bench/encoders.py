"""How fast a transformer is fine-tuned on this GPU, against the fastest it multiplies matrices.

    python bench/encoders.py [--shape bert-base] [--length 128] [--batch 256] [--set NAME=VALUE …]

The encoder has random weights and reads random texts of one length; all labels are in the loss. A row: texts
a second over a whole epoch, the arithmetic of its products in TFLOP/s, and its share of the rate that bf16
products of large square matrices reach here; then what the GPU's time goes to.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
import torch
import transformers
from scipy import sparse
from torch.profiler import ProfilerActivity, profile

from treetop.neural.batches import Examples
from treetop.neural.config import TrainingConfig
from treetop.neural.encoder import Encoder
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.encoder_network import EncoderNetwork
from treetop.neural.training import Training

SHAPES = {"bert-base": (12, 768, 12, 3072), "minilm": (6, 384, 12, 1536)}
"""Layers, width, heads, width of the inner layer."""
LABELS = 5
"""Of a text."""
KINDS = {
    "attention": ("fmha", "flash", "sdpa", "attention"),
    "products": ("nvjet", "gemm", "cutlass", "xmma"),
    "layer norms": ("layer_norm", "gammabeta"),
    "sums of gradients": ("reduce_kernel",),
    "optimiser": ("multi_tensor", "adam"),
}
"""Parts of the names of GPU kernels; the first that fits counts."""


def shares(seen: profile) -> str:
    """Of the GPU's time, by kind of work."""
    spent: Counter[str] = Counter()
    for event in seen.key_averages():
        name = event.key.lower()
        kinds = (kind for kind, parts in KINDS.items() if any(part in name for part in parts))
        spent[next(kinds, "element by element, and the rest")] += event.self_device_time_total
    total = sum(spent.values())
    return ", ".join(f"{kind} {100 * spent[kind] / total:.0f} %" for kind, _ in spent.most_common())


def matrix_rate(size: int = 8192, rounds: int = 30) -> float:
    """TFLOP/s of bf16 products."""
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
    """Of the products for one text, forward and backward (three times forward)."""
    layers, width, _, inner = shape
    token = layers * (4 * width * width + 2 * width * inner + 2 * length * width)
    return 3 * 2 * (length * token + width * labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="bert-base")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", dest="settings")
    options = parser.parse_args()
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
    settings = TrainingConfig().replace_settings(dict(pair.split("=", 1) for pair in options.settings))
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


if __name__ == "__main__":
    main()
