"""XR-Linear models of PECOS, as ``XLinearModel.save`` writes them:

    param.json
    ranker/param.json            depth, nr_features, nr_labels
    ranker/0.model/param.json    bias; pred_kwargs: only_topk (the beam), post_processor
    ranker/0.model/W.npz         features × nodes, with a last row for the bias if it is positive
    ranker/0.model/C.npz         nodes × nodes of the level above: 1 at the parent
    ranker/1.model/…             the next level; the nodes of the last are the labels

Nodes may be in any order. Those without a parent were pruned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.json_files import COPY_AGAIN, read_object
from ..errors import ModelError
from ..progress import step
from ..sparse import read_npz
from ..tree import LabelTree
from ..tree.chains import ordered
from .config import LinearConfig
from .level_weights import LevelWeights
from .tree_model import TreeModel

Ints = npt.NDArray[np.int64]
_FIELDS: dict[str, Any] = {"nr_labels": int, "bias": (int, float), "pred_kwargs": dict}
_LARGEST_BIAS = 1e9
"""PECOS multiplies it with weights in 32 bits."""
_POST_PROCESSOR = re.compile("noop|(log-)?(sigmoid|l[1-6]-hinge)")


@dataclass(frozen=True, eq=False)
class _Level:
    """One ``N.model`` folder."""

    folder: Path
    W: Any
    """Features × nodes (CSC); the last row is the bias if that is positive."""
    C: Any
    bias: float
    beam: int
    post_processor: str


@dataclass(frozen=True, eq=False)
class PecosRanker:
    """The levels of a model, checked against each other."""

    levels: tuple[_Level, ...]
    n_features: int

    @property
    def labels(self) -> int:
        """Number of labels, those without a cluster included."""
        return int(self.levels[-1].C.shape[0])

    @classmethod
    def read(cls, folder: Path) -> PecosRanker:
        """``folder``: the model, or its ``ranker``."""
        if (folder / "ranker").is_dir():
            folder = folder / "ranker"
        about = read_object(folder / "param.json")
        if about.get("model") != "HierarchicalMLModel":
            raise ModelError(
                f"{folder / 'param.json'}: describes no XR-Linear model of PECOS; give the folder that"
                " XLinearModel.save wrote"
            )
        if about.get("is_mmap"):
            raise ModelError(
                f"{folder}: is compiled for memory mapping; give the model folder with .npz files that it was"
                " compiled from"
            )
        depth = about.get("depth")
        if not isinstance(depth, int) or not 1 <= depth <= 100:
            raise ModelError(f"{folder / 'param.json'}: has no valid depth; {COPY_AGAIN}")
        with step(f"Reading {depth} levels") as progress:
            levels = []
            for number in range(depth):
                levels.append(_read_level(folder / f"{number}.model"))
                progress(number + 1, depth)
        if levels[0].C.shape[1] != 1:
            raise ModelError(
                f"{levels[0].folder / 'C.npz'}: the first level has {levels[0].C.shape[1]:,} parents, so its"
                " clusters come from another model; give a model with all levels"
            )
        n_features = about.get("nr_features")
        if not isinstance(n_features, int):
            raise ModelError(f"{folder / 'param.json'}: has no valid nr_features; {COPY_AGAIN}")
        for level in levels:
            rows = level.W.shape[0] - (level.bias > 0)
            if rows != n_features:
                raise ModelError(
                    f"{level.folder / 'W.npz'}: has weights of {rows:,} features, but param.json says"
                    f" {n_features}; {COPY_AGAIN}"
                )
        return cls(tuple(levels), n_features)

    def config(self) -> LinearConfig:
        """The settings that predictions use; those of the training are not in the folder."""
        names = [level.post_processor for level in self.levels]
        transform, last = _transform(names[0]), _transform(names[-1])
        inner = set(names[:-1]) or {names[-1]}
        if len(inner) > 1 or last not in (transform, "raw"):
            raise ModelError(
                f"{self.levels[0].folder.parent}: its levels have the post-processors {', '.join(names)};"
                " treetop needs the same one on all levels, or noop on the last"
            )
        return LinearConfig(
            transform=transform,
            last_transform="raw" if last != transform else None,
            bias=max(self.levels[-1].bias, 0.0),
            beam=tuple(level.beam for level in self.levels[:-1]) or LinearConfig().beam,
            only_children=True,
            weight_bits=32,
        )

    def to_model(self, columns: Ints | None = None, n_features: int | None = None) -> TreeModel:
        """The classifiers on a label tree. ``columns``: the column of each feature, of ``n_features``."""
        names = [str(level.folder / "C.npz") for level in self.levels]
        tree, orders = ordered([level.C for level in self.levels], names)
        if not len(tree.labels):
            raise ModelError(f"{names[-1]}: no label is in a cluster; {COPY_AGAIN}")
        model = TreeModel(tree, [], self.config(), n_features or self.n_features)
        if columns is None:
            columns = np.arange(self.n_features)
        for number, (level, order) in enumerate(zip(self.levels, orders, strict=True)):
            model.levels.append(_packed(level, order, tree, number, columns, model))
        return model


def _read_level(folder: Path) -> _Level:
    about = read_object(folder / "param.json")
    for name, kind in _FIELDS.items():
        if not isinstance(about.get(name), kind) or isinstance(about[name], bool):
            raise ModelError(f"{folder / 'param.json'}: has no valid {name}; {COPY_AGAIN}")
    if about.get("is_mmap"):
        raise ModelError(
            f"{folder}: is compiled for memory mapping; give the folder that it was compiled from"
        )
    W, C = (read_npz(folder / f"{name}.npz") for name in "WC")
    if not W.shape[1] == C.shape[0] == about["nr_labels"]:
        raise ModelError(
            f"{folder}: W.npz has weights of {W.shape[1]:,} nodes and C.npz parents of {C.shape[0]:,}, and"
            f" param.json says {about['nr_labels']:,}; {COPY_AGAIN}"
        )
    if not np.isfinite(W.data).all():
        raise ModelError(f"{folder / 'W.npz'}: contains NaN or infinity; {COPY_AGAIN}")
    if not abs(about["bias"]) <= _LARGEST_BIAS:
        raise ModelError(f"{folder / 'param.json'}: has no valid bias; {COPY_AGAIN}")
    beam, post_processor = _prediction(about["pred_kwargs"], folder)
    W = W.tocsc()
    W.sum_duplicates()
    return _Level(folder, W, C, float(about["bias"]), beam, post_processor)


def _prediction(given: Mapping[str, Any], folder: Path) -> tuple[int, str]:
    beam, post_processor = given.get("only_topk"), given.get("post_processor")
    if not isinstance(beam, int) or isinstance(beam, bool) or beam < 1:
        raise ModelError(
            f"{folder / 'param.json'}: only_topk must be at least 1, not {beam!r}; change it there"
        )
    if not isinstance(post_processor, str) or not _POST_PROCESSOR.fullmatch(post_processor):
        raise ModelError(
            f"{folder / 'param.json'}: the post-processor {post_processor!r} does not exist in treetop;"
            " choose noop, sigmoid, l1-hinge to l6-hinge, or log- and one of these"
        )
    return beam, post_processor


def _transform(post_processor: str) -> str:
    return "raw" if post_processor == "noop" else post_processor


def _packed(
    level: _Level, order: Ints, tree: LabelTree, number: int, columns: Ints, model: TreeModel
) -> LevelWeights:
    """The classifiers of a level as chunks: those of siblings together, feature by feature."""
    W = level.W[:, order]
    nodes = np.repeat(np.arange(len(order), dtype=np.int32), np.diff(W.indptr))
    of_bias = W.indices == len(columns)
    biases = np.zeros(len(order), np.float32)
    biases[nodes[of_bias]] = W.data[of_bias] * level.bias
    kept = ~of_bias & (W.data != 0)
    nodes, weights, width = nodes[kept], W.data[kept].astype(np.float32), model.n_features
    # Rows of a chunk are ordered by (parent, feature); the order of the nodes within a row stays.
    row_of = tree.parents(number)[nodes] * width + columns[W.indices[kept]]
    ranked = np.argsort(row_of, kind="stable")
    row_of, nodes = row_of[ranked], nodes[ranked]
    begins = np.flatnonzero(np.append(True, row_of[1:] != row_of[:-1])[: len(nodes)])
    rows, offsets = row_of[begins], tree.offsets[number]
    return LevelWeights.pack(
        offsets,
        np.searchsorted(rows, np.arange(len(offsets)) * width),
        (rows % width).astype(np.int32),
        np.append(begins, len(nodes)),
        (nodes - offsets[row_of // width]).astype(np.int32),
        weights[ranked],
        biases,
        n_features=model.n_features,
        last=model.config.scores_only_children(number, tree.depth),
        bits=model.config.weight_bits,
    )
