"""The label index of X-Transformer: the label vectors that are clustered.

    pifa-tfidf    z_l = Σ_i y_il x_i, with TF-IDF features x_i
    pifa-neural   the same with vectors φ(x_i) of a fine-tuned encoder
    text-emb      z_l = the mean vector of the tokens of the label's text, by a pretrained encoder
    label-text    TF-IDF of the label's text

All are scaled to unit length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..features.joined import Vectors, side_by_side
from ..features.text_features import TextFeatures
from ..linear.tree_model import relevance_chain
from ..neural.encoder_config import EncoderConfig
from ..neural.reader import Tokens
from ..neural.text_encoder import TextEncoder
from ..sparse import binarize
from ..store import MANIFEST
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .fine_tuning import inference_settings
from .matcher import Matcher
from .network_config import JoinedFeaturesConfig

INDEXES = ("pifa-tfidf", "pifa-neural", "text-emb", "label-text")


@dataclass(frozen=True)
class LabelIndexConfig(JoinedFeaturesConfig):
    """Settings of the clusters, and of the matcher that is trained on them."""

    epochs: int = setting(5, "passes over the training examples to train the matcher", at_least=0)
    steps: int = setting(0, "optimizer steps of the matcher, instead of epochs; 0: use epochs", at_least=0)
    index: str = setting(
        "pifa-tfidf",
        "label vectors for the clustering: TF-IDF of their training texts (pifa-tfidf), a fine-tuned "
        "encoder's vectors of these (pifa-neural), a pretrained encoder's vectors of their own texts "
        "(text-emb), or TF-IDF of their own texts (label-text)",
        choices=INDEXES,
    )
    index_encoder: str | None = setting(
        None,
        "encoder for pifa-neural and text-emb: the folder of a trained x- or xr-transformer, or an encoder; "
        "none: the same encoder as for the texts, fine-tuned twice for pifa-neural",
        names_file=True,
    )
    clusters: int = setting(
        0, "number of label clusters; 0: a power of two, with 50 to 100 labels each", at_least=0
    )
    loss: str = setting("squared-hinge", "loss of the matcher", choices=("squared-hinge", "bce"))
    tree: TreeConfig = part(TreeConfig(), "clustering of the labels")


@dataclass(frozen=True, eq=False)
class LabelIndex:
    """What the clusters are built from; ``X`` and ``tokens`` of the training texts."""

    config: LabelIndexConfig
    dataset: Dataset
    features: TextFeatures
    X: sparse.csr_matrix
    tokens: Tokens
    device: torch.device
    threads: int

    def tree(self) -> LabelTree:
        """A label tree with two levels: clusters and labels."""
        kind = self.config.index
        if kind == "pifa-neural":
            return self._clustered(side_by_side(None, self._fine_tuned_vectors()), None)
        if kind == "text-emb":
            return self._clustered(self.X, side_by_side(None, self._label_text_vectors()))
        if kind == "label-text":
            return self._clustered(self.X, self.features.of_labels(self.dataset, threads=self.threads))
        return self._clustered(self.X, None)

    def _clustered(self, X: sparse.csr_matrix, of_labels: sparse.csr_matrix | None) -> LabelTree:
        """Clusters of the sums of the rows of X, or of ``of_labels`` where the index is made of texts."""
        config = self.config
        used = int((self.dataset.label_counts > 0).sum())
        count = min(config.clusters or default_clusters(used), used)
        vectors = config.tree.vectors if config.tree.vectors in FROM_EXAMPLES else "pifa"
        if config.index in ("text-emb", "label-text"):
            vectors = "label-text"
        shape: dict[str, Any] = {"levels": (count,), "vectors": vectors}
        if config.index == "pifa-neural":  # all entries of dense vectors count
            shape |= {"vector_size": 0, "vector_min_df": 1}
        (built,) = trees_of(
            X,
            self.dataset.Y,
            config.tree.replace_settings(shape),
            seeds=[config.seed],
            text_vectors=of_labels,
            threads=self.threads,
        )
        if built.depth == 2:
            return built
        places = np.arange(len(built.labels) + 1)  # each label is a cluster
        return LabelTree((places[[0, -1]], places), built.labels)

    def _fine_tuned_vectors(self) -> Vectors:
        """Vectors of the training texts by ``index_encoder``, or by the own encoder.

        The own encoder is fine-tuned on the clusters of pifa-tfidf for it.
        """
        config = self.config
        if config.index_encoder:
            assert self.dataset.texts is not None
            encoder = self._index_encoder(config.transformer)
            return self._vectors(encoder, encoder.tokens(self.dataset.texts))
        first = replace(self, config=config.replace_settings({"index": "pifa-tfidf"}))
        relevance, _ = relevance_chain(self.dataset.Y, first.tree())
        encoder = TextEncoder.pretrained(config.transformer, config.max_length)
        Matcher.fit(
            encoder,
            self.tokens,
            binarize(relevance),
            first.config,
            self.device,
            loss=config.loss,
            steps=config.steps,
            threads=self.threads,
        )
        return self._vectors(encoder, self.tokens)

    def _label_text_vectors(self) -> Vectors:
        """Mean vectors of the tokens of every label's text, or of its name."""
        pooled = self.config.transformer.replace_settings({"pooling": "mean", "layers": 1})
        encoder = self._index_encoder(pooled)
        return self._vectors(encoder, encoder.tokens(self.dataset.label_texts or self.dataset.labels))

    def _index_encoder(self, options: EncoderConfig) -> TextEncoder:
        """The encoder that ``index_encoder`` names: that of a trained model, or a pretrained one."""
        config, name = self.config, self.config.index_encoder
        if not name or not (Path(name) / MANIFEST).is_file():
            named = options.replace_settings({"encoder": name or options.encoder})
            return TextEncoder.pretrained(named, config.max_length)
        from . import load

        encoder = getattr(load(name), "encoder", None)
        if not isinstance(encoder, TextEncoder):
            raise ConfigError(
                f"index_encoder: the model in {name} has no fine-tuned encoder of its own: give an"
                " x-transformer or xr-transformer model, or an encoder"
            )
        return encoder

    def _vectors(self, encoder: TextEncoder, tokens: Tokens) -> Vectors:
        inference = inference_settings(self.config, self.device)
        return encoder.vectors(tokens, inference, threads=self.threads)


def default_clusters(labels: int) -> int:
    """2^depth with depth = ⌊log2(⌊labels / 100⌋ + 1)⌋ + 1: 64 for the 3,956 labels of EUR-Lex."""
    return int(2 ** (math.floor(math.log2(labels // 100 + 1)) + 1))
