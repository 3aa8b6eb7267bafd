"""Similarity of an encoder's layers by projection-weighted canonical correlations: Figure 4 of CascadeXML.

X and Y are the vectors of the same n texts after two layers, texts × width, with columns of mean 0:

    Q_X, Q_Y   orthonormal bases of the columns of X and Y
    ρ          canonical correlations: the singular values of Q_Xᵀ Q_Y = U diag(ρ) Wᵀ
    h_i        canonical directions of X: Q_X u_i
    α_i        how much of X is along h_i: Σ_j |⟨h_i, x_j⟩| over the columns x_j of X
    PWCCA      Σ_i α_i ρ_i / Σ_i α_i

It is 1 if Y is an invertible linear map of X. Such a map of Y never changes it; one of X changes the weights
α only. Morcos, Raghu and Bengio, "Insights on representational similarity in neural networks with canonical
correlation", NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from ..errors import DataError
from .batches import Batch, Examples
from .encoder import Encoder
from .inference import InferenceSettings, for_each_batch

Floats = npt.NDArray[np.float64]
SMALLEST = 1e-5
"""Singular values below this share of the largest are rounding errors of 32-bit vectors."""


@dataclass(frozen=True, eq=False)
class LayerSimilarity:
    """PWCCA of every pair of layers, weighted by the first layer of the pair."""

    layers: tuple[int, ...]
    """Counted from 1."""
    values: Floats
    """Layers × layers: row i, column j for X after layer i of the first encoder, Y after j of the second."""

    @property
    def to_next(self) -> Floats:
        """Of each layer but the last and the next of ``layers``."""
        return np.diagonal(self.values, 1)

    @property
    def to_last(self) -> Floats:
        """Of each layer and the last."""
        return self.values[:, -1]

    @property
    def to_same(self) -> Floats:
        """Of the same layer in the two encoders."""
        return np.diagonal(self.values)


def pwcca(X: npt.ArrayLike, Y: npt.ArrayLike) -> float:
    """PWCCA of two matrices with a row for each of the same texts."""
    first, second = _centred(X), _centred(Y)
    if len(first) != len(second):
        raise DataError(
            f"both matrices must have the same number of rows, not {len(first):,} and {len(second):,}"
        )
    return _weighted(first, _basis(first), _basis(second))


def layer_vectors(
    encoder: Encoder, examples: Examples, layers: Sequence[int], inference: InferenceSettings
) -> npt.NDArray[np.float32]:
    """Layers × texts × width: the texts' vectors after each of these layers, without dropout."""
    width = int(encoder.transformer.config.hidden_size)
    vectors = np.zeros((len(layers), len(examples), width), np.float32)

    def use(batch: Batch) -> None:
        states = torch.stack(encoder.after_layers(batch, layers))
        vectors[:, batch.rows.cpu().numpy()] = states.cpu().numpy()

    for_each_batch("Vectors after layers", encoder, use, examples, inference)
    return vectors


def layer_similarity(
    first: npt.NDArray[np.float32], second: npt.NDArray[np.float32], layers: Sequence[int]
) -> LayerSimilarity:
    """PWCCA of each of ``first`` with each of ``second``, both as from `layer_vectors`.

    With no more texts than two layers have dimensions, all of these would be correlated by chance.
    """
    _, texts, width = first.shape
    if texts <= 2 * width:
        raise DataError(
            f"{texts:,} texts are too few to compare vectors of {width:,} dimensions: give more than"
            f" {2 * width:,}, better ten times as many"
        )
    centred = [_centred(vectors) for vectors in first]
    bases, others = [_basis(vectors) for vectors in centred], [_basis(_centred(one)) for one in second]
    values = [
        [_weighted(vectors, basis, other) for other in others]
        for vectors, basis in zip(centred, bases, strict=True)
    ]
    return LayerSimilarity(tuple(layers), np.array(values))


def _centred(vectors: npt.ArrayLike) -> Floats:
    wide = np.asarray(vectors, np.float64)
    centred: Floats = wide - wide.mean(0)
    return centred


def _basis(centred: Floats) -> Floats:
    """An orthonormal basis of the columns."""
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    basis: Floats = left[:, sizes > SMALLEST * max(float(sizes.max(initial=0)), np.finfo(float).tiny)]
    if not basis.shape[1]:
        raise DataError("all vectors are equal: give texts that differ")
    return basis


def _weighted(X: Floats, basis: Floats, other: Floats) -> float:
    """PWCCA from the columns of X and the two bases."""
    rotation, correlations, _ = np.linalg.svd(basis.T @ other, full_matrices=False)
    weights = np.abs((basis @ rotation).T @ X).sum(1)
    return float((weights * correlations.clip(max=1)).sum() / weights.sum())
