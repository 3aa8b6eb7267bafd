"""Updates of a trained tree model: classifiers with many new examples are retrained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native
from ..config import Config, setting
from ..errors import ConfigError
from ..progress import step
from ..sparse import csr_arrays, transpose
from ..tree import LabelTree
from .solved import Solved
from .splice import places_of, spliced
from .tree_model import TreeModel, relevance_chain


@dataclass(frozen=True)
class UpdateConfig(Config):
    """How much the examples of a classifier must grow for an update to retrain it."""

    new_positives: float = setting(
        0.05,
        "retrain the classifier of a label or cluster when its texts have grown by more than this share",
        at_least=0,
    )
    new_examples: float = setting(
        0.2,
        "retrain it also when its texts and negatives together have grown by more than this share",
        at_least=0,
    )

    def with_limits(self, new_positives: float | None, new_examples: float | None) -> UpdateConfig:
        """These settings, overridden by those that are not None."""
        given = {"new_positives": new_positives, "new_examples": new_examples}
        return self.replace_settings({name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A level whose stale classifiers are to be retrained."""

    level: int
    nodes: npt.NDArray[np.int64]
    problem: _native.LevelProblem | None


class _Update:
    """An update of one tree model; the first ``known`` rows of ``X`` and ``Y`` are its training examples."""

    def __init__(
        self,
        model: TreeModel,
        tree: LabelTree,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        known: int,
        limits: UpdateConfig,
        seed: int,
        threads: int,
    ) -> None:
        self.old = model
        self.X = X
        self.known = known
        self.limits = limits
        self.seed = seed
        self.threads = threads
        self.relevance = relevance_chain(Y, tree)
        self.rows = _native.SharedRows(*csr_arrays(X), X.shape[1], threads)
        self.new = TreeModel(tree, [], model.config, model.n_features)
        self.solved: list[Solved] = []

    def run(self) -> TreeModel:
        waiting: list[_Waiting] = []
        for level, scheme in enumerate(self.old.config.schemes(self.new.tree.depth)):
            if "man" in scheme:  # its negatives come from the levels above
                self._solve(waiting)
                waiting = []
            waiting.append(self._stale(level, scheme))
        self._solve(waiting)
        self.new.solved = tuple(self.solved)
        return self.new

    def _stale(self, level: int, scheme: set[str]) -> _Waiting:
        tree = self.new.tree
        offsets, parents = tree.offsets[level], tree.parents(level)
        positives = self.new.positives(self.relevance, level)
        shortlist = self.new.shortlist(level, scheme, self.X, self.relevance, None, self.threads)
        now = Solved.count(positives, shortlist, parents)
        if self.old.solved is None:
            before = Solved.count(positives[: self.known], shortlist[: self.known], parents)
        else:
            places = places_of(self.old.tree.offsets[level], offsets)
            before = self.old.solved[level].moved(places, len(parents))
        stale = before.grown(now, self.limits.new_positives, self.limits.new_examples)
        if not self.old.config.scores_only_children(level, tree.depth):
            stale &= np.diff(offsets)[parents] > 1  # an only child has no classifier
        nodes = np.flatnonzero(stale)
        self.solved.append(before.replaced(now, nodes))
        if not len(nodes):
            return _Waiting(level, nodes, None)
        touched, counts = np.unique(parents[nodes], return_counts=True)
        problem = _native.LevelProblem(
            self.rows,
            *csr_arrays(transpose(positives)[nodes]),
            *csr_arrays(transpose(shortlist)[touched])[:2],
            np.append(0, np.cumsum(counts)),
            True,  # only children among these have weights too
            self.old.config.threshold,
            self.seed + level,
            _native.SolverOptions(**self.old.config.at_level(level, tree.depth).solver_settings()),
        )
        return _Waiting(level, nodes, problem)

    def _solve(self, waiting: list[_Waiting]) -> None:
        """Retrains levels that are independent of each other."""
        problems = [item.problem for item in waiting if item.problem is not None]
        todo = [item.level for item in waiting if item.problem is not None]
        trained: dict[int, Any] = {}
        if problems:
            count = sum(len(item.nodes) for item in waiting)
            with step(f"Retraining {count:,} of {sum(self.new.tree.sizes):,} classifiers") as progress:
                _native.train_levels(
                    problems,
                    self.threads,
                    lambda number, arrays: trained.__setitem__(todo[number], arrays),
                    progress,
                )
        for item in waiting:
            level = self.old.levels[item.level]
            if item.level in trained:
                offsets = self.new.tree.offsets[item.level]
                level = spliced(level, offsets, item.nodes, trained[item.level], threads=self.threads)
            self.new.levels.append(level)


def updated(
    model: TreeModel,
    tree: LabelTree,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    known: int,
    limits: UpdateConfig,
    *,
    seed: int = 0,
    threads: int = 1,
) -> TreeModel:
    """The model on the grown ``tree`` (see `tree.growth`) and all examples, first the ``known`` old ones.

    A classifier is retrained on all its examples when these have grown by more than ``limits`` since its last
    training. The others keep their weights bit for bit.
    """
    if any("given" in scheme for scheme in model.config.schemes(tree.depth)):
        raise ConfigError("a model with negatives=given cannot be updated: retrain it on all examples")
    return _Update(model, tree, X, Y, known, limits, seed, threads).run()
