"""`SingleLevel`: the classifiers of one level of a label tree, below given parents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native, checkpoints
from ..progress import step
from ..ranked import Ranked
from ..sparse import Rows, csr_arrays, transpose
from .config import LinearConfig
from .level_weights import LevelWeights


class SingleLevel:
    """Parent ``p`` has the nodes ``offsets[p] … offsets[p + 1]`` of the level as children."""

    def __init__(self, weights: LevelWeights, config: LinearConfig) -> None:
        self.weights = weights
        self.config = config

    @classmethod
    def fit(
        cls,
        X: sparse.csr_matrix,
        positives: sparse.csr_matrix,
        shortlist: sparse.csr_matrix,
        offsets: npt.NDArray[np.int64],
        config: LinearConfig,
        *,
        title: str,
        seed: int = 0,
        threads: int = 1,
    ) -> SingleLevel:
        """``positives``: examples × nodes with costs; ``shortlist``: examples × parents."""
        problem = (
            *csr_arrays(transpose(positives)),
            *csr_arrays(transpose(shortlist))[:2],
            offsets,
            True,  # only children have weights too
            config.threshold,
            seed,
        )
        settings = config.solver_settings()
        name = checkpoints.name_of("single", *csr_arrays(X), X.shape, *problem, settings, config.weight_bits)
        restore = partial(LevelWeights.from_state, offsets=offsets, n_features=X.shape[1], last=True)
        kept = checkpoints.restored(name, restore)
        if kept is None:
            packed: list[LevelWeights] = []

            def keep(_: int, arrays: tuple) -> None:
                bits = config.weight_bits
                packed.append(
                    LevelWeights.pack(
                        offsets, *arrays, n_features=X.shape[1], last=True, bits=bits, threads=threads
                    )
                )

            rows = _native.SharedRows(*csr_arrays(X), X.shape[1], threads)
            level = _native.LevelProblem(rows, *problem, _native.SolverOptions(**settings))
            with step(title) as progress:
                _native.train_levels([level], threads, keep, progress)
            kept = restore(checkpoints.keep(name, packed[0].state()))
        return cls(kept, config)

    def rank(
        self,
        X: Rows,
        k: int,
        *,
        start: Ranked | None = None,
        labels: npt.NDArray[np.int32] | None = None,
        threads: int = 1,
    ) -> Ranked:
        """``indptr, nodes, scores``: the ``k`` best children of every row's parents ``start``, best first.

        ``labels``: ids to return for the nodes.
        """
        return Ranked(
            *_native.beam_search(
                [self.weights.native],
                self.config.transforms(1),
                self.config.discounts(1),
                [k],
                labels,
                *csr_arrays(X),
                self.weights.n_features,
                threads,
                start=start,
            )
        )

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return self.weights.state()

    @classmethod
    def from_state(
        cls,
        arrays: Mapping[str, npt.NDArray],
        offsets: npt.NDArray[np.int64],
        config: LinearConfig,
        *,
        n_features: int,
    ) -> SingleLevel:
        """The inverse of `state`, for the same tree and features."""
        return cls(LevelWeights.from_state(arrays, offsets, n_features=n_features, last=True), config)

    def dense(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """``W, b``: weights, nodes × features, and biases."""
        nodes, features, weights = self.weights.native.unpack()
        W = np.zeros((len(self.weights.biases), self.weights.n_features), np.float32)
        W[nodes, features] = weights
        return W, np.array(self.weights.biases)
