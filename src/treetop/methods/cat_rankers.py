"""`CatRankers`: XR-Linear on TF-IDF and a trained encoder's vectors, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..config import Config, part
from ..errors import ConfigError
from ..features import Tfidf, TfidfConfig
from ..features.joined import Vectors, side_by_side
from ..linear import LinearConfig, TreeModel
from ..ranked import Ranked
from ..strings import Strings
from ..tree import FROM_EXAMPLES, TreeConfig, trees_of
from .features import USUAL_TFIDF

USUAL_TREE = TreeConfig(leaf_size=100)
USUAL_RANKERS = LinearConfig(negatives=("tfn", "tfn+man"), threshold=0.01, beam=(30,), last_transform="alone")


@dataclass(frozen=True)
class CatRankersConfig(Config):
    """Their features, their tree, and how they are solved."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "their features of texts")
    tree: TreeConfig = part(
        USUAL_TREE,
        "their tree; leaf_size as many as labels: none, each has a classifier against all texts (DiSMEC)",
    )
    linear: LinearConfig = part(USUAL_RANKERS, "how they are solved and searched")

    def check(self) -> None:
        if self.tree.vectors not in FROM_EXAMPLES:
            raise ConfigError(f"the rankers' tree is made from examples: vectors={self.tree.vectors} is not")


class CatRankers:
    """Fitted rankers, with the vocabulary of their texts."""

    def __init__(self, tfidf: Tfidf, model: TreeModel) -> None:
        self.tfidf = tfidf
        self.model = model

    @classmethod
    def fit(
        cls,
        tfidf: Tfidf,
        X: sparse.csr_matrix,
        vectors: Vectors,
        Y: sparse.csr_matrix,
        config: CatRankersConfig,
        *,
        seed: int,
        threads: int,
    ) -> CatRankers:
        """``X``: the features that ``tfidf`` gives the training texts."""
        features = side_by_side(X, vectors)
        tree = trees_of(features, Y, config.tree, seeds=[seed], threads=threads)[0]
        return cls(tfidf, TreeModel.fit(features, Y, tree, config.linear, seed=seed, threads=threads))

    def rank(self, texts: Strings, vectors: Vectors, k: int, *, threads: int) -> Ranked:
        features = side_by_side(self.tfidf.transform(texts, threads=threads), vectors)
        return self.model.rank(features, k, threads=threads)

    def state(self) -> dict[str, npt.NDArray]:
        width = {"n_features": np.array([self.model.n_features])}
        return width | self.model.state() | with_prefix("tfidf", self.tfidf.state())

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, npt.NDArray], config: CatRankersConfig, labels: int
    ) -> CatRankers:
        tfidf = Tfidf.from_state(config.tfidf, under_prefix("tfidf", arrays))
        model = TreeModel.from_state(arrays, config.linear, int(arrays["n_features"][0]))
        model.tree.check_ids(labels)
        return cls(tfidf, model)
