"""Hybrid: a linear model on a label tree and nearest neighbours, on the same features.

    score(l) = (1 - w) · √linear(l) + w · neighbours(l)

The linear model generalises over the many texts of a frequent label; the neighbours remember the few texts of
a rare one. The square root brings linear scores, products of exp(-(1 - u)³) that fall off steeply, to the
scale of the votes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..config import part, setting
from ..data import Dataset
from ..data.held_out import held_out_if_possible
from ..data.matrices import label_matrix
from ..errors import ConfigError
from ..explanation import Explanation, Part, listed_score, summed
from ..linear import Forest
from ..linear.update import UpdateConfig
from ..metrics import Metrics, evaluate
from ..model_arrays import Numbers, checked
from ..neighbours import VOTE_SPACE, Neighbours, NeighboursConfig
from ..predictions import Predictions
from ..progress import step
from ..ranked import DEPTH, Ranked
from ..sparse import Rows
from ..tree import LabelTree
from .tree_linear import TreeLinear, TreeLinearConfig
from .xr_linear import XR_SPACE

GRID = tuple(step / 20 for step in range(1, 20))
"""Weights to choose from, in addition to 0."""
KEPT = ("P@1", "P@3", "P@5")
"""Metrics that a weight may not worsen."""
WORTH = 0.2
"""Points of nDCG@5 that the neighbours must gain on held-out examples to be worth their time and memory."""
ENOUGH = 100
"""Fewest labelled held-out examples; with fewer, a weight would be due to chance, and is 0."""


@dataclass(frozen=True)
class HybridConfig(TreeLinearConfig):
    """Settings of the hybrid: those of both parts, and their weights."""

    vote: NeighboursConfig = part(NeighboursConfig(), "the neighbours and their vote")
    weight: float | None = setting(
        None, "weight of the neighbours in a score; none: learned on held-out examples", at_least=0, at_most=1
    )
    validation: float = setting(
        0.1, "share of the examples held out to learn the weight on", above=0, at_most=0.5
    )

    def check(self) -> None:
        super().check()
        scale = self.linear.transforms(1)[0]
        if scale == "raw" or scale.startswith("log-"):
            raise ConfigError(
                f"the neighbours' votes need scores from 0 to 1, which transform={scale} does not return: set"
                " another transform"
            )


class Hybrid(TreeLinear):
    """As fast as its parts together; takes texts, or feature matrices with unit rows.

    Training takes twice as long as the linear model alone, unless ``weight`` is given.
    """

    name = "hybrid"
    config_class = HybridConfig
    search_space = XR_SPACE | VOTE_SPACE
    config: HybridConfig

    weight: float = 0.0
    """The weight of the neighbours in a score."""
    neighbours: Neighbours | None = None
    """None where the weight is 0."""

    def _fit(
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        negatives: sparse.csr_matrix | None = None,
    ) -> None:
        """``tree`` and ``negatives``: as for XR-Linear."""
        X = self._fit_features(dataset)
        self.forest = self._fit_forest(dataset, X, tree, negatives)
        weight = self.config.weight
        self.weight = self._learn_weight(dataset, X, tree, negatives) if weight is None else weight
        self.neighbours = self._fit_neighbours(X, dataset.Y) if self.weight > 0 else None

    def _fit_neighbours(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> Neighbours:
        return Neighbours.fit(X, Y, self.config.vote, threads=self.threads)

    def _learn_weight(
        self,
        dataset: Dataset,
        X: sparse.csr_matrix,
        tree: LabelTree | None,
        negatives: sparse.csr_matrix | None,
    ) -> float:
        """The weight with the best nDCG@5 on held-out examples among those that do not lower P@1, P@3 or P@5.

        The smaller of equal ones; 0 if the best is hardly better.
        """
        rows, held_out = held_out_if_possible(dataset, self.config.validation, self.config.seed)
        assert dataset.Y is not None
        labelled = np.diff(dataset.Y.indptr) > 0
        if labelled[held_out].sum() < ENOUGH or not labelled[rows].any():
            return 0.0
        with step("Learning the neighbours' weight"):
            part_X, part_set, truth = X[rows], dataset[rows], dataset[held_out]
            if negatives is not None:
                negatives = label_matrix(negatives, "the negatives")[rows]
            forest = self._fit_forest(part_set, part_X, tree, negatives)
            neighbours = self._fit_neighbours(part_X, part_set.Y)
            lists = self._lists(forest, neighbours, X[held_out], DEPTH)

            def quality(weight: float) -> Metrics:
                ranked = _native.combine(lists, [1 - weight, weight], 5, self.threads)
                return evaluate(Predictions(*ranked, dataset.labels), truth, metrics=("P", "nDCG"))

            best, alone = 0.0, quality(0.0)
            highest = alone["nDCG@5"]
            for weight in GRID:
                here = quality(weight)
                if here["nDCG@5"] > highest and all(here[name] >= alone[name] for name in KEPT):
                    best, highest = weight, here["nDCG@5"]
            return best if highest - alone["nDCG@5"] >= WORTH else 0.0

    def _grow(
        self, dataset: Dataset, X: sparse.csr_matrix, Y: sparse.csr_matrix, known: int, limits: UpdateConfig
    ) -> None:
        """As for XR-Linear; the neighbours are indexed again, their weight does not change."""
        neighbours = None if self.neighbours is None else self._fit_neighbours(X, Y)
        super()._grow(dataset, X, Y, known, limits)
        self.neighbours = neighbours

    def _rank(self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None) -> Ranked:
        if self.neighbours is None:
            return super()._rank(dataset, k, beam=beam)
        assert self.forest is not None
        lists = self._lists(
            self.forest,
            self.neighbours,
            self.features.rows(dataset, threads=self.threads),
            max(k, DEPTH),
            beam,
        )
        return Ranked(*_native.combine(lists, [1 - self.weight, self.weight], k, self.threads))

    def _lists(
        self,
        forest: Forest,
        neighbours: Neighbours,
        X: Rows,
        depth: int,
        beam: tuple[int, ...] | None = None,
    ) -> list[Ranked]:
        linear = forest.rank(X, depth, beam=beam, threads=self.threads)
        return [
            linear._replace(scores=np.sqrt(linear.scores)),
            neighbours.rank(X, depth, threads=self.threads),
        ]

    def _explain(self, dataset: Dataset, label: int, *, beam: tuple[int, ...] | None = None) -> Explanation:
        if self.neighbours is None:
            return super()._explain(dataset, label, beam=beam)
        assert self.forest is not None
        linear = self._explain_linear(dataset, label, beam, k=DEPTH)
        X = self.features.rows(dataset, threads=self.threads)
        votes = self.neighbours.explain(X, label, self.known_labels, threads=self.threads)
        lists = self._lists(self.forest, self.neighbours, X, DEPTH, beam)
        parts = [
            Part("linear", 1 - self.weight, listed_score(lists[0], label), linear),
            Part("neighbours", self.weight, listed_score(lists[1], label), votes),
        ]
        rule = "the sum of weight · value; the value of the linear part is the square root of its score"
        return summed(linear.label, parts, rule)

    def _state(self) -> dict[str, npt.NDArray]:
        arrays = super()._state() | {"weight": np.array([self.weight])}
        return arrays if self.neighbours is None else arrays | self.neighbours.state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        super()._restore(arrays)
        self.weight = float(checked(arrays, {"weight": Numbers(np.float64, 1, least=0, most=1)})["weight"][0])
        if self.weight > 0:
            labels = len(self.known_labels)
            self.neighbours = Neighbours.from_state(
                arrays, self.config.vote, self.features.n_features, labels
            )
