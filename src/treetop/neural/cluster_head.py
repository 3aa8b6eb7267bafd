"""`ClusterHead`: scores of label clusters, and of the labels inside the best clusters, from a text's vector.

    clusters  G(e) = σ(W_g e + b_g)                                          Eq. 1 of LightXML: bce over all
    sampled   S = labels of the best clusters by G, and of the true ones     Eq. 2
    labels    D(e) = σ(E_S h + b_S),  h = W_h e + b_h                        Eq. 3–5 with biases: bce over S
    score     G of a label's cluster times D of the label

The two losses are sums over the clusters and over S, as in the paper, or means, as in the released code.

The sample of a text changes with every step (dynamic negatives). `static_negatives` trains the clusters first
and then the labels on a fixed sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from .batches import Positives
from .heads import Counts, Head, LabelHead, candidate_counts, log_odds
from .losses import Shortlist


class ClusterHead(Head):
    """Scores all clusters, and the labels of the best ones."""

    cluster_of: Tensor

    def __init__(
        self,
        width: int,
        cluster_of: npt.NDArray[np.int64],
        *,
        hidden: int,
        activation: str,
        beam: int,
        reduction: str = "sum",
        bits: int = 32,
        sparse: bool = False,
    ) -> None:
        """``cluster_of`` every label; ``beam``: clusters whose labels are scored.

        ``reduction`` of a text's losses over the clusters, and over the labels: sum or mean.
        """
        super().__init__()
        self.register_buffer("cluster_of", torch.from_numpy(cluster_of), persistent=False)
        count = int(cluster_of.max(initial=0)) + 1
        self.clusters = nn.Linear(width, count)
        self.hidden = nn.Linear(width, hidden)
        self.activation = activation
        self.reduction = reduction
        self.labels = LabelHead(hidden, len(cluster_of), "bce", reduction=reduction, bits=bits, sparse=sparse)
        nn.init.xavier_uniform_(self.labels.weight)
        self.beam = min(beam, count)

    @property
    def of_labels(self) -> LabelHead:
        return self.labels

    def start(self, counts: Sequence[Counts], texts: int) -> None:
        of_clusters, of_labels = counts
        self.clusters.bias.data = log_odds(of_clusters, texts)
        trials = candidate_counts(of_clusters, self.beam, texts)
        self.labels.bias.data = log_odds(of_labels, trials[self.cluster_of.numpy()])

    def loss(self, vectors: Tensor, positives: Positives) -> Tensor:
        logits = self.clusters(vectors).float()
        true = self._true(positives, logits)
        sampled = self._sampled(logits.detach(), true)
        clusters = self._mean_loss(logits, true, positives.text_weights)
        return clusters + self.label_loss(vectors, positives, sampled)

    def cluster_loss(self, vectors: Tensor, positives: Positives) -> Tensor:
        """The loss of the clusters alone."""
        logits = self.clusters(vectors).float()
        return self._mean_loss(logits, self._true(positives, logits), positives.text_weights)

    def label_loss(self, vectors: Tensor, positives: Positives, sampled: Tensor) -> Tensor:
        """The loss of the labels alone; ``sampled``: texts × clusters whose labels are in it."""
        return self.labels.loss(self._narrowed(vectors), positives, Shortlist(sampled, self.cluster_of))

    def sampled(self, vectors: Tensor, positives: Positives) -> Tensor:
        """Texts × clusters whose labels are in the loss: the true ones, then the best, ``beam`` or more."""
        logits = self.clusters(vectors).float()
        return self._sampled(logits, self._true(positives, logits))

    def top(self, seen: Tensor | tuple[Tensor, Tensor], k: int) -> tuple[Tensor, Tensor]:
        """``seen``: a vector for each text, or two: one for its clusters and one for its labels."""
        for_clusters, for_labels = seen if isinstance(seen, tuple) else (seen, seen)
        scores = torch.sigmoid(self.clusters(for_clusters).float())
        values, best = scores.topk(self.beam, dim=1)
        kept = torch.full_like(scores, -1).scatter_(1, best, values)
        return self.labels.top(self._narrowed(for_labels), k, within=(kept, self.cluster_of))

    def _true(self, positives: Positives, logits: Tensor) -> Tensor:
        """Texts × clusters: 1 where a label of the text is in the cluster."""
        true = torch.zeros_like(logits)
        places = positives.texts, self.cluster_of[positives.labels]
        return true.index_put_(places, (positives.weights > 0).to(true), accumulate=True).clamp_(max=1)

    def _sampled(self, logits: Tensor, true: Tensor) -> Tensor:
        best = (torch.sigmoid(logits) + true).topk(self.beam, dim=1)[1]
        return (true > 0).scatter_(1, best, True)

    def _narrowed(self, vectors: Tensor) -> Tensor:
        narrow: Tensor = self.hidden(vectors)
        return torch.sigmoid(narrow) if self.activation == "sigmoid" else narrow

    def _mean_loss(self, logits: Tensor, true: Tensor, text_weights: Tensor | None) -> Tensor:
        """The loss of the clusters, mean over the texts."""
        count = logits.numel() if self.reduction == "mean" else len(logits)
        weights = None if text_weights is None else text_weights[:, None]
        losses = functional.binary_cross_entropy_with_logits(logits, true, weights, reduction="sum")
        return losses / count
