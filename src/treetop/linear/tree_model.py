"""`TreeModel`: linear classifiers on every level of a label tree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native, checkpoints
from ..arrays import under_prefix, with_prefix
from ..data.matrices import label_matrix
from ..errors import ConfigError, DataError
from ..model_arrays import Numbers, checked
from ..progress import step
from ..ranked import Ranked
from ..sparse import Rows, binarize, csr_arrays, merge_columns, normalize_rows, transpose
from ..tree import LabelTree
from .config import LinearConfig
from .level_weights import LevelWeights
from .solved import Solved


class TreeModel:
    """A label tree and the weights of its levels. `fit` trains top-down, `rank` is a beam search."""

    def __init__(
        self, tree: LabelTree, levels: list[LevelWeights], config: LinearConfig, n_features: int
    ) -> None:
        self.tree = tree
        self.levels = levels
        self.config = config
        self.n_features = n_features
        self.solved: tuple[Solved, ...] | None = None
        """Per level, the numbers of examples of each classifier, where an update has made them differ."""

    @classmethod
    def fit(
        cls,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        tree: LabelTree,
        config: LinearConfig,
        *,
        negatives: sparse.csr_matrix | None = None,
        weights: npt.NDArray[np.float32] | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> TreeModel:
        """``Y`` holds the relevance of each label, 1 by default; ``negatives`` (for "given") is like ``Y``.

        ``weights`` of the examples multiply all their costs, those of negatives too.
        """
        tree.check_ids(Y.shape[1])
        relevance = relevance_chain(Y, tree)
        given = None if negatives is None else relevance_chain(_like(Y, negatives, tree), tree)
        rows = _native.SharedRows(*csr_arrays(X), X.shape[1], threads, weights)
        model = cls(tree, [], config, X.shape[1])
        source = checkpoints.name_of("rows", *csr_arrays(X), X.shape[1], weights)
        waiting: list[tuple[str | None, _native.LevelProblem]] = []
        for level, scheme in enumerate(config.schemes(tree.depth)):
            if "man" in scheme:  # its negatives come from the levels above
                model._train(waiting, threads)
                waiting = []
            positives = model.positives(relevance, level)
            shortlist = model.shortlist(level, scheme, X, relevance, given, threads)
            arrays = (
                *csr_arrays(transpose(positives)),
                *csr_arrays(transpose(shortlist))[:2],
                tree.offsets[level],
                config.scores_only_children(level, tree.depth),
                config.threshold,
                seed + level,
            )
            settings = config.at_level(level, tree.depth).solver_settings()
            name = checkpoints.name_of("level", source, *arrays, settings, config.weight_bits)
            solver = _native.SolverOptions(**settings)
            waiting.append((name, _native.LevelProblem(rows, *arrays, solver)))
        model._train(waiting, threads)
        return model

    def _train(self, problems: list[tuple[str | None, _native.LevelProblem]], threads: int) -> None:
        """Trains the next levels, which are independent of each other; reuses those in checkpoints."""
        depth, first = self.tree.depth, len(self.levels)
        names = [name for name, _ in problems]
        finished: dict[int, LevelWeights] = {
            number: kept
            for number, name in enumerate(names)
            if (kept := checkpoints.restored(name, partial(self._level, first + number)))
        }
        todo = [number for number in range(len(problems)) if number not in finished]

        def keep(index: int, arrays: Any) -> None:
            number = todo[index]
            packed = LevelWeights.pack(
                self.tree.offsets[first + number],
                *arrays,
                n_features=self.n_features,
                last=self.config.scores_only_children(first + number, depth),
                bits=self.config.weight_bits,
                threads=threads,
            )
            kept = checkpoints.keep(names[number], packed.state())
            finished[number] = self._level(first + number, kept)

        if todo:
            numbers = ", ".join(str(first + number + 1) for number in todo)
            with step(f"Training level{'s' * (len(todo) > 1)} {numbers} of {depth}") as progress:
                _native.train_levels([problems[number][1] for number in todo], threads, keep, progress)
        self.levels += [finished[number] for number in range(len(problems))]

    def positives(self, relevance: list[sparse.csr_matrix], level: int) -> sparse.csr_matrix:
        """Examples × nodes: the cost of each positive."""
        costs = self.config.costs
        if costs == "all" or (costs == "last" and level + 1 == self.tree.depth):
            norm = self.config.cost_norm
            return relevance[level] if norm == "none" else normalize_rows(relevance[level], norm)
        return binarize(relevance[level])

    def shortlist(
        self,
        level: int,
        scheme: set[str],
        X: sparse.csr_matrix,
        relevance: list[sparse.csr_matrix],
        given: list[sparse.csr_matrix] | None,
        threads: int,
    ) -> sparse.csr_matrix:
        """Examples × parents: the examples in the loss of each parent's children; all for the first level."""
        if level == 0:
            return sparse.csr_matrix(np.ones((X.shape[0], 1), np.float32))
        parts = []
        if "tfn" in scheme:
            parts.append(binarize(relevance[level - 1]))
        if "man" in scheme:
            with step(f"Hard negatives for level {level + 1}"):
                indptr, nodes, _ = self.kept_nodes(X, level - 1, threads=threads)
            shape = relevance[level - 1].shape
            beam = sparse.csr_matrix((np.ones(len(nodes), np.float32), nodes, indptr), shape=shape)
            beam.sort_indices()
            parts.append(beam)
        if "given" in scheme:
            if given is None:
                raise ConfigError("negatives=given needs a matrix of negatives: fit(data, negatives=matrix)")
            parts.append(binarize(given[level - 1]))
        return binarize(sum(parts[1:], start=parts[0]))

    def rank(self, X: Rows, k: int, *, beam: tuple[int, ...] | None = None, threads: int = 1) -> Ranked:
        """``indptr, label ids, scores``: the ``k`` best labels of every row, best first."""
        config = self.config if beam is None else self.config.replace_settings({"beam": beam})
        beams = [*config.beams(self.tree.depth - 1), k]
        return self._search(X, self.tree.depth, beams, threads)

    def kept_nodes(
        self, X: Rows, level: int, *, beam: tuple[int, ...] | None = None, threads: int = 1
    ) -> Ranked:
        """``indptr, nodes, scores``: the beam of a cluster level, best first."""
        config = self.config if beam is None else self.config.replace_settings({"beam": beam})
        return self._search(X, level + 1, config.beams(self.tree.depth - 1)[: level + 1], threads)

    def _search(self, X: Rows, levels: int, beams: list[int], threads: int) -> Ranked:
        whole = levels == self.tree.depth
        try:
            return Ranked(
                *_native.beam_search(
                    [level.native for level in self.levels[:levels]],
                    self.config.transforms(self.tree.depth)[:levels],
                    self.config.discounts(self.tree.depth)[:levels],
                    beams,
                    self.tree.labels if whole else None,
                    *csr_arrays(X),
                    self.n_features,
                    threads,
                )
            )
        except ValueError as error:
            raise DataError(f"the model cannot be searched: {error}") from None

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        arrays = with_prefix("tree", self.tree.state())
        for number, level in enumerate(self.levels):
            arrays |= with_prefix(f"level{number}", level.state())
        for number, solved in enumerate(self.solved or ()):
            arrays |= {
                f"solved{number}.positives": solved.positives,
                f"solved{number}.examples": solved.examples,
            }
        return arrays

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, npt.NDArray], config: LinearConfig, n_features: int
    ) -> TreeModel:
        tree = LabelTree.from_state(under_prefix("tree", arrays))
        model = cls(tree, [], config, n_features)
        for number in range(tree.depth):
            model.levels.append(model._level(number, under_prefix(f"level{number}", arrays)))
        if "solved0.positives" in arrays:
            model.solved = tuple(model._solved(number, arrays) for number in range(tree.depth))
        return model

    def _solved(self, number: int, arrays: Mapping[str, npt.NDArray]) -> Solved:
        counts = Numbers(np.int64, self.tree.sizes[number], "nodes", least=0)
        part = under_prefix(f"solved{number}", arrays)
        return Solved(**checked(part, dict.fromkeys(("positives", "examples"), counts)))

    def _level(self, number: int, arrays: Mapping[str, npt.NDArray]) -> LevelWeights:
        last = self.config.scores_only_children(number, self.tree.depth)
        offsets = self.tree.offsets[number]
        return LevelWeights.from_state(arrays, offsets, n_features=self.n_features, last=last)


def _like(Y: sparse.csr_matrix, negatives: Any, tree: LabelTree) -> sparse.csr_matrix:
    """The negatives of labels in the tree; other labels have no classifier."""
    matrix = label_matrix(negatives, "the negatives")
    if matrix.shape != Y.shape:
        sizes = [f"{rows:,} × {columns:,}" for rows, columns in (matrix.shape, Y.shape)]
        raise DataError(
            f"the matrix of negatives is {sizes[0]}, but that of the labels is {sizes[1]}: give both the"
            " same shape"
        )
    matrix = matrix.copy()
    matrix.data *= np.isin(matrix.indices, tree.labels)
    matrix.eliminate_zeros()
    return matrix


def relevance_chain(R: sparse.csr_matrix, tree: LabelTree) -> list[sparse.csr_matrix]:
    """R^(1) … R^(D), one per level: R^(D) = R in the order of the leaves, R^(t) = R^(t+1) C^(t+1)."""
    leaf_of = np.full(R.shape[1], -1, np.int64)
    leaf_of[tree.labels] = np.arange(len(tree.labels))
    if len(R.indices) and leaf_of[R.indices].min() < 0:
        raise DataError("a label of the data is not in the label tree: add it there")
    chain = [merge_columns(R, leaf_of, len(tree.labels))]
    for level in range(tree.depth - 1, 0, -1):
        chain.insert(0, merge_columns(chain[0], tree.parents(level), len(tree.offsets[level]) - 1))
    return chain
