"""`NodeValidation`: metrics of the nodes of a level of a label tree, on held-out texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from ..data import Dataset
from ..features.joined import Vectors, side_by_side
from ..features.text_features import TextFeatures
from ..linear.single_level import SingleLevel
from ..linear.tree_model import relevance_chain
from ..metrics import Metrics, evaluate, parse_metric
from ..neural.encoder_network import EncoderNetwork
from ..neural.text_encoder import TextEncoder
from ..neural.training import Validator
from ..predictions import Predictions
from ..ranked import Ranked
from ..sparse import binarize, csr_arrays
from ..strings import Strings
from ..tree import LabelTree
from .fine_tuning import inference_settings
from .network_config import JoinedFeaturesConfig

BLOCK = 1 << 26
"""Scores computed at a time."""


class NodeValidation:
    """Held-out texts on their way down a tree: each level is searched below the best nodes above."""

    def __init__(
        self,
        held_out: Dataset,
        labels: Strings,
        tree: LabelTree,
        encoder: TextEncoder,
        features: TextFeatures,
        config: JoinedFeaturesConfig,
        device: torch.device,
        *,
        threads: int,
    ) -> None:
        """``labels``: those of the training examples, whose ids the tree has."""
        known = held_out.aligned_to(labels)
        assert known.texts is not None and known.Y is not None
        self.tree = tree
        self.encoder = encoder
        self.inference = inference_settings(config, device)
        self.threads = threads
        self.X = features.matrix(known, threads=threads)
        self.tokens = encoder.tokens(known.texts)
        self.relevance = relevance_chain(known.Y[:, : len(labels)], tree)
        self.beam: Ranked | None = None
        self.name, self.k = parse_metric(config.training.metric)

    def arrays(self) -> list[npt.NDArray]:
        """What the metrics depend on, for the names of checkpoints."""
        return [*self.tokens, *csr_arrays(self.X), *csr_arrays(self.relevance[-1])]

    def validator(self, network: EncoderNetwork, level: int) -> Validator:
        """Metrics of the network's best nodes of a level."""
        ks = tuple(sorted({1, 3, 5, self.k}))
        metrics = tuple(dict.fromkeys(("P", "nDCG", self.name)))
        names = Strings.of(map(str, range(self.tree.sizes[level])))
        truth = Dataset(names, X=self.X, Y=binarize(self.relevance[level]), source="the validation set")
        counts = truth.label_counts

        def validate() -> Metrics:
            W, b = (
                value.detach().float().cpu().numpy() for value in (network.head.weight, network.head.bias)
            )
            ranked = best_nodes(self._vectors(), W, b, self._allowed(level), max(ks))
            predictions = Predictions(*ranked, names)
            return evaluate(
                predictions, truth, train_counts=counts, n_train=len(truth), ks=ks, metrics=metrics
            )

        return validate

    def descend(self, rankers: SingleLevel, most: int) -> None:
        """Continues below the ``most`` nodes that the rankers of a level find best."""
        features = side_by_side(self.X, self._vectors())
        self.beam = rankers.rank(features, most, start=self.beam, threads=self.threads)

    def _vectors(self) -> Vectors:
        return self.encoder.vectors(self.tokens, self.inference, threads=self.threads)

    def _allowed(self, level: int) -> npt.NDArray[np.bool_] | None:
        """Texts × nodes: children of the beam; None: all."""
        if self.beam is None:
            return None
        above = np.zeros((self.X.shape[0], len(self.tree.offsets[level]) - 1), bool)
        above[np.repeat(np.arange(len(above)), np.diff(self.beam.indptr)), self.beam.labels] = True
        allowed: npt.NDArray[np.bool_] = above[:, self.tree.parents(level)]
        return allowed


def best_nodes(
    vectors: Vectors, W: Vectors, b: Vectors, allowed: npt.NDArray[np.bool_] | None, k: int
) -> Ranked:
    """The ``k`` best nodes by W φ + b, among the allowed ones."""
    k = min(k, len(b))
    rows = max(BLOCK // len(b), 1)
    nodes, scores = [], []
    for first in range(0, max(len(vectors), 1), rows):  # also a block without rows
        block = vectors[first : first + rows] @ W.T + b
        if allowed is not None:
            block[~allowed[first : first + rows]] = -np.inf
        best = np.argpartition(-block, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(block, best, 1)
        order = np.argsort(-values, axis=1, kind="stable")
        nodes.append(np.take_along_axis(best, order, 1))
        scores.append(np.take_along_axis(values, order, 1))
    kept = np.isfinite(np.concatenate(scores))
    indptr = np.append(0, np.cumsum(kept.sum(1))).astype(np.int64)
    return Ranked(
        indptr,
        np.concatenate(nodes)[kept].astype(np.int32),
        np.concatenate(scores)[kept].astype(np.float32),
    )
