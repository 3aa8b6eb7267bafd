"""`Forest`: several tree models whose scores are averaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..arrays import under_prefix, with_prefix
from ..progress import step
from ..ranked import Ranked
from ..sparse import Rows
from ..tree import LabelTree, member_seeds
from .config import LinearConfig
from .tree_model import TreeModel


def list_length(k: int) -> int:
    """Labels that each tree lists for the best ``k``: enough that the top sums miss little."""
    return max(100, 10 * k)


class Forest:
    """The score of a label is the mean over the trees; trees that do not list the label count 0.

    A forest of one tree ranks as that tree does.
    """

    def __init__(self, models: Sequence[TreeModel]) -> None:
        self.models = list(models)

    @classmethod
    def fit(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        trees: Sequence[LabelTree],
        config: LinearConfig,
        *,
        negatives: sparse.csr_matrix | None = None,
        weights: npt.NDArray[np.float32] | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> Forest:
        """Trains a `TreeModel` on each tree."""
        seeds = member_seeds(seed, len(trees))

        def models() -> Iterator[TreeModel]:
            for tree, own in zip(trees, seeds, strict=True):
                yield TreeModel.fit(
                    X, Y, tree, config, negatives=negatives, weights=weights, seed=own, threads=threads
                )

        if len(trees) == 1:
            return cls(list(models()))
        fitted = []
        with step(f"Training {len(trees)} trees") as progress:
            for model in models():
                fitted.append(model)
                progress(len(fitted), len(trees))
        return cls(fitted)

    def rank(self, X: Rows, k: int, *, beam: tuple[int, ...] | None = None, threads: int = 1) -> Ranked:
        """``indptr, label ids, scores``: the ``k`` best labels of every row, best first."""
        if len(self.models) == 1:
            return self.models[0].rank(X, k, beam=beam, threads=threads)
        lists = [model.rank(X, list_length(k), beam=beam, threads=threads) for model in self.models]
        return Ranked(*_native.combine(lists, [1 / len(lists)] * len(lists), k, threads))

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        arrays: dict[str, npt.NDArray] = {}
        for number, model in enumerate(self.models):
            arrays |= with_prefix(f"member{number}", model.state())
        return arrays

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray], config: LinearConfig, n_features: int) -> Forest:
        models = [TreeModel.from_state(under_prefix("member0", arrays), config, n_features)]
        while members := under_prefix(f"member{len(models)}", arrays):
            models.append(TreeModel.from_state(members, config, n_features))
        return cls(models)
