"""Explanations of a label's score by a tree model or a forest: the path, and the terms behind it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..explanation import Explanation, Part, PathStep, Term, summed
from ..features.text_terms import TextTerms
from ..tree import LabelTree
from .forest import Forest, list_length
from .transforms import ROOT, handed_down, rule_text, score_of, transformed
from .tree_model import TreeModel

Titles = Callable[[LabelTree, int, int], str]
"""(tree, level, node) → a readable name of the node."""


def explain_forest(
    forest: Forest,
    terms: TextTerms,
    label: int,
    titles: Titles,
    *,
    k: int = 1,
    beam: tuple[int, ...] | None = None,
    threads: int = 1,
) -> Explanation:
    """The mean over the trees when ``k`` labels are ranked; a tree that does not list the label counts 0."""
    trees = [explain_path(model, terms, label, titles, beam=beam, threads=threads) for model in forest.models]
    if len(trees) == 1:
        return trees[0]
    parts = []
    for number, tree in enumerate(trees, 1):
        place = tree.path[-1].place
        listed = place is not None and place <= list_length(k)
        parts.append(Part(f"tree {number}", 1 / len(trees), tree.score if listed else 0.0, tree))
    return summed(
        trees[0].label, parts, "the mean over the trees; a tree that does not list the label counts as 0"
    )


def explain_path(
    model: TreeModel,
    terms: TextTerms,
    label: int,
    titles: Titles,
    *,
    beam: tuple[int, ...] | None = None,
    threads: int = 1,
) -> Explanation:
    """A node's raw score is its bias plus the terms' contributions; a rule combines those of the path."""
    tree, config = model.tree, model.config
    transforms, discounts = config.transforms(tree.depth), config.discounts(tree.depth)
    handed = ROOT
    steps: list[PathStep] = []
    for level, node in enumerate(tree.path(label)):
        last = level + 1 == tree.depth
        if last:
            _, kept, scores = model.rank(terms.X, len(tree.labels), beam=beam, threads=threads)
        else:
            _, kept, scores = model.kept_nodes(terms.X, level, beam=beam, threads=threads)
        raw, bias = None, 0.0
        weighed: tuple[Term, ...] = ()
        if not model.levels[level].inherits_score(node):
            features, weights, bias = model.levels[level].node_weights(node)
            weighed = terms.weighted_terms(features, weights)
            raw = math.fsum([bias, *(term.contribution for term in weighed)])
            handed = handed_down(transforms[level], discounts[level], raw, handed)
        steps.append(
            PathStep(
                level=level + 1,
                node=node,
                name=titles(tree, level, node),
                labels=len(tree.members(level, node)),
                raw=raw,
                transformed=None if raw is None else transformed(transforms[level], raw),
                score=score_of(transforms[level], handed),
                place=_place(kept, label if last else node),
                beam=len(kept),
                bias=bias,
                terms=weighed,
            )
        )
    place = steps[-1].place
    return Explanation(
        label=steps[-1].name,
        # predict returns the score of the search, which sums in single precision.
        score=steps[-1].score if place is None else float(scores[place - 1]),
        rule=rule_text(config, tree.depth),
        reached=place is not None,
        path=tuple(steps),
    )


def _place(nodes: npt.NDArray[np.int32], node: int) -> int | None:
    """The place of a node in a list, from 1."""
    at = np.flatnonzero(nodes == node)
    return int(at[0]) + 1 if len(at) else None
