"""`JoinedRanker`: linear classifiers on a label tree, on TF-IDF and an encoder's vectors (Φ_cat)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..config import Config, part
from ..errors import ConfigError
from ..features import USUAL_TFIDF, Tfidf, TfidfConfig
from ..features.joined import Vectors, joined
from ..ranked import Ranked
from ..strings import Strings
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .config import LinearConfig
from .tree_model import TreeModel

USUAL_TREE = TreeConfig(leaf_size=100)
USUAL_RANKERS = LinearConfig(negatives=("tfn", "tfn+man"), threshold=0.01, beam=(30,), last_transform="alone")


@dataclass(frozen=True)
class JoinedRankerConfig(Config):
    """TF-IDF, label tree and solver of the joined ranker."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "TF-IDF features of the texts")
    tree: TreeConfig = part(
        USUAL_TREE,
        "label tree; leaf_size of at least the number of labels: no clusters, each label is trained against "
        "all texts (DiSMEC)",
    )
    linear: LinearConfig = part(USUAL_RANKERS, "linear classifiers and search")

    def check(self) -> None:
        if self.tree.vectors not in FROM_EXAMPLES:
            raise ConfigError(
                f"the joined ranker's tree is built from examples: set tree.vectors to one of"
                f" {', '.join(FROM_EXAMPLES)}, not {self.tree.vectors}"
            )


class JoinedRanker:
    """The vocabulary of the texts, and classifiers on TF-IDF features followed by vectors."""

    def __init__(self, tfidf: Tfidf, model: TreeModel, use: str = "both") -> None:
        """``use``: both, tfidf or vectors, see `joined`."""
        self.tfidf = tfidf
        self.model = model
        self.use = use

    @classmethod
    def fit(
        cls,
        tfidf: Tfidf,
        X: sparse.csr_matrix,
        vectors: Vectors,
        Y: sparse.csr_matrix,
        tree: LabelTree | TreeConfig,
        config: LinearConfig,
        *,
        use: str = "both",
        weights: npt.NDArray[np.float32] | None = None,
        seed: int,
        threads: int,
    ) -> JoinedRanker:
        """``X``: TF-IDF features of the training texts; ``tree``: a tree, or settings to build one."""
        features = joined(X, vectors, use)
        if isinstance(tree, TreeConfig):
            tree = trees_of(features, Y, tree, seeds=[seed], weights=weights, threads=threads)[0]
        model = TreeModel.fit(features, Y, tree, config, weights=weights, seed=seed, threads=threads)
        return cls(tfidf, model, use)

    def rank(
        self,
        texts: Strings,
        vectors: Vectors | None,
        k: int,
        *,
        beam: tuple[int, ...] | None = None,
        threads: int,
    ) -> Ranked:
        """The ``k`` best labels of every text; ``vectors`` may be None with ``use="tfidf"``."""
        features = joined(self.tfidf.transform(texts, threads=threads), vectors, self.use)
        return self.model.rank(features, k, beam=beam, threads=threads)

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        width = {"n_features": np.array([self.model.n_features])}
        return width | self.model.state() | with_prefix("tfidf", self.tfidf.state())

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, npt.NDArray],
        tfidf: TfidfConfig,
        linear: LinearConfig,
        *,
        use: str = "both",
        labels: int,
    ) -> JoinedRanker:
        """The inverse of `state`, for a model with that number of labels."""
        model = TreeModel.from_state(arrays, linear, int(arrays["n_features"][0]))
        model.tree.check_ids(labels)
        return cls(Tfidf.from_state(tfidf, under_prefix("tfidf", arrays)), model, use)
