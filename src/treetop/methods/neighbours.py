"""Nearest neighbours: the labels of the training texts most similar to a text, by a weighted vote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from ..config import part
from ..data import Dataset
from ..explanation import Explanation
from ..neighbours import VOTE_SPACE, Neighbours, NeighboursConfig
from ..ranked import Ranked
from .features import TFIDF_SPACE, FeatureConfig, FeatureMethod


@dataclass(frozen=True)
class NearestNeighboursConfig(FeatureConfig):
    """Settings of nearest neighbours."""

    vote: NeighboursConfig = part(NeighboursConfig(), "the neighbours and their vote")


class NearestNeighbours(FeatureMethod):
    """Learns nothing but the vocabulary; takes texts, or feature matrices with unit rows."""

    name = "neighbours"
    config_class = NearestNeighboursConfig
    search_space = TFIDF_SPACE | VOTE_SPACE
    config: NearestNeighboursConfig

    neighbours: Neighbours | None = None

    def _fit(self, dataset: Dataset) -> None:  # type: ignore[override]  # it has no options
        X = self._fit_features(dataset)
        self.neighbours = Neighbours.fit(X, dataset.Y, self.config.vote, threads=self.threads)

    def _update(self, new: Dataset, old: Dataset | None) -> None:  # type: ignore[override]
        X, Y, _ = self._all_examples(new, old)
        self.neighbours = Neighbours.fit(X, Y, self.config.vote, threads=self.threads)
        self._keep(X, Y)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        assert self.neighbours is not None
        return self.neighbours.rank(self._features(dataset), k, threads=self.threads)

    def _explain(self, dataset: Dataset, label: int) -> Explanation:  # type: ignore[override]
        assert self.neighbours is not None
        return self.neighbours.explain(self._features(dataset), label, self._fitted(), threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.neighbours is not None
        return self.neighbours.state() | self._feature_state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self._restore_features(arrays)
        labels = len(self._fitted())
        self.neighbours = Neighbours.from_state(arrays, self.config.vote, self.n_features, labels)
