"""Nearest neighbours: labels of the most similar training texts, by weighted vote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from ..config import part
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..explanation import Explanation
from ..features.text_features import TextFeatures
from ..neighbours import VOTE_SPACE, Neighbours, NeighboursConfig
from ..ranked import Ranked
from .base import Method
from .feature_config import TFIDF_SPACE, FeatureConfig


@dataclass(frozen=True)
class NearestNeighboursConfig(FeatureConfig):
    """Settings of nearest neighbours."""

    vote: NeighboursConfig = part(NeighboursConfig(), "the neighbours and their vote")


class NearestNeighbours(Method):
    """Learns only the vocabulary; takes texts, or feature matrices with unit rows."""

    name = "neighbours"
    config_class = NearestNeighboursConfig
    search_space = TFIDF_SPACE | VOTE_SPACE
    config: NearestNeighboursConfig
    features = TextFeatures(None, 0)
    neighbours: Neighbours | None = None

    tfidf = renamed_attribute("tfidf", "features.tfidf")
    n_features = renamed_attribute("n_features", "features.n_features")
    kept = renamed_attribute("kept", "features.kept")

    @property
    def takes_texts(self) -> bool:
        return self.features.of_texts

    def _fit(self, dataset: Dataset) -> None:
        self.features, X = TextFeatures.fit(
            dataset, self.config.tfidf, keeps_data=self.config.keep_data, threads=self.threads
        )
        self.neighbours = Neighbours.fit(X, dataset.Y, self.config.vote, threads=self.threads)

    def _update(self, new: Dataset, old: Dataset | None) -> None:
        X, Y, _ = self.features.with_old_examples(
            new, old, name=self.name, count=self.statistics["examples"], threads=self.threads
        )
        self.neighbours = Neighbours.fit(X, Y, self.config.vote, threads=self.threads)
        self.features.keep(X, Y)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:
        assert self.neighbours is not None
        X = self.features.rows(dataset, threads=self.threads)
        return self.neighbours.rank(X, k, threads=self.threads)

    def _explain(self, dataset: Dataset, label: int) -> Explanation:
        assert self.neighbours is not None
        X = self.features.rows(dataset, threads=self.threads)
        return self.neighbours.explain(X, label, self.known_labels, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.neighbours is not None
        return self.neighbours.state() | self.features.state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config, labels = self.config, len(self.known_labels)
        self.features = TextFeatures.from_state(
            arrays, config.tfidf, keeps_data=config.keep_data, labels=labels
        )
        n_features = self.features.n_features
        self.neighbours = Neighbours.from_state(arrays, config.vote, n_features, labels)
