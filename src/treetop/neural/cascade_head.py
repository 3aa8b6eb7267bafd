"""`CascadeHead`: one level of the label tree for each of several vectors of a text, all trained at once.

    z^(t) = W^(t) φ_t(x) + b^(t)           for the children of the nodes in the beam of level t - 1
    loss    Σ_t ω_t Σ_c bce(y_c, z_c)      over these children c, or their mean, as in the released code
    beam    the k_t best by σ(z^(t)); while training, the true nodes come first

φ_t are states of successively later layers of one transformer: coarse clusters need fewer layers than labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .batches import Positives
from .heads import Counts, Head, LabelHead, candidate_counts, log_odds
from .losses import Shortlist

SCORES = ("weighted", "level", "path")
FIRST_DROPOUT = 0.2
"""Dropout on the concatenated states of two layers, which are projected to one vector for the first level."""


class CascadeHead(Head):
    """Levels from coarse to fine; the last one is the labels."""

    def __init__(
        self,
        width: int,
        parents: Sequence[npt.NDArray[np.int64]],
        *,
        beam: Sequence[int],
        dropouts: Sequence[float],
        score: str,
        weights: Sequence[float] | None = None,
        reduction: str = "sum",
        bits: int = 32,
        sparse: bool = False,
    ) -> None:
        """``parents`` of the nodes of every level, zeros for the first; ``beam`` of every level but the last.

        ``score`` of a label: its own probability (level), times its parent's (weighted), or times those of
        all above it (path). ``weights`` ω of the levels, 1 by default; ``reduction`` of a text's losses on a
        level: sum or mean.
        """
        super().__init__()
        self.beam = [min(count, len(of)) for count, of in zip(beam, parents, strict=False)]
        self.score = score
        self.weights = list(weights or [1.0] * len(parents))
        self.project = nn.Sequential(nn.Dropout(FIRST_DROPOUT), nn.Linear(2 * width, width))
        levels = [
            LabelHead(width, len(of), "bce", reduction=reduction, bits=bits, sparse=sparse and number > 0)
            for number, of in enumerate(parents)
        ]
        self.levels = nn.ModuleList(levels)
        self.dropouts = nn.ModuleList(nn.Dropout(share) for share in dropouts)
        for number, (of, level) in enumerate(zip(parents, levels, strict=True)):
            self.register_buffer(f"parents{number}", torch.from_numpy(of), persistent=False)
            nn.init.xavier_uniform_(level.weight)

    def parents(self, level: int) -> Tensor:
        of: Tensor = getattr(self, f"parents{level}")
        return of

    def level(self, number: int) -> LabelHead:
        level = self.levels[number]
        assert isinstance(level, LabelHead)
        return level

    @property
    def of_labels(self) -> LabelHead:
        return self.level(len(self.levels) - 1)

    def start(self, counts: Sequence[Counts], texts: int) -> None:
        self.level(0).bias.data = log_odds(counts[0], texts)
        for number, (above, own) in enumerate(itertools.pairwise(counts), 1):
            trials = candidate_counts(above, self.beam[number - 1], texts)
            self.level(number).bias.data = log_odds(own, trials[self.parents(number).numpy()])

    def loss(self, vectors: Sequence[Tensor], positives: Positives) -> Tensor:
        """Mean over the texts. The first vector concatenates two layers."""
        vectors = [self.project(vectors[0]), *vectors[1:]]
        total = torch.zeros((), device=vectors[0].device)
        above: Tensor | None = None
        for number, nodes in enumerate(self._ancestors(positives)):
            level, vector = self.level(number), self.dropouts[number](vectors[number])
            shortlist = None if above is None else Shortlist(above, self.parents(number))
            total = total + self.weights[number] * level.loss(vector, nodes, shortlist)
            if number < len(self.beam):
                above = self._sampled(number, vector.detach(), above, nodes)
        return total

    @torch.no_grad()
    def _sampled(self, number: int, vector: Tensor, above: Tensor | None, nodes: Positives) -> Tensor:
        """Texts × nodes whose children are in the loss: the true ones, then the best."""
        scores = self._scores(number, vector, above)
        true = torch.zeros_like(scores)
        true.index_put_((nodes.texts, nodes.labels), (nodes.weights > 0).to(true), accumulate=True)
        values, best = (scores + true).topk(self.beam[number], dim=1)
        return (true > 0).scatter_(1, best, values >= 0)

    def _scores(self, number: int, vector: Tensor, above: Tensor | None) -> Tensor:
        """σ(z) of all nodes of a level; below 0 where the parent is not in the beam."""
        level = self.level(number)
        weight = level.weight.to(vector.dtype)
        scores = torch.sigmoid(nn.functional.linear(vector, weight).float() + level.bias)
        if above is not None:
            scores = torch.where(above[:, self.parents(number)], scores, -1.0)
        return scores

    def top(self, vectors: Sequence[Tensor], k: int) -> tuple[Tensor, Tensor]:
        vectors = [self.project(vectors[0]), *vectors[1:]]
        factors: Tensor | None = None
        for number, (scores, above) in enumerate(self._search(vectors)):
            own = scores if self.score == "weighted" else torch.ones_like(scores)
            if self.score == "path":
                own = scores if factors is None else scores * factors[:, self.parents(number)]
            factors = torch.where(above, own, -1.0)
        last = len(self.beam)
        if factors is None:
            return self.level(last).top(vectors[last], k)
        return self.level(last).top(vectors[last], k, within=(factors, self.parents(last)))

    def _search(self, vectors: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
        """For every level but the last, texts × nodes: the scores, and which nodes are in the beam."""
        above: Tensor | None = None
        for number, count in enumerate(self.beam):
            scores = self._scores(number, vectors[number], above)
            values, best = scores.topk(count, dim=1)
            above = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, best, values >= 0)
            yield scores, above

    def recalled(self, vectors: Sequence[Tensor], positives: Positives) -> Tensor:
        """Texts × levels × 3: the number of true nodes, of those in the beam, and of all in the beam.

        On the last level, all labels below a node of the beam count.
        """
        vectors = [self.project(vectors[0]), *vectors[1:]]
        beams = [inside for _, inside in self._search(vectors)]
        above = beams[-1] if beams else torch.ones_like(vectors[0][:, :1], dtype=torch.bool)
        counts = torch.zeros((len(above), len(self.levels), 3), dtype=torch.int64, device=above.device)
        for number, nodes in enumerate(self._ancestors(positives)):
            if number < len(beams):
                found = beams[number][nodes.texts, nodes.labels]
                counts[:, number, 2] = beams[number].sum(1)
            else:
                parents = self.parents(number)
                found = above[nodes.texts, parents[nodes.labels]]
                counts[:, number, 2] = (above * torch.bincount(parents, minlength=above.shape[1])).sum(1)
            real = nodes.weights > 0
            counts[:, number, 0].index_add_(0, nodes.texts, real.long())
            counts[:, number, 1].index_add_(0, nodes.texts, (real & found).long())
        return counts

    def _ancestors(self, positives: Positives) -> list[Positives]:
        """The true nodes of every level, each once."""
        chain = [positives]
        for number in range(len(self.levels) - 1, 0, -1):
            below = chain[0]
            nodes = replace(below, labels=self.parents(number)[below.labels])
            chain.insert(0, distinct(nodes, len(self.level(number - 1).weight)))
        return chain


def distinct(positives: Positives, count: int) -> Positives:
    """Each (text, label) once, with weight 1; ``count``: number of labels. The number of places stays."""
    real = positives.weights > 0
    keys = torch.where(real, positives.texts * count + positives.labels, -1)
    order = keys.argsort(stable=True)
    sorted_keys = keys[order]
    first = torch.ones_like(real)
    first[1:] = sorted_keys[1:] != sorted_keys[:-1]
    kept = torch.zeros_like(real).scatter_(0, order, first) & real
    return replace(positives, weights=kept.to(positives.weights))
