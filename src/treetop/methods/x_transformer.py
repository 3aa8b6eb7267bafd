"""X-Transformer: label clusters, a fine-tuned transformer that matches them, linear rankers inside them.

Chang, Yu, Zhong, Yang, Dhillon: "Taming Pretrained Transformers for Extreme Multi-label Text Classification",
KDD 2020. With M = YC the clusters of the training texts and M̂ the best ones by the `Matcher`:

    ranker   one classifier for each label on Φ_cat, from the texts of its cluster in M (tfn), M̂ (man) or both
    score    the ranker's alone, or times the cluster's, for the labels of the best clusters
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..errors import ConfigError, ModelError
from ..features.joined import Vectors, joined, joined_width
from ..features.text_features import TextFeatures, stored_width
from ..linear import LinearConfig
from ..linear.config import COST_SPACE
from ..linear.single_level import SingleLevel
from ..linear.tree_model import relevance_chain
from ..model_arrays import RETRAIN, check_equal
from ..neural.device import chosen_device
from ..neural.text_encoder import TextEncoder
from ..neural.training import OnEpoch
from ..ranked import Ranked
from ..search_space import SearchSpace
from ..sparse import binarize, normalize_rows
from ..tree import LabelTree
from .base import Method
from .fine_tuning import (
    inference_settings,
    prediction_vectors,
    training_log,
    training_texts,
    with_validation,
)
from .label_index import LabelIndex, LabelIndexConfig
from .matcher import Matcher
from .node_validation import NodeValidation

X_SPACE: SearchSpace = COST_SPACE | {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "cluster_beam": (5, 10, 20),
}


@dataclass(frozen=True)
class XTransformerConfig(LabelIndexConfig):
    """Settings of X-Transformer."""

    cluster_beam: int = setting(10, "beam width: clusters whose labels are ranked", at_least=1)
    combine: str = setting(
        "ranker",
        "score of a label: the ranker's alone, or times its cluster's",
        choices=("ranker", "product"),
    )
    linear: LinearConfig = part(LinearConfig(negatives=("tfn+man",), threshold=0.01), "the rankers")

    renamed: ClassVar = LabelIndexConfig.renamed | {"visited": "cluster_beam"}


class XTransformer(Method):
    """One model; the published one is an ensemble over three indexes and three encoders, combined by rank.

    Parts: ``features`` of texts, an ``encoder``, the ``matcher`` of clusters, the ``rankers`` inside them.
    """

    name = "x-transformer"
    config_class = XTransformerConfig
    search_space = X_SPACE
    same_on_any_threads = False  # torch sums in another order
    takes_texts = True
    config: XTransformerConfig
    features = TextFeatures(None, 0)
    encoder: TextEncoder | None = None
    tree: LabelTree | None = None
    matcher: Matcher | None = None
    rankers: SingleLevel | None = None

    tfidf = renamed_attribute("tfidf", "features.tfidf")
    n_features = renamed_attribute("n_features", "rankers.weights.n_features")

    @property
    def needs_features(self) -> bool:
        return self.rankers is not None and not self.features.of_texts

    def _fit(
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        validation: Dataset | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        """``tree``: your own clusters, one level above the labels.

        ``validation``: labelled texts that decide which epoch of the matcher is best. ``on_epoch`` is called
        with the log entry of each of its epochs.
        """
        config, threads = self.config, self.threads
        dataset, validation = with_validation(dataset, validation, config, self.name)
        texts, Y = training_texts(dataset, self.name), dataset.Y
        assert Y is not None
        device = chosen_device(config.device)

        self.encoder = TextEncoder.pretrained(config.transformer, config.max_length)
        self.features, X = TextFeatures.fit(dataset, config.tfidf, unit_rows=True, threads=threads)
        tokens = self.encoder.tokens(texts)
        if tree is None:
            index = LabelIndex(config, dataset, self.features, X, tokens, device, threads)
            self.tree = index.tree()
        else:
            self.tree = _one_level(tree.of_training(dataset))
        relevance, labels = relevance_chain(Y, self.tree)
        true = binarize(relevance)

        held_out = None
        if validation is not None:
            held_out = NodeValidation(
                validation,
                dataset.labels,
                self.tree,
                self.encoder,
                self.features,
                config,
                device,
                threads=threads,
            )
        self.matcher, progress, counts = Matcher.fit(
            self.encoder,
            tokens,
            true,
            config,
            device,
            loss=config.loss,
            steps=config.steps,
            validation=held_out,
            on_epoch=on_epoch,
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

    def _rank(self, dataset: Dataset, k: int) -> Ranked:
        assert self.encoder is not None and dataset.texts is not None
        assert self.matcher is not None and self.rankers is not None and self.tree is not None
        vectors = prediction_vectors(self.encoder, dataset.texts, self.config, threads=self.threads)
        X = self.features.matrix(dataset, threads=self.threads)
        return self.rankers.rank(
            joined(X, vectors, self.config.use),
            k,
            start=self.matcher.best(vectors, self.config.cluster_beam),
            labels=self.tree.labels,
            threads=self.threads,
        )

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.rankers is not None and self.tree is not None and self.matcher is not None
        assert self.encoder is not None
        return (
            {"n_features": np.array([self.rankers.weights.n_features])}
            | with_prefix("head", self.matcher.state())
            | self.features.joined_state()
            | with_prefix("encoder", self.encoder.whole_state())
            | with_prefix("rankers", self.rankers.state())
            | with_prefix("tree", self.tree.state())
        )

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config = self.config
        self.features = TextFeatures.from_joined_state(arrays, config.tfidf)
        encoder = under_prefix("encoder", arrays)
        self.encoder = TextEncoder.from_whole_state(config.transformer, config.max_length, encoder)
        self.tree = LabelTree.from_state(under_prefix("tree", arrays))
        self.tree.check_ids(len(self.known_labels))
        if self.tree.depth != 2:
            raise ModelError(
                f"the label tree of the model has {self.tree.depth} levels, where x-transformer needs one of"
                f" clusters and one of labels: {RETRAIN}"
            )
        clusters, width = self.tree.sizes[0], self.encoder.encoder.width
        self.matcher = Matcher.from_state(under_prefix("head", arrays), clusters=clusters, width=width)
        seen = joined_width(self.features.n_features, width, config.use)
        check_equal("features in its rankers", stored_width(arrays, "n_features"), "its texts have", seen)
        self.rankers = SingleLevel.from_state(
            under_prefix("rankers", arrays), self.tree.offsets[1], self._linear(), n_features=seen
        )


def _one_level(tree: LabelTree) -> LabelTree:
    if tree.depth != 2:
        raise ConfigError(
            f"x-transformer has one level of clusters, but the label tree has {tree.depth - 1}: give a tree"
            " with one level above the labels"
        )
    return tree
