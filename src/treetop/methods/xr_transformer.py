"""XR-Transformer: an encoder fine-tuned down a label tree, then XR-Linear on its vectors and TF-IDF.

Zhang, Chang, Yu, Dhillon: "Fast Multi-Resolution Transformer Fine-tuning for Extreme Multi-label Text
Classification", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..linear import LinearConfig, TreeModel
from ..linear.config import COST_SPACE
from ..ranked import Ranked
from ..search_space import SearchSpace
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .cat_rankers import USUAL_RANKERS, USUAL_TREE
from .joined_features import JoinedConfig, JoinedMethod
from .level_tuning import BOOTSTRAPS, LevelTuning

XR_SPACE: SearchSpace = COST_SPACE | {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "epochs": (1, 2, 4),
    "shortlist": (5, 20, 50),
}


@dataclass(frozen=True)
class XRTransformerConfig(JoinedConfig):
    """Settings of XR-Transformer."""

    epochs: int = setting(2, "how often the network sees all examples, on each level of the tree", at_least=0)
    steps: tuple[int, ...] = setting(
        (), "steps on each level, as 600-800-1200, in place of epochs", at_least=0
    )
    loss: str = setting("squared-hinge", "of the fine-tuning", choices=("squared-hinge", "bce"))
    cost_sensitive: bool = setting(
        True, "a cluster counts as often as the text has labels in it; of the last rankers, see linear.costs"
    )
    bootstrap: str = setting(
        "weighted",
        "first weights of a level: solved on the vectors so far (weighted by cost, or all alike: linear), "
        "those of the parents, or random ones",
        choices=BOOTSTRAPS,
    )
    shortlist: int = setting(20, "nodes of the level above that the model adds to the true ones", at_least=0)
    max_clusters: int = setting(32768, "levels with more nodes are not fine-tuned on", at_least=1)
    lowest: int = setting(0, "fine-tune on so many of the lowest levels only; 0: on all", at_least=0)
    refine: bool = setting(True, "make a new tree of the rankers' features; else the first one is kept")
    tree: TreeConfig = part(TreeConfig(leaf_size=16, top=128), "the tree to fine-tune on")
    refined: TreeConfig = part(USUAL_TREE, "the tree of the rankers")
    linear: LinearConfig = part(USUAL_RANKERS, "the rankers")

    def check(self) -> None:
        super().check()
        if self.refined.vectors not in FROM_EXAMPLES:
            raise ConfigError(
                f"the rankers' tree is made from examples: refined.vectors={self.refined.vectors} is not"
            )


class XRTransformer(JoinedMethod):
    """Coarse to fine."""

    name = "xr-transformer"
    config_class = XRTransformerConfig
    search_space = XR_SPACE
    config: XRTransformerConfig
    model: TreeModel | None = None

    @property
    def tree(self) -> LabelTree:
        """The label tree of the rankers."""
        self._fitted()
        assert self.model is not None
        return self.model.tree

    def _fit(self, dataset: Dataset) -> None:  # type: ignore[override]
        config, Y = self.config, dataset.Y
        assert Y is not None
        X, tokens = self._start(dataset)
        tree = self._grow_trees(dataset, X, config.tree)[0]
        tuning = LevelTuning(self, tokens, X, Y, tree)
        features = self._joined(X, tuning.run())
        self.course = tuning.course()
        self.n_features = features.shape[1]
        if config.refine:
            tree = trees_of(features, Y, config.refined, seeds=[config.seed], threads=self.threads)[0]
        self.model = TreeModel.fit(features, Y, tree, config.linear, seed=config.seed, threads=self.threads)

    def _rank(  # type: ignore[override]
        self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None
    ) -> Ranked:
        assert self.model is not None
        return self.model.rank(self._features(dataset), k, beam=beam, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.model is not None
        return self.model.state() | self._feature_state()

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self._restore_features(arrays)
        self.model = TreeModel.from_state(arrays, self.config.linear, self.n_features)
        self.model.tree.check_ids(len(self._fitted()))
