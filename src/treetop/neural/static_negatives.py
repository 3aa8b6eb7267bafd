"""LightXML with static negatives (S and BS in Table 5 of its paper), trained in two stages.

    first   encoder and clusters    bce over all clusters
    then    labels                  bce over the labels of S, fixed by the trained clusters for every text

In the second stage the encoder is frozen (S), or the labels have their own encoder, which starts as a copy of
the first and is trained further (BS).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from ..sparse import binarize
from .batches import Batch, Examples
from .cluster_head import ClusterHead
from .encoder import Encoder
from .encoder_network import HeadedEncoder
from .inference import InferenceSettings, for_each_batch
from .losses import Shortlist

if TYPE_CHECKING:
    from typing_extensions import Self


class StaticNegatives(HeadedEncoder):
    """Parts: ``encoder``, ``head``, and perhaps ``own``, the encoder of the labels.

    Batches without shortlists train the clusters, batches with shortlists the labels.
    """

    head: ClusterHead

    def __init__(self, encoder: Encoder, head: ClusterHead, *, own: bool) -> None:
        super().__init__(encoder, head)
        self.own = copy.deepcopy(encoder) if own else None
        self.frozen = False
        """Whether the first encoder is frozen."""

    def begin_clusters(self) -> None:
        self._train_only([self.encoder, self.head.clusters])

    def begin_labels(self) -> None:
        self.frozen = True
        trained: list[nn.Module] = [self.head.hidden, self.head.labels]
        if self.own is not None:
            self.own.load_state_dict(self.encoder.state_dict())
            trained.append(self.own)
        self._train_only(trained)

    def _train_only(self, parts: list[nn.Module]) -> None:
        self.requires_grad_(False)
        for part in parts:
            part.requires_grad_(True)

    def train(self, mode: bool = True) -> Self:
        """A frozen transformer has no dropout inside; its vectors still have."""
        super().train(mode)
        if self.frozen:
            self.encoder.transformer.eval()
        return self

    def seen(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The vectors for the clusters, and those for the labels."""
        vectors = self.encoder(batch)
        return vectors, vectors if self.own is None else self.own(batch)

    def label_vectors(self, seen: tuple[Tensor, Tensor]) -> Tensor:
        return seen[1]

    def forward(self, batch: Batch) -> Tensor:
        assert batch.positives is not None
        if batch.parents is None:
            return self.head.cluster_loss(self.encoder(batch), batch.positives)
        count = self.head.clusters.out_features
        sampled = Shortlist.of(batch.parents, self.head.cluster_of, count).chosen
        if self.own is not None:
            return self.head.label_loss(self.own(batch), batch.positives, sampled)
        with torch.no_grad():
            vectors = self.encoder(batch)
        return self.head.label_loss(vectors, batch.positives, sampled)


def fixed_clusters(
    network: StaticNegatives, examples: Examples, inference: InferenceSettings
) -> sparse.csr_matrix:
    """Texts × clusters: the true clusters of each text and the best by the trained clusters."""
    rows: list[Tensor] = []
    clusters: list[Tensor] = []

    def use(batch: Batch) -> None:
        assert batch.positives is not None
        texts, sampled = network.head.sampled(network.encoder(batch), batch.positives).nonzero(as_tuple=True)
        rows.append(batch.rows[texts].cpu())
        clusters.append(sampled.cpu())

    for_each_batch("Clusters of texts", network, use, examples, inference)
    places = torch.cat(rows).numpy(), torch.cat(clusters).numpy()
    shape = len(examples), network.head.clusters.out_features
    return binarize(sparse.csr_matrix((np.ones(len(places[0]), np.float32), places), shape=shape))
