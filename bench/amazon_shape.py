"""Fine-tuning at the size of Amazon-670K: does it fit one GPU, and how long does an epoch take?

    python bench/amazon_shape.py [--steps 300] [--batch 256] [--length 128] [--set NAME=VALUE …]

An encoder of BERT-base's shape with random weights reads random texts of one length; 670,091 labels, five a
text, the frequent ones far more often. *flat* has all labels in its loss, with 16-bit weights; a level of
XR-Transformer has the children of 20 + 5 clusters on each text's shortlist. Every row is trained for some
steps twice; the second time is scaled to the 490,449 texts of an epoch. *Published* is how long that takes
for the steps of XR-Transformer's released settings (4,000, 4,000 and 12,000 of 256 texts), and for the 55
epochs that ELMO gives all labels.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
import transformers
from scipy import sparse

from encoders import SHAPES
from table import markdown
from treetop.neural.batches import Examples
from treetop.neural.config import TrainingConfig
from treetop.neural.encoder import Encoder, EncoderConfig
from treetop.neural.encoder_network import EncoderNetwork
from treetop.neural.training import Training

TEXTS, LABELS, LABELS_OF_A_TEXT = 490_449, 670_091, 5
LEVELS = (128, 2_048, 32_768)
"""Clusters of the levels that XR-Transformer is fine-tuned on."""
PUBLISHED_STEPS = (4_000, 4_000, 12_000)
"""On each of these, with 256 texts."""
PUBLISHED_EPOCHS = 55
"""Of a transformer with a score for every label."""
LISTED = 20
"""Clusters on a shortlist beside those of the text's labels."""


def labels_of(texts: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """Label l has a frequency ∝ (l + 20)^-0.6, about that of products."""
    weights = np.arange(20, LABELS + 20) ** -0.6
    drawn = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random((texts, LABELS_OF_A_TEXT)))
    indptr = np.arange(texts + 1) * LABELS_OF_A_TEXT
    Y = sparse.csr_matrix((np.ones(drawn.size, np.float32), drawn.reshape(-1), indptr), shape=(texts, LABELS))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y


def grouped(Y: sparse.csr_matrix, groups: int) -> sparse.csr_matrix:
    """Texts × clusters of labels that lie far apart, so that all clusters are about as frequent."""
    clusters = sparse.csr_matrix(
        (np.ones(Y.shape[1], np.float32), np.arange(Y.shape[1]) % groups, np.arange(Y.shape[1] + 1))
    )
    return sparse.csr_matrix(Y @ clusters)


def shortlist(above: sparse.csr_matrix, rng: np.random.Generator) -> sparse.csr_matrix:
    """The true clusters and some others."""
    texts, count = above.shape
    chosen = rng.integers(0, count, texts * LISTED)
    others = sparse.csr_matrix(
        (np.ones(len(chosen), np.float32), chosen, np.arange(texts + 1) * LISTED), above.shape
    )
    both = sparse.csr_matrix(above + others)
    both.sum_duplicates()
    both.data[:] = 1
    return both


def seconds_of_an_epoch(
    network: EncoderNetwork, examples: Examples, options: argparse.Namespace, rates: tuple[str, ...]
) -> tuple[float, float]:
    """And the memory in GB, at most."""
    settings = TrainingConfig(learning_rate=1e-5, rates=rates)
    settings = settings.replace_settings(dict(pair.split("=", 1) for pair in options.settings))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    training = Training(
        network, examples, settings, epochs=2, batch_size=options.batch, seed=0, device=device
    )
    course = training.run("Training")
    second = course.entries[1]["seconds"] - course.entries[0]["seconds"]
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    return second * TEXTS / len(examples), memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="bert-base")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", dest="settings")
    options = parser.parse_args()
    layers, width, heads, inner = SHAPES[options.shape]
    config = transformers.BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=inner
    )
    rng = np.random.default_rng(0)
    texts = options.steps * options.batch
    tokens = rng.integers(1000, 30000, texts * options.length).astype(np.int32)
    starts = np.arange(texts + 1, dtype=np.int64) * options.length
    Y = labels_of(texts, rng)

    def encoder() -> Encoder:
        return Encoder(transformers.BertModel(config), EncoderConfig(), 0)

    rows = []

    def measure(name: str, network: EncoderNetwork, examples: Examples, published: float) -> None:
        took, memory = seconds_of_an_epoch(network, examples, options, ("head=0.001",))
        minutes = f"{published * took / 60:,.0f} min"
        rows.append([name, f"{took:,.0f}", f"{TEXTS / took:,.0f}", f"{memory:.1f}", minutes])
        print(rows[-1], flush=True)

    measure(
        f"flat-transformer, {LABELS:,} labels",
        EncoderNetwork(encoder(), LABELS, "bce", bits=16),
        Examples((starts, tokens), Y),
        PUBLISHED_EPOCHS,
    )
    above = None
    for size, steps in zip(LEVELS, PUBLISHED_STEPS, strict=True):
        level = grouped(Y, size)
        parents = None if above is None else np.arange(size, dtype=np.int64) % above.shape[1]
        listed = None if above is None else shortlist(above, rng)
        measure(
            f"xr-transformer, level of {size:,} clusters",
            EncoderNetwork(encoder(), size, "squared-hinge", parents),
            Examples((starts, tokens), level, shortlist=listed),
            steps * 256 / TEXTS,
        )
        above = level
    print(markdown(("", "seconds an epoch", "texts a second", "GB on the GPU", "published"), rows))


if __name__ == "__main__":
    main()
