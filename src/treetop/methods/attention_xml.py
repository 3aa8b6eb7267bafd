"""AttentionXML: every label has its own attention over a text; one network for each level of a label tree.

You, Zhang, Wang, Dai, Mamitsuka, Zhu: "AttentionXML: Label Tree-based Attention-Aware Deep Model for
High-Performance Extreme Multi-Label Text Classification", NeurIPS 2019. Each level starts
from the weights of the level above. For each text it scores the children of the true nodes and of the best
nodes found above. With few labels, labels are the only level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import checkpoints
from ..config import part, setting
from ..errors import ConfigError
from ..neural.attention_network import AttentionConfig, AttentionLevels, AttentionNetwork, usual_levels
from ..neural.batches import Examples
from ..neural.config import TrainingConfig
from ..neural.inference import rank
from ..neural.reader import Tokens, WordReader
from ..neural.training import TrainingProgress
from ..search_space import SearchSpace
from ..sparse import merge_columns
from .fine_tuning import TrainingTask, inference_settings
from .network_config import ClusterConfig, WordNetworkConfig
from .neural import NeuralMethod

ATTENTION_SPACE: SearchSpace = {"training.learning_rate": (1e-3, 3e-3, 6e-3), "attention.hidden": (256, 512)}
"""Without ``cluster_beam``: by default only many labels have a tree."""


@dataclass(frozen=True)
class AttentionXMLConfig(ClusterConfig, WordNetworkConfig):
    """Settings of AttentionXML."""

    epochs: int = setting(10, "passes over the training examples, for the network of each level", at_least=1)
    batch_size: int = setting(200, "texts per optimizer step", at_least=1)
    clusters: tuple[int, ...] = setting(
        (),
        "clusters on each level above the labels, from the top; none: powers of two, for more than 5,000 "
        "labels. Levels with as many clusters as labels, or more, are left out",
        at_least=1,
    )
    flat: bool = setting(False, "score every label for every text, without a label tree")
    cluster_beam: int = setting(64, "beam width: nodes of a level whose children are scored", at_least=1)
    warm_start: bool = setting(True, "initialise a level with the word vectors and LSTM of the level above")
    attention: AttentionConfig = part(AttentionConfig(), "the layers of the network")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=3e-3, average="swa", average_from=0.5), "the training loop"
    )

    renamed: ClassVar = {"chosen": "cluster_beam"}

    def check(self) -> None:
        super().check()
        if list(self.clusters) != sorted(set(self.clusters)):
            raise ConfigError(
                "the numbers of clusters must increase from level to level: list the smallest first"
            )
        if self.flat and self.clusters:
            raise ConfigError("flat=true uses no clusters: set only one of them")


class AttentionXML(NeuralMethod):
    """Label-wise attention over words."""

    name = "attention-xml"
    config_class = AttentionXMLConfig
    search_space = ATTENTION_SPACE
    config: AttentionXMLConfig
    network: AttentionLevels | None = None

    def _cluster_sizes(self, labels: int) -> tuple[int, ...]:
        if self.config.flat:
            return ()
        return tuple(size for size in self.config.clusters or usual_levels(labels) if 1 < size < labels)

    def _build(self, labels: int, *, trained: bool) -> AttentionLevels:
        assert self.clusters is not None and isinstance(self.reader, WordReader)
        levels = []
        for number, parents in enumerate(self.clusters.parents):
            words = self.reader.embedding(blank=trained or (number > 0 and self.config.warm_start))
            words.weight.requires_grad = self.config.words.trainable
            levels.append(AttentionNetwork(words, self.config.attention, parents, first=number == 0))
        return AttentionLevels(levels, self.config.cluster_beam)

    def _run_training(self, task: TrainingTask, tokens: Tokens, Y: sparse.csr_matrix) -> TrainingProgress:
        """Trains level by level. Only the last, which ranks the labels, is validated, with all above it."""
        assert self.network is not None and self.clusters is not None
        together = TrainingProgress()
        relevance = self.clusters.relevance(Y)
        # Initial scores of a level are the log-odds of its candidates. Otherwise the first steps train the
        # scorer, which all labels share, to reject everything, and it never recovers.
        known = 0.0
        for number, true in enumerate(relevance):
            last = number + 1 == len(relevance)
            level, shortlist = self.network.level(number), None
            if number:
                shortlist = self._shortlist(task, relevance[number - 1], number)
                if self.config.warm_start:
                    level.start_from(self.network.level(number - 1))
                else:
                    known = 0.0
            odds = self._odds(true, shortlist, number)
            level.raise_scores(odds - known)
            known = odds
            self.network.depth = number + 1
            level_task = replace(
                task,
                network=level,
                examples=Examples(tokens, true, shortlist=shortlist, weights=task.examples.weights),
                title=f"{task.title}, level {number + 1} of {len(relevance)}, {level.nodes:,} nodes",
                checkpoint=checkpoints.name_of("attention", task.checkpoint, number),
                validator=task.validator if last else None,
                on_epoch=task.on_epoch if last else None,
                part={"level": number + 1},
            )
            together = together.then(level_task.run())
        return together

    def _odds(self, true: sparse.csr_matrix, shortlist: sparse.csr_matrix | None, number: int) -> float:
        """Log-odds that a candidate of a text is right; candidates are the children of its shortlist."""
        assert self.clusters is not None
        candidates, right = float(true.shape[0] * true.shape[1]), float(true.nnz)
        if shortlist is not None:
            parents, above = self.clusters.parents[number], shortlist.shape[1]
            candidates = float((shortlist @ np.bincount(parents, minlength=above)).sum())
            right = float(merge_columns(true, parents, above).multiply(shortlist).sum())
        return math.log(right / max(candidates - right, 0.5))

    def _shortlist(self, task: TrainingTask, true: sparse.csr_matrix, number: int) -> sparse.csr_matrix:
        """Texts × at most ``cluster_beam`` nodes of the level above, whose children training scores.

        The true nodes, then the best-ranked ones; the best true nodes where they are too many.
        """
        assert self.network is not None
        self.network.depth = number
        most = min(self.config.cluster_beam, true.shape[1])
        inference = inference_settings(self.config, task.device)
        indptr, nodes, _ = rank(self.network, task.examples, most, inference)
        return shortlisted(true, indptr, nodes, most)


def shortlisted(
    true: sparse.csr_matrix, indptr: npt.NDArray[np.int64], ranked: npt.NDArray[np.int32], most: int
) -> sparse.csr_matrix:
    """Texts × nodes, ``most`` per text: nodes both true and ranked, then true, then ranked ones."""
    counts = np.diff(indptr)
    places = np.arange(len(ranked)) - np.repeat(indptr[:-1], counts)
    values = (1 - places / (counts.max(initial=0) + 1)).astype(np.float32)
    merged = sparse.csr_matrix(2 * true + sparse.csr_matrix((values, ranked, indptr), shape=true.shape))
    rows = np.repeat(np.arange(true.shape[0]), np.diff(merged.indptr))
    order = np.lexsort((-merged.data, rows))  # within the rows
    kept = order[np.arange(len(order)) - merged.indptr[rows] < most]
    places_of = rows[kept], merged.indices[kept]
    return sparse.csr_matrix((np.ones(len(kept), np.float32), places_of), shape=true.shape)
