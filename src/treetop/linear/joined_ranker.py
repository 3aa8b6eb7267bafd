"""`JoinedRanker`: linear classifiers on a label tree, on TF-IDF and an encoder's vectors (Φ_cat).

Feature matrices that come with the texts, such as published TF-IDF, take the place of the ranker's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..config import Config, part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..features import USUAL_TFIDF, TfidfConfig
from ..features.joined import Vectors, joined, joined_width
from ..features.text_features import TextFeatures, stored_width
from ..model_arrays import check_equal
from ..ranked import Ranked
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .config import LinearConfig
from .tree_model import TreeModel

USUAL_TREE = TreeConfig(leaf_size=100)
USUAL_RANKERS = LinearConfig(negatives=("tfn", "tfn+man"), threshold=0.01, beam=(30,), last_transform="alone")


@dataclass(frozen=True)
class JoinedRankerConfig(Config):
    """TF-IDF, label tree and solver of the joined ranker."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "TF-IDF features of the texts")
    one_vs_all: bool = setting(
        False, "no label tree: train each label against all texts, as DiSMEC; slow with very many labels"
    )
    tree: TreeConfig = part(USUAL_TREE, "label tree")
    linear: LinearConfig = part(USUAL_RANKERS, "linear classifiers and search")

    def check(self) -> None:
        if self.one_vs_all and self.tree != USUAL_TREE:
            raise ConfigError("one_vs_all=true builds no label tree: leave out the settings of ranking.tree")
        if self.tree.vectors not in FROM_EXAMPLES:
            raise ConfigError(
                f"the joined ranker's tree is built from examples: set tree.vectors to one of"
                f" {', '.join(FROM_EXAMPLES)}, not {self.tree.vectors}"
            )

    def tree_of(self, labels: int) -> LabelTree | TreeConfig:
        """A tree over that many labels, or settings to build one."""
        return LabelTree.flat(np.arange(labels, dtype=np.int32)) if self.one_vs_all else self.tree


class JoinedRanker:
    """The features of texts, and classifiers on them followed by vectors."""

    def __init__(self, features: TextFeatures, model: TreeModel, use: str = "both") -> None:
        """``use``: both, tfidf or vectors, see `joined`."""
        self.features = features
        self.model = model
        self.use = use

    @classmethod
    def fit(
        cls,
        features: TextFeatures,
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
        """``X``: features of the training texts; ``tree``: a tree, or settings to build one."""
        together = joined(X, vectors, use)
        if isinstance(tree, TreeConfig):
            tree = trees_of(together, Y, tree, seeds=[seed], weights=weights, threads=threads)[0]
        model = TreeModel.fit(together, Y, tree, config, weights=weights, seed=seed, threads=threads)
        return cls(features, model, use)

    def rank(
        self,
        dataset: Dataset,
        vectors: Vectors | None,
        k: int,
        *,
        beam: tuple[int, ...] | None = None,
        threads: int,
    ) -> Ranked:
        """The ``k`` best labels of every text; ``vectors`` may be None with ``use="tfidf"``."""
        X = self.features.matrix(dataset, threads=threads)
        return self.model.rank(joined(X, vectors, self.use), k, beam=beam, threads=threads)

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        width = {"n_features": np.array([self.model.n_features])}
        return width | self.model.state() | self.features.joined_state()

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, npt.NDArray],
        tfidf: TfidfConfig,
        linear: LinearConfig,
        *,
        use: str = "both",
        labels: int,
        width: int,
    ) -> JoinedRanker:
        """The inverse of `state`, for a model with that many labels, and vectors of that width."""
        features = TextFeatures.from_joined_state(arrays, tfidf)
        seen = joined_width(features.n_features, width, use)
        model = TreeModel.from_state(arrays, linear, seen)
        check_equal("features in its rankers", stored_width(arrays, "n_features"), "its texts have", seen)
        model.tree.check_ids(labels)
        return cls(features, model, use)
