"""AttentionXML's network for one level of a label tree, and the search through the networks of all levels.

    words → vectors → dropout → bidirectional LSTM → dropout → attention of every node → scores of nodes

The first level scores all its nodes. The others score, for each text, its candidates: the children of some
nodes of the level above.

    loss     Σ_c bce(y_c, z_c), mean over texts; a mean over candidates too would make the gradients of single
             labels smaller than the ε of Adam
    search   S_c = σ(z_c) · S_parent,  the best C nodes of each level, the best k labels of the last
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ..config import Config, setting
from .batches import Batch, Positives
from .bilstm import BiLSTM
from .label_attention import LabelAttention
from .network import Network

BLOCK = 1 << 27
"""Attention weights (texts × words × nodes) kept at a time."""
MANY = 100_000
"""Nodes from which on a level has sparse gradients: a step updates only the nodes it scored. Also labels from
which on there are three levels of clusters."""
ON_PROCESSOR = 16
"""Largest batch on a CPU: larger ones take more memory but no less time."""


@dataclass(frozen=True)
class AttentionConfig(Config):
    """Layers between words and scores."""

    hidden: int = setting(256, "LSTM units in each direction", at_least=1)
    scorer: tuple[int, ...] = setting(
        (256,), "widths of the hidden layers between attention and score", at_least=1
    )
    embedding_dropout: float = setting(0.2, "dropout on word vectors", at_least=0, at_most=1)
    dropout: float = setting(0.5, "dropout on LSTM states", at_least=0, at_most=1)


class AttentionNetwork(Network):
    """Parts: ``words`` (vectors), ``lstm``, ``attention``."""

    records = False  # CUDA graphs cannot hold an LSTM
    most_on_processor = ON_PROCESSOR

    def __init__(
        self, words: nn.Embedding, config: AttentionConfig, parents: npt.NDArray[np.int64], *, first: bool
    ) -> None:
        """``parents`` of the nodes; ``first``: the top level, which scores all nodes."""
        super().__init__()
        self.words = words
        self.before = nn.Dropout(config.embedding_dropout)
        self.lstm = BiLSTM(words.embedding_dim, config.hidden)
        self.after = nn.Dropout(config.dropout)
        sparse = not first and len(parents) >= MANY
        self.attention = LabelAttention(2 * config.hidden, len(parents), config.scorer, sparse=sparse)
        self.below: Tensor | None
        table = None if first else torch.from_numpy(children_table(parents))
        self.register_buffer("below", table, persistent=False)

    @property
    def nodes(self) -> int:
        return self.attention.looks.num_embeddings

    def start_from(self, above: AttentionNetwork) -> None:
        """Copies word vectors, LSTM and scorer of the level above; the attention of the nodes stays new."""
        for own, theirs in (
            (self.words, above.words),
            (self.lstm, above.lstm),
            (self.attention.scorer, above.attention.scorer),
        ):
            own.load_state_dict(theirs.state_dict())

    def raise_scores(self, by: float) -> None:
        """Adds to all scores, in log-odds."""
        self.attention.scorer.last.bias.data += by

    def forward(self, batch: Batch) -> Tensor:
        assert batch.positives is not None
        states = self.states(batch)
        true = _true_nodes(batch.positives, len(batch), self.nodes)
        weights = batch.positives.text_weights
        weights = None if weights is None else weights[:, None]
        if self.below is None:
            scores = self.all_scores(states, batch.lengths)
            losses = functional.binary_cross_entropy_with_logits(
                scores, true.to(scores), weights, reduction="sum"
            )
            return losses / len(batch)
        assert batch.parents is not None
        candidates, inside = self.candidates(batch.parents)
        scores = self.attention(states, batch.lengths, candidates)
        targets = true.gather(1, candidates).to(scores)
        losses = functional.binary_cross_entropy_with_logits(scores, targets, weights, reduction="none")
        return (losses * inside).sum() / len(batch)

    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        scores = torch.sigmoid(self.all_scores(self.states(batch), batch.lengths))
        values, ids = scores.topk(k, dim=1)
        return values, ids

    def states(self, batch: Batch) -> Tensor:
        """Texts × words × units."""
        states: Tensor = self.after(self.lstm(self.before(self.words(batch.tokens)), batch.lengths))
        return states

    def all_scores(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Texts × nodes, block by block; the attention of each block is recomputed for the gradient."""
        step = max(BLOCK // max(states.shape[0] * states.shape[1], 1), 1)
        if step >= self.nodes:
            whole: Tensor = self.attention(states, lengths)
            return whole
        parts = []
        for first in range(0, self.nodes, step):
            some = torch.arange(first, min(first + step, self.nodes), device=states.device)
            parts.append(checkpoint(self.attention.of_all_texts, states, lengths, some, use_reentrant=False))
        return torch.cat(parts, 1)

    def candidates(self, parents: Tensor) -> tuple[Tensor, Tensor]:
        """``nodes, inside``: texts × places, the children of ``parents`` (1 + node number, padded with 0)."""
        assert self.below is not None
        children = torch.where(parents[..., None] > 0, self.below[(parents.long() - 1).clamp(min=0)], -1)
        children = children.reshape(len(parents), -1)
        return children.clamp(min=0), children >= 0


class AttentionLevels(Network):
    """The networks of all levels, from the top; the search runs through the first ``depth`` of them."""

    records = False
    most_on_processor = ON_PROCESSOR

    def __init__(self, levels: Sequence[AttentionNetwork], beam: int) -> None:
        """``beam``: nodes of each level whose children are scored."""
        super().__init__()
        self.levels = nn.ModuleList(levels)
        self.depth = len(levels)
        self.beam = beam

    def level(self, number: int) -> AttentionNetwork:
        level = self.levels[number]
        assert isinstance(level, AttentionNetwork)
        return level

    def forward(self, batch: Batch) -> Tensor:
        """The loss of the last level searched."""
        loss: Tensor = self.level(self.depth - 1)(batch)
        return loss

    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        """``scores, nodes`` of the last level searched."""
        scores: Tensor | None = None
        nodes: Tensor | None = None
        for number in range(self.depth):
            level = self.level(number)
            kept = k if number + 1 == self.depth else min(self.beam, level.nodes)
            if scores is None or nodes is None:
                scores, nodes = level.top(batch, kept)
            else:
                scores, nodes = self._below(level, batch, scores, nodes, kept)
        assert scores is not None and nodes is not None
        return scores, nodes

    def _below(
        self, level: AttentionNetwork, batch: Batch, scores: Tensor, parents: Tensor, k: int
    ) -> tuple[Tensor, Tensor]:
        candidates, inside = level.candidates(parents + 1)
        own = torch.sigmoid(level.attention(level.states(batch), batch.lengths, candidates))
        product = own * scores.repeat_interleave(candidates.shape[1] // parents.shape[1], dim=1)
        product = torch.where(inside, product, -1.0)
        if product.shape[1] < k:  # fewer candidates than k
            product = functional.pad(product, (0, k - product.shape[1]), value=-1.0)
            candidates = functional.pad(candidates, (0, k - candidates.shape[1]))
        values, places = product.topk(k, dim=1)
        return values, candidates.gather(1, places)


def children_table(parents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Parents × most children: the children of each parent, padded with -1."""
    counts = np.bincount(parents)
    order = np.argsort(parents, kind="stable")
    table = np.full((len(counts), int(counts.max(initial=1))), -1, np.int64)
    places = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[parents[order], places] = order
    return table


def usual_levels(labels: int) -> tuple[int, ...]:
    """Clusters per level, from the top: none for few labels; else powers of two, 4 to 8 children each."""
    if labels <= 5_000:
        return ()
    lowest = math.ceil(math.log2(labels / 8))
    return tuple(1 << level for level in ((lowest,) if labels <= MANY else (lowest - 6, lowest - 3, lowest)))


def _true_nodes(positives: Positives, texts: int, nodes: int) -> Tensor:
    """Texts × nodes: whether a text has the node."""
    counts = torch.zeros((texts, nodes), dtype=torch.int8, device=positives.texts.device)
    ones = (positives.weights > 0).to(torch.int8)
    return counts.index_put_((positives.texts, positives.labels), ones, accumulate=True) > 0
