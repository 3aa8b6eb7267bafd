"""Fine-tuning at the size of Amazon-670K: does it fit one GPU, and how long does an epoch take?

    python bench/gpu/amazon_shape.py [--rows NAME …] [--steps 300] [--batch 256] [--length 128]
        [--set NAME=VALUE …]

An encoder of BERT-base's shape with random weights reads random texts of one length; 670,091 labels, five per
text, with a long tail. *flat* computes the loss over all labels, with 16-bit weights; a level of
XR-Transformer has the children of 20 + 5 clusters on each text's shortlist. LightXML and CascadeXML have the
clusters, widths and candidates of their papers, and *sparse* label gradients where the row says so. The last
level of AttentionXML has 500,000 words. Every row is trained twice for --steps steps; the second time is
scaled to the 490,449 texts of an epoch. *Published* is the time for the steps of XR-Transformer's released
settings (4,000, 4,000 and 12,000 of 256 texts) and for the epochs of the other papers: 55 of ELMO for *flat*,
15 of LightXML and CascadeXML, 10 of a level of AttentionXML.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
import transformers
from scipy import sparse
from torch import nn

from common import provenance
from common.options import add_settings, named, parser_for
from common.tables import markdown
from encoders import SHAPES
from treetop.neural.attention_network import AttentionConfig, AttentionNetwork
from treetop.neural.batches import Examples
from treetop.neural.cascade_head import CascadeHead
from treetop.neural.cascade_network import CascadeNetwork
from treetop.neural.cluster_head import ClusterHead
from treetop.neural.config import TrainingConfig
from treetop.neural.encoder import Encoder
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.encoder_network import EncoderNetwork, HeadedEncoder
from treetop.neural.network import Network
from treetop.neural.training import Training

TEXTS, LABELS, LABELS_OF_A_TEXT = 490_449, 670_091, 5
LEVELS = (128, 2_048, 32_768)
"""Clusters on the levels that XR-Transformer fine-tunes."""
PUBLISHED_STEPS = (4_000, 4_000, 12_000)
"""Steps of 256 texts on each of these levels."""
PUBLISHED_EPOCHS = {"flat": 55, "lightxml": 15, "cascadexml": 15, "attention-xml": 10}
LIGHT_CLUSTERS, LIGHT_HIDDEN, LIGHT_BEAM = 8_192, 400, 75
CASCADE_LEVELS, CASCADE_BEAMS = (1_024, 8_192, 65_536, LABELS), (128, 256, 400)
CASCADE_DROPOUTS, CASCADE_TAPS = (0.2, 0.25, 0.4, 0.5), (5, 6, 8, 10, 12)
ATTENTION_CLUSTERS, WORDS, DIMENSION = 131_072, 500_000, 300
ROWS = ("flat", "xr", "lightxml", "lightxml-sparse", "cascadexml", "cascadexml-sparse", "attention-xml")
LISTED = 20
"""Clusters on a shortlist in addition to those of the text's labels."""


def labels_of(texts: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """Label l has a frequency ∝ (l + 20)^-0.6, similar to products."""
    weights = np.arange(20, LABELS + 20) ** -0.6
    drawn = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random((texts, LABELS_OF_A_TEXT)))
    indptr = np.arange(texts + 1) * LABELS_OF_A_TEXT
    Y = sparse.csr_matrix((np.ones(drawn.size, np.float32), drawn.reshape(-1), indptr), shape=(texts, LABELS))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y


def grouped(Y: sparse.csr_matrix, groups: int) -> sparse.csr_matrix:
    """Texts × clusters of labels of all frequencies, so that all clusters are about equally frequent."""
    clusters = sparse.csr_matrix(
        (np.ones(Y.shape[1], np.float32), np.arange(Y.shape[1]) % groups, np.arange(Y.shape[1] + 1))
    )
    return sparse.csr_matrix(Y @ clusters)


def shortlist(above: sparse.csr_matrix, rng: np.random.Generator) -> sparse.csr_matrix:
    """The true clusters and random others."""
    texts, count = above.shape
    chosen = rng.integers(0, count, texts * LISTED)
    others = sparse.csr_matrix(
        (np.ones(len(chosen), np.float32), chosen, np.arange(texts + 1) * LISTED), above.shape
    )
    both = sparse.csr_matrix(above + others)
    both.sum_duplicates()
    both.data[:] = 1
    return both


def spread(nodes: int, above: int) -> np.ndarray:
    """The parent of every node, as in `grouped`."""
    return np.arange(nodes, dtype=np.int64) % above


def light(encoder: Encoder, *, sparse: bool) -> HeadedEncoder:
    sizes = {"hidden": LIGHT_HIDDEN, "cluster_beam": LIGHT_BEAM}
    parents = spread(LABELS, LIGHT_CLUSTERS)
    return HeadedEncoder(
        encoder, ClusterHead(encoder.width, parents, activation="none", sparse=sparse, **sizes)
    )


def cascade(encoder: Encoder, *, sparse: bool) -> CascadeNetwork:
    parents = [spread(CASCADE_LEVELS[0], 1), *map(spread, CASCADE_LEVELS[1:], CASCADE_LEVELS)]
    head = CascadeHead(
        encoder.width,
        parents,
        cluster_beam=CASCADE_BEAMS,
        dropouts=CASCADE_DROPOUTS,
        score="weighted",
        sparse=sparse,
    )
    taps = [max(layer * encoder.depth // 12, 1) for layer in CASCADE_TAPS]
    return CascadeNetwork(encoder, head, taps)


def attention() -> AttentionNetwork:
    config = AttentionConfig(hidden=512, scorer=(512, 256))
    parents = spread(LABELS, ATTENTION_CLUSTERS)
    return AttentionNetwork(nn.Embedding(WORDS, DIMENSION), config, parents, first=False)


def seconds_of_an_epoch(
    network: Network, examples: Examples, options: argparse.Namespace, rates: tuple[str, ...]
) -> tuple[float, float]:
    """Seconds per epoch, and the peak memory in GB."""
    settings = TrainingConfig(learning_rate=1e-5, rates=rates)
    settings = settings.replace_settings(named(options.settings))
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
    parser = parser_for(__doc__)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=ROWS, help="rows to measure")
    parser.add_argument("--shape", choices=SHAPES, default="bert-base", help="shape of the encoder")
    parser.add_argument("--steps", type=int, default=300, help="optimizer steps per training")
    parser.add_argument("--batch", type=int, default=256, help="texts per batch")
    parser.add_argument("--length", type=int, default=128, help="tokens per text")
    add_settings(parser, "the training loop")
    options = parser.parse_args()
    stamp = provenance.this_run()
    layers, width, heads, inner = SHAPES[options.shape]
    config = transformers.BertConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=inner
    )
    rng = np.random.default_rng(0)
    texts = options.steps * options.batch
    tokens = rng.integers(1000, 30000, texts * options.length).astype(np.int32)
    starts = np.arange(texts + 1, dtype=np.int64) * options.length
    Y = labels_of(texts, rng)

    def encoder(**settings: Any) -> Encoder:
        return Encoder(transformers.BertModel(config), EncoderConfig(**settings), 0)

    rows = []

    def measure(name: str, network: Network, examples: Examples, published: float) -> None:
        rates = ("head=0.001",) if hasattr(network, "head") else ()
        took, memory = seconds_of_an_epoch(network, examples, options, rates)
        minutes = f"{published * took / 60:,.0f} min"
        rows.append([name, f"{took:,.0f}", f"{TEXTS / took:,.0f}", f"{memory:.1f}", minutes])
        print(rows[-1], flush=True)

    whole = Examples((starts, tokens), Y)
    if "flat" in options.rows:
        network: Network = EncoderNetwork(encoder(), LABELS, "bce", bits=16)
        measure(f"flat-transformer, {LABELS:,} labels", network, whole, PUBLISHED_EPOCHS["flat"])
    above = None
    for size, steps in zip(LEVELS, PUBLISHED_STEPS, strict=True) if "xr" in options.rows else ():
        level = grouped(Y, size)
        parents = None if above is None else spread(size, above.shape[1])
        listed = None if above is None else shortlist(above, rng)
        measure(
            f"xr-transformer, level of {size:,} clusters",
            EncoderNetwork(encoder(), size, "squared-hinge", parents),
            Examples((starts, tokens), level, shortlist=listed),
            steps * 256 / TEXTS,
        )
        above = level
    for row in options.rows:
        name, _, kind = row.partition("-")
        if name == "lightxml":
            network = light(encoder(pooling="cls", layers=5, dropout=0.5), sparse=kind == "sparse")
        elif name == "cascadexml":
            network = cascade(encoder(pooling="cls", dropout=0.0), sparse=kind == "sparse")
        else:
            continue
        measure(row, network, whole, PUBLISHED_EPOCHS[name])
    if "attention-xml" in options.rows:
        listed = shortlist(grouped(Y, ATTENTION_CLUSTERS), rng)
        examples = Examples((starts, tokens), Y, shortlist=listed)
        measure("attention-xml, level of labels", attention(), examples, PUBLISHED_EPOCHS["attention-xml"])
    print(markdown(("", "s per epoch", "texts/s", "GB on the GPU", "published"), rows))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
