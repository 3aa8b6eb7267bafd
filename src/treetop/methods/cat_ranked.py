"""What encoders with a score for every label share: linear rankers on Φ_cat afterwards.

    score(l) = (1 - w) · ranker(l) + w · network(l)

The rankers see TF-IDF and the trained encoder's vectors side by side, and so words that the encoder cuts off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .._native import combine
from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError, ModelError
from ..features import Tfidf, TfidfConfig
from ..features.joined import Vectors
from ..neural.batches import Examples
from ..neural.device import chosen_device, memory_told, using_threads
from ..neural.encoder_network import HeadedEncoder, vectors_and_labels
from ..neural.heads import Counts
from ..neural.ranking import as_lists
from ..ranked import DEPTH, Ranked
from .cat_rankers import CatRankers, CatRankersConfig
from .encoded import EncodedConfig, EncodedMethod
from .features import fitted_tfidf


@dataclass(frozen=True)
class CatRankedConfig(EncodedConfig):
    """Settings of every such method."""

    head_bits: int = setting(
        32,
        "of a label's weights: with 16 they and their moments take half the memory, rounded at random",
        choices=(16, 32),
    )
    start: str = setting(
        "frequency",
        "scores before training: those of the labels' frequencies, or random ones",
        choices=("frequency", "random"),
    )
    rankers: bool = setting(
        True, "rank labels with linear rankers on TF-IDF and the trained encoder's vectors, too"
    )
    ranker_layers: int = setting(
        1, "last layers whose vectors the rankers see, of the `layers` that the network sees", at_least=1
    )
    head_share: float = setting(
        0.15, "of the encoder's scores in those of the labels, beside the rankers'", at_least=0, at_most=1
    )
    ranking: CatRankersConfig = part(CatRankersConfig(), "the rankers")

    def check(self) -> None:
        super().check()
        if self.ranker_layers > self.transformer.layers:
            raise ConfigError(
                f"ranker_layers={self.ranker_layers}: rankers see no more layers than the network, which sees"
                f" {self.transformer.layers}"
            )


class CatRankedMethod(EncodedMethod):
    """A `HeadedEncoder`, and rankers where they are asked for."""

    config: CatRankedConfig
    rankers: CatRankers | None = None
    _terms: tuple[Tfidf, sparse.csr_matrix] | None = None
    """Of the training texts, until the rankers are made."""

    @property
    def network_alone(self) -> bool:
        return self.rankers is None

    def _prepare(self, dataset: Dataset, Y: sparse.csr_matrix) -> None:
        """What can go wrong with texts is found before the network is trained."""
        super()._prepare(dataset, Y)
        self.rankers, self._terms = None, None
        if self.config.rankers:
            assert dataset.texts is not None
            self._terms = fitted_tfidf(self.config.ranking.tfidf, dataset.texts, self.threads)

    def _initialise(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        assert isinstance(self.network, HeadedEncoder)
        if self.config.start != "random":
            self.network.head.start(self._counts(Y), Y.shape[0])

    def _counts(self, Y: sparse.csr_matrix) -> list[Counts]:
        """How many texts have each label; before that of clusters of labels, where there are some."""
        return [np.bincount(Y.indices, minlength=Y.shape[1])]

    def _known_terms(self, config: TfidfConfig) -> tuple[Tfidf, sparse.csr_matrix] | None:
        return self._terms if self.config.ranking.tfidf == config else None

    def _after_training(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        terms, self._terms = self._terms, None
        if terms is not None:
            self.rankers = CatRankers.fit(
                *terms,
                self._vectors(examples, device),
                Y,
                self.config.ranking,
                seed=self.config.seed,
                threads=self.threads,
            )

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        if self.rankers is None:
            return super()._rank(dataset, k)
        assert dataset.texts is not None
        self._choose_bits()
        depth, share = min(max(k, DEPTH), len(self.used)), self.config.head_share
        with using_threads(self.threads), memory_told():
            device = chosen_device(self.config.device)
            vectors, labels, scores = self._seen(self._examples(dataset), device, depth if share else 0)
        lists: list[Ranked] = [as_lists(labels, scores)] if share else []
        lists.append(self.rankers.rank(dataset.texts, vectors, depth if share else k, threads=self.threads))
        ranked = lists[0] if len(lists) == 1 else Ranked(*combine(lists, [share, 1 - share], k, self.threads))
        return ranked._replace(labels=self.used[ranked.labels].astype(np.int32))

    def _vectors(self, examples: Examples, device: torch.device) -> Vectors:
        return self._seen(examples, device, 0)[0]

    def _seen(
        self, examples: Examples, device: torch.device, k: int
    ) -> tuple[Vectors, npt.NDArray[np.int32], Vectors]:
        """Vectors, and the ``k`` best labels by the network with their scores."""
        assert isinstance(self.network, HeadedEncoder)
        layers = self.config.ranker_layers
        return vectors_and_labels(self.network, examples, k, self._pass(device), layers=layers)

    def _state(self) -> dict[str, npt.NDArray]:
        rankers = {} if self.rankers is None else with_prefix("rankers", self.rankers.state())
        return super()._state() | rankers

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        super()._restore(arrays)
        if self.config.rankers:
            state = under_prefix("rankers", arrays)
            self.rankers = CatRankers.from_state(state, self.config.ranking, len(self.used))
            assert isinstance(self.network, HeadedEncoder)
            width = self.network.encoder.width_of_last(self.config.ranker_layers)
            known, seen = self.rankers.model.n_features, self.rankers.tfidf.n_features + width
            if known != seen:
                raise ModelError(f"its rankers know {known:,} features, and see {seen:,}: train it again")
