"""X-Transformer: label clusters, a fine-tuned transformer that matches them, linear rankers inside them.

Chang, Yu, Zhong, Yang, Dhillon: "Taming Pretrained Transformers for Extreme Multi-label Text Classification",
KDD 2020. With M = YC the clusters of the training texts and M̂ the best ones by the `Matcher`:

    ranker   one classifier for each label on Φ_cat, from the texts of its cluster in M (tfn), M̂ (man) or both
    score    the ranker's alone, or times the cluster's, for the labels of the best clusters
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..errors import ConfigError, ModelError
from ..features import Tfidf, fitted_tfidf
from ..features.joined import Vectors, joined, side_by_side
from ..linear import LinearConfig
from ..linear.config import COST_SPACE
from ..linear.single_level import SingleLevel
from ..linear.tree_model import relevance_chain
from ..neural.device import chosen_device
from ..neural.reader import Tokens
from ..neural.text_encoder import TextEncoder
from ..ranked import Ranked
from ..search_space import SearchSpace
from ..sparse import binarize, normalize_rows
from ..tree import LabelTree, TreeConfig, trees_of
from .base import Method
from .fine_tuning import inference_settings, prediction_vectors, training_log, training_texts
from .matcher import Matcher
from .network_config import JoinedFeaturesConfig

X_SPACE: SearchSpace = COST_SPACE | {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "cluster_beam": (5, 10, 20),
}
INDEXES = ("pifa-tfidf", "pifa-neural", "label-text")


@dataclass(frozen=True)
class XTransformerConfig(JoinedFeaturesConfig):
    """Settings of X-Transformer."""

    epochs: int = setting(5, "passes over the training examples to train the matcher", at_least=0)
    steps: int = setting(0, "optimizer steps of the matcher, instead of epochs; 0: use epochs", at_least=0)
    index: str = setting(
        "pifa-tfidf",
        "label vectors for the clustering: TF-IDF of their training texts, the encoder's vectors of these, "
        "or TF-IDF of their own text",
        choices=INDEXES,
    )
    clusters: int = setting(
        0, "number of label clusters; 0: a power of two, with 50 to 100 labels each", at_least=0
    )
    cluster_beam: int = setting(10, "beam width: clusters whose labels are ranked", at_least=1)
    loss: str = setting("squared-hinge", "loss of the matcher", choices=("squared-hinge", "bce"))
    combine: str = setting(
        "ranker",
        "score of a label: the ranker's alone, or times its cluster's",
        choices=("ranker", "product"),
    )
    tree: TreeConfig = part(TreeConfig(), "clustering of the labels")
    linear: LinearConfig = part(LinearConfig(negatives=("tfn+man",), threshold=0.01), "the rankers")

    renamed: ClassVar = JoinedFeaturesConfig.renamed | {"visited": "cluster_beam"}


class XTransformer(Method):
    """One model; the published one is an ensemble over three indexes and three encoders, combined by rank.

    Parts: ``tfidf``, an ``encoder``, the ``matcher`` of clusters, and the ``rankers`` inside them.
    """

    name = "x-transformer"
    config_class = XTransformerConfig
    search_space = X_SPACE
    same_on_any_threads = False  # torch sums in another order
    takes_texts = True
    config: XTransformerConfig
    tfidf: Tfidf | None = None
    encoder: TextEncoder | None = None
    tree: LabelTree | None = None
    matcher: Matcher | None = None
    rankers: SingleLevel | None = None

    n_features = renamed_attribute("n_features", "rankers.weights.n_features")

    def _fit(self, dataset: Dataset) -> None:  # type: ignore[override]
        config, Y, threads = self.config, dataset.Y, self.threads
        assert Y is not None
        texts = training_texts(dataset, self.name)
        device = chosen_device(config.device)

        self.encoder = TextEncoder.pretrained(config.transformer, config.max_length)
        self.tfidf, X = fitted_tfidf(config.tfidf, texts, threads)
        tokens = self.encoder.tokens(texts)
        self.tree = self._index(dataset, X, tokens, device)
        relevance, labels = relevance_chain(Y, self.tree)
        true = binarize(relevance)

        self.matcher, progress, counts = Matcher.fit(
            self.encoder,
            tokens,
            true,
            config,
            device,
            loss=config.loss,
            steps=config.steps,
            threads=threads,
        )
        self.training_log = training_log(progress, counts, device, config)
        vectors = self.encoder.vectors(tokens, inference_settings(config, device), threads=threads)

        self.rankers = SingleLevel.fit(
            joined(X, vectors, config.use),
            normalize_rows(labels, "l1") if config.linear.costs != "none" else binarize(labels),
            self._shortlist(true, vectors),
            self.tree.offsets[1],
            self._linear(),
            title="Rankers",
            seed=config.seed,
            threads=threads,
        )

    def _index(
        self, dataset: Dataset, X: sparse.csr_matrix, tokens: Tokens, device: torch.device
    ) -> LabelTree:
        """A label tree with two levels: clusters and labels."""
        assert self.tfidf is not None and self.encoder is not None
        config, threads = self.config, self.threads
        used = int((dataset.label_counts > 0).sum())
        count = min(config.clusters or default_clusters(used), used)
        by = {"levels": (count,), "vectors": "label-text" if config.index == "label-text" else "pifa"}
        tree = config.tree.replace_settings(by)
        features, by_text = X, None
        if config.index == "pifa-neural":
            inference, cache = inference_settings(config, device), config.transformer.cache
            features = side_by_side(
                None, self.encoder.vectors(tokens, inference, threads=threads, cache=cache)
            )
        elif config.index == "label-text" and dataset.label_texts is not None:
            by_text = self.tfidf.transform(dataset.label_texts, threads=threads)
        built = trees_of(
            features, dataset.Y, tree, seeds=[config.seed], text_vectors=by_text, threads=threads
        )[0]
        if built.depth == 2:
            return built
        places = np.arange(len(built.labels) + 1)  # each label is a cluster
        return LabelTree((places[[0, -1]], places), built.labels)

    def _linear(self) -> LinearConfig:
        last = "alone" if self.config.combine == "ranker" else None
        return self.config.linear.replace_settings({"last_transform": last})

    def _shortlist(self, true: sparse.csr_matrix, vectors: Vectors) -> sparse.csr_matrix:
        """Texts × clusters for whose labels a text is a training example."""
        assert self.matcher is not None
        scheme = self.config.linear.schemes(1)[0]
        parts = [true] if "tfn" in scheme else []
        if "man" in scheme:
            indptr, nodes, _ = self.matcher.best(vectors, self.config.cluster_beam)
            ones = np.ones(len(nodes), np.float32)
            matched = sparse.csr_matrix((ones, nodes, indptr), shape=true.shape)
            matched.sort_indices()
            parts.append(matched)
        if not parts:
            raise ConfigError("x-transformer needs negatives: set linear.negatives to tfn, man or tfn+man")
        return binarize(sparse.csr_matrix(sum(parts[1:], start=parts[0])))

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        assert self.tfidf is not None and self.encoder is not None and dataset.texts is not None
        assert self.matcher is not None and self.rankers is not None and self.tree is not None
        vectors = prediction_vectors(self.encoder, dataset.texts, self.config, threads=self.threads)
        X = self.tfidf.transform(dataset.texts, threads=self.threads)
        return self.rankers.rank(
            joined(X, vectors, self.config.use),
            k,
            start=self.matcher.best(vectors, self.config.cluster_beam),
            labels=self.tree.labels,
            threads=self.threads,
        )

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.rankers is not None and self.tree is not None and self.matcher is not None
        assert self.tfidf is not None and self.encoder is not None
        return (
            {"n_features": np.array([self.rankers.weights.n_features])}
            | with_prefix("head", self.matcher.state())
            | with_prefix("tfidf", self.tfidf.state())
            | with_prefix("encoder", self.encoder.whole_state())
            | with_prefix("rankers", self.rankers.state())
            | with_prefix("tree", self.tree.state())
        )

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config = self.config
        self.tfidf = Tfidf.from_state(config.tfidf, under_prefix("tfidf", arrays))
        encoder = under_prefix("encoder", arrays)
        self.encoder = TextEncoder.from_whole_state(config.transformer, config.max_length, encoder)
        self.tree = LabelTree.from_state(under_prefix("tree", arrays))
        self.tree.check_ids(len(self.known_labels))
        if self.tree.depth != 2:
            raise ModelError(
                "the label tree of the model does not have exactly one level of clusters: retrain the model"
            )
        clusters, width = self.tree.sizes[0], self.encoder.encoder.width
        self.matcher = Matcher.from_state(under_prefix("head", arrays), clusters=clusters, width=width)
        self.rankers = SingleLevel.from_state(
            under_prefix("rankers", arrays),
            self.tree.offsets[1],
            self._linear(),
            n_features=int(arrays["n_features"][0]),
        )


def default_clusters(labels: int) -> int:
    """2^depth with depth = ⌊log2(⌊labels / 100⌋ + 1)⌋ + 1: 64 for the 3,956 labels of EUR-Lex."""
    return int(2 ** (math.floor(math.log2(labels // 100 + 1)) + 1))
