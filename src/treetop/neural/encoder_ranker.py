"""`EncoderRanker`: a joined ranker that ranks labels together with the encoder's own head.

    score(l) = (1 - w) · ranker(l) + w · network(l)

The ranker sees TF-IDF and the trained encoder's vectors, and so also the words that the encoder cuts off.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt
from scipy import sparse

from .._native import combine
from ..data import Dataset
from ..features.text_features import TextFeatures
from ..linear.joined_ranker import JoinedRanker
from ..ranked import DEPTH, Ranked
from .batches import Examples
from .encoder_config import EncoderRankerOptions
from .encoder_network import HeadedEncoder, vectors_and_labels
from .inference import InferenceSettings, as_lists


class EncoderRanker:
    """A `JoinedRanker` on the vectors of the network's last ``options.layers``; ``share`` is w above."""

    def __init__(self, ranker: JoinedRanker, options: EncoderRankerOptions) -> None:
        self.ranker = ranker
        self.layers = options.layers
        self.share = options.share

    @classmethod
    def fit(
        cls,
        network: HeadedEncoder,
        examples: Examples,
        terms: tuple[TextFeatures, sparse.csr_matrix],
        Y: sparse.csr_matrix,
        options: EncoderRankerOptions,
        inference: InferenceSettings,
        *,
        seed: int,
        threads: int,
    ) -> EncoderRanker:
        """``terms``: the features of the examples' texts, as a part and as a matrix.

        Every label has examples.
        """
        config = options.config
        vectors, _, _ = vectors_and_labels(network, examples, 0, inference, layers=options.layers)
        tree = config.tree_of(Y.shape[1])
        weights = examples.weights
        ranker = JoinedRanker.fit(
            *terms, vectors, Y, tree, config.linear, weights=weights, seed=seed, threads=threads
        )
        return cls(ranker, options)

    def rank(
        self,
        network: HeadedEncoder,
        dataset: Dataset,
        examples: Examples,
        k: int,
        inference: InferenceSettings,
        *,
        labels: int,
        threads: int,
    ) -> Ranked:
        """The ``k`` best labels of the texts, with tokens ``examples``, of the network's ``labels``."""
        depth = min(max(k, DEPTH), labels) if self.share else 0
        vectors, ids, scores = vectors_and_labels(network, examples, depth, inference, layers=self.layers)
        by_ranker = self.ranker.rank(dataset, vectors, depth or k, threads=threads)
        if not self.share:
            return by_ranker
        lists = [as_lists(ids, scores), by_ranker]
        return Ranked(*combine(lists, [self.share, 1 - self.share], k, threads))

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return self.ranker.state()

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, npt.NDArray],
        options: EncoderRankerOptions,
        network: HeadedEncoder,
        *,
        labels: int,
    ) -> EncoderRanker:
        """The inverse of `state`, for a network with that number of labels."""
        config = options.config
        width = network.encoder.width_of_last(options.layers)
        ranker = JoinedRanker.from_state(arrays, config.tfidf, config.linear, labels=labels, width=width)
        return cls(ranker, options)
