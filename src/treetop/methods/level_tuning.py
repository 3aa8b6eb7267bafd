"""`LevelTuning`: the fine-tuning of XR-Transformer, with the equations of its paper.

For each level t of a label tree, from coarse to fine:

    R^(t)    the number of the text's labels below each node                              Eq. 6
    M^(t)    shortlist: the true parents, and those that the level above ranks high       Eq. 7 and 8
    min      Σ_i Σ_{l: M_il ≠ 0} R̂_il · loss(y_il, w_l · φ(x_i)) + λ‖W‖²                  Eq. 9
    W^(t)    the head is initialised by solving it for W on the current vectors           Eq. 11

As in the released code, R̂ is R for positives and 1 for negatives, λ is 0, and the initial head is solved
with C = 100. With ``alpha`` it is as in the paper: R̂_il = R_il / Σ_j R_ij for positives, and α for negatives.
``penalty`` is λ; the initial head then has C = 1 / (2 λ). ``reduction=mean`` divides the sum over l by the
number of l with M_il ≠ 0, as the released code does.

Linear rankers on [TF-IDF ; φ], which see more of a text than the encoder, select the nodes for the next
level.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .. import checkpoints
from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..features.joined import Vectors, side_by_side
from ..linear import LinearConfig
from ..linear.joined_ranker import USUAL_RANKERS
from ..linear.single_level import SingleLevel
from ..linear.tree_model import relevance_chain
from ..model_arrays import matrix
from ..neural.batches import Examples
from ..neural.config import training_settings
from ..neural.device import seeded, using_threads
from ..neural.encoder_network import EncoderNetwork
from ..neural.reader import Tokens
from ..neural.training import OnEpoch, TrainingProgress
from ..ranked import Ranked
from ..sparse import binarize, normalize_rows
from ..tree import LabelTree
from .fine_tuning import TrainingTask, inference_settings
from .network_config import JoinedFeaturesConfig
from .node_validation import NodeValidation

if TYPE_CHECKING:
    from ..neural.text_encoder import TextEncoder

Head = tuple[Vectors, Vectors]
"""Weights and biases."""
BOOTSTRAPS = ("weighted", "linear", "inherit", "none")
BOOTSTRAP = LinearConfig(
    cost_positive=100.0, cost_negative=100.0, max_passes=10, threshold=0.0, weight_bits=32
)
"""The solver of the initial head: a rough fit is enough before the fine-tuning."""


@dataclass(frozen=True)
class LevelTuningConfig(JoinedFeaturesConfig):
    """Settings of the fine-tuning."""

    epochs: int = setting(2, "passes over the training examples on each level of the tree", at_least=0)
    steps: tuple[int, ...] = setting(
        (), "optimizer steps on each level, such as 600-800-1200, instead of epochs", at_least=0
    )
    loss: str = setting("squared-hinge", "loss of the fine-tuning", choices=("squared-hinge", "bce"))
    cost_sensitive: bool = setting(
        True,
        "in fine-tuning, weight clusters by the number of the text's labels in them (rankers: linear.costs)",
    )
    alpha: float | None = setting(
        None,
        "weight α of negatives, where positives are weighted by their share of the text's labels, as in the "
        "paper; none: as released, positives by their number of labels and negatives by 1",
        above=0,
    )
    penalty: float = setting(
        0.0, "L2 penalty λ on the weights of a level's head, summed over the training texts", at_least=0
    )
    bootstrap: str = setting(
        "weighted",
        "initial weights of a level's head: a linear solution on the current vectors, with cost weights "
        "(weighted) or without (linear), the parents' weights (inherit), or random (none)",
        choices=BOOTSTRAPS,
    )
    shortlist: int = setting(
        20,
        "number of best-ranked nodes of the level above to add to the true ones (hard negatives)",
        at_least=0,
    )
    max_clusters: int = setting(32768, "fine-tune only on levels with at most this many nodes", at_least=1)
    lowest: int = setting(0, "number of lowest levels to fine-tune on; 0: all", at_least=0)
    linear: LinearConfig = part(USUAL_RANKERS, "the rankers")


class LevelTuning:
    """Fine-tunes ``encoder`` level by level on ``tree``; ``X``: TF-IDF features of the same texts."""

    def __init__(
        self,
        config: LevelTuningConfig,
        encoder: TextEncoder,
        tokens: Tokens,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        tree: LabelTree,
        device: torch.device,
        validation: NodeValidation | None = None,
        *,
        on_epoch: OnEpoch | None = None,
        threads: int,
    ) -> None:
        self.validation = validation
        self.on_epoch = on_epoch
        self.config = config
        self.encoder = encoder
        self.device = device
        self.threads = threads
        self.tokens = tokens
        self.X = X
        self.tree = tree
        self.relevance = relevance_chain(Y, tree)
        """R of Eq. 6, level by level."""
        small = [level for level, size in enumerate(tree.sizes) if size <= self.config.max_clusters]
        lowest = small[-self.config.lowest :] if self.config.lowest else small
        self.levels = lowest if any(self.config.steps or [self.config.epochs]) else []
        self.progress = TrainingProgress()
        """The progress of all levels so far."""
        labels = (*tree.offsets, tree.labels, Y.indptr, Y.indices)
        first = self.encoder.weights().values()
        held_out = () if validation is None else validation.arrays()
        self.basis = checkpoints.name_of(
            "", *tokens, X.indices, X.data, *labels, *first, *held_out, training_settings(self.config)
        )

    def run(self) -> Vectors:
        """Fine-tunes all levels; returns the vectors of the training texts."""
        vectors: Vectors | None = None
        head: Head | None = None
        beam: Ranked | None = None
        for level in self.levels:
            shortlist = self.shortlist(level, beam)
            name = checkpoints.name_of("tuned-level", self.basis, level, shortlist.indptr, shortlist.indices)
            kept = checkpoints.restored(name, partial(self._kept, level))
            if kept is None:
                network = self.network(level, vectors, shortlist, head)
                self.progress = self.progress.then(self._tune(network, level, shortlist))
                vectors = self._vectors()
                W, b = (value.detach().cpu().numpy() for value in (network.head.weight, network.head.bias))
                progress = json.dumps(dataclasses.asdict(self.progress)).encode()
                learned = {"vectors": vectors, "W": W, "b": b, "progress": np.frombuffer(progress, np.uint8)}
                checkpoints.keep(name, with_prefix("encoder", self.encoder.weights()) | learned)
            else:
                vectors, W, b, self.progress = kept
            head = W, b
            if level != self.levels[-1]:
                beam = self._ranked(level, vectors, shortlist, beam)
        return vectors if vectors is not None else self._vectors(self.config.transformer.cache)

    def _kept(
        self, level: int, arrays: Mapping[str, npt.NDArray]
    ) -> tuple[Vectors, Vectors, Vectors, TrainingProgress]:
        """Vectors, head and progress of a finished level, whose encoder is loaded."""
        width, nodes = self.encoder.encoder.width, self.tree.sizes[level]
        shapes = {"vectors": (len(self.tokens[0]) - 1, width), "W": (nodes, width), "b": (nodes,)}
        parts = [np.array(matrix(arrays, name, np.float32, shape)) for name, shape in shapes.items()]
        progress = TrainingProgress(**json.loads(arrays["progress"].tobytes()))
        self.encoder.load_weights(under_prefix("encoder", arrays))
        return parts[0], parts[1], parts[2], progress

    def shortlist(self, level: int, beam: Ranked | None) -> sparse.csr_matrix:
        """M: texts × nodes of the level above. On the first level, it holds all nodes."""
        texts = len(self.tokens[0]) - 1
        if level == 0:
            return sparse.csr_matrix(np.ones((texts, 1), np.float32))
        true = binarize(self.relevance[level - 1])
        if beam is None or not self.config.shortlist:
            return true
        indptr, nodes, _ = beam
        ranked = sparse.csr_matrix((np.ones(len(nodes), np.float32), nodes, indptr), shape=true.shape)
        ranked.sort_indices()
        return binarize(sparse.csr_matrix(true + ranked))

    def network(
        self, level: int, vectors: Vectors | None, shortlist: sparse.csr_matrix, above: Head | None
    ) -> EncoderNetwork:
        """The encoder with a new head, initialised as ``bootstrap`` says."""
        parents = self.tree.parents(level)
        with seeded(self.config.seed + level, torch.device("cpu")):
            network = EncoderNetwork(
                self.encoder.encoder,
                self.tree.sizes[level],
                self.config.loss,
                parents,
                reduction=self.config.reduction,
                scale=self.config.alpha or 1.0,
                penalty=self.config.penalty / self.X.shape[0],
            )
        if vectors is None or above is None or self.config.bootstrap == "none":
            return network
        inherit = self.config.bootstrap == "inherit"
        W, b = (above[0][parents], above[1][parents]) if inherit else self._solved(level, vectors, shortlist)
        network.head.weight.data = torch.from_numpy(W)
        network.head.bias.data = torch.from_numpy(b)
        return network

    def weights(self, level: int) -> sparse.csr_matrix:
        """R̂ of the positives where negatives weigh 1; the network's ``scale`` is α."""
        costs, alpha = self._costs(level), self.config.alpha
        if alpha is None:
            return costs
        return sparse.csr_matrix(
            (costs.data / np.float32(alpha), costs.indices, costs.indptr), shape=costs.shape
        )

    def _costs(self, level: int) -> sparse.csr_matrix:
        """R̂ of the positives."""
        relevance = self.relevance[level]
        if not self.config.cost_sensitive:
            return binarize(relevance)
        return relevance if self.config.alpha is None else normalize_rows(relevance, "l1")

    def _solved(self, level: int, vectors: Vectors, shortlist: sparse.csr_matrix) -> Head:
        config = self.config
        cost = 1 / (2 * config.penalty) if config.penalty else BOOTSTRAP.cost_positive
        solved = SingleLevel.fit(
            _as_csr(vectors),
            self._costs(level) if config.bootstrap == "weighted" else binarize(self.relevance[level]),
            shortlist,
            self.tree.offsets[level],
            BOOTSTRAP.replace_settings(
                {"cost_positive": cost, "cost_negative": cost * (config.alpha or 1.0)}
            ),
            title=f"Initial weights of level {level + 1}",
            seed=self.config.seed + level,
            threads=self.threads,
        )
        return solved.dense()

    def _tune(self, network: EncoderNetwork, level: int, shortlist: sparse.csr_matrix) -> TrainingProgress:
        config, number = self.config, self.levels.index(level)
        steps = config.steps[min(number, len(config.steps) - 1)] if config.steps else None
        if not (config.epochs if steps is None else steps):
            return TrainingProgress()
        name = checkpoints.name_of("tuning", self.basis, level, shortlist.indptr, shortlist.indices)
        nodes = f"{self.tree.sizes[level]:,} nodes"
        with using_threads(self.threads), seeded(config.seed + level, self.device):
            task = TrainingTask(
                network,
                Examples(self.tokens, self.weights(level), shortlist=None if level == 0 else shortlist),
                config,
                self.device,
                title=f"Fine-tuning, level {number + 1} of {len(self.levels)}, {nodes}",
                checkpoint=name,
                seed=config.seed + level,
                steps=steps,
                validator=None if self.validation is None else self.validation.validator(network, level),
                on_epoch=self.on_epoch,
                part={"level": level + 1},
            )
            return task.run()

    def _vectors(self, cache: str | None = None) -> Vectors:
        """Vectors of the texts by the current encoder; ``cache``: may hold those of the published encoder."""
        inference = inference_settings(self.config, self.device)
        return self.encoder.vectors(self.tokens, inference, threads=self.threads, cache=cache)

    def _ranked(
        self, level: int, vectors: Vectors, shortlist: sparse.csr_matrix, beam: Ranked | None
    ) -> Ranked:
        """The best nodes of the level, among the children of those of the level above."""
        features, relevance = side_by_side(self.X, vectors), self.relevance[level]
        rankers = SingleLevel.fit(
            features,
            normalize_rows(relevance, "l1") if self.config.cost_sensitive else binarize(relevance),
            shortlist,
            self.tree.offsets[level],
            self.config.linear.at_level(level, self.tree.depth).replace_settings({"last_transform": None}),
            title=f"Rankers of level {level + 1}",
            seed=self.config.seed + level,
            threads=self.threads,
        )
        if level and beam is None:  # the levels above are not fine-tuned
            indptr, nodes = shortlist.indptr.astype(np.int64), shortlist.indices.astype(np.int32)
            beam = Ranked(indptr, nodes, shortlist.data)
        most = max(self.config.shortlist, 1)
        if self.validation is not None:
            self.validation.descend(rankers, most)
        return rankers.rank(features, most, start=beam, threads=self.threads)


def _as_csr(vectors: Vectors) -> sparse.csr_matrix:
    texts, width = vectors.shape
    columns = np.tile(np.arange(width, dtype=np.int32), texts)
    return sparse.csr_matrix(
        (vectors.reshape(-1), columns, np.arange(texts + 1) * width), shape=vectors.shape
    )
