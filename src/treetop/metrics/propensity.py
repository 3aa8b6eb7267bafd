"""Propensities: the probability that a relevant label is annotated. It is lower for rare labels.

Jain, Prabhu and Varma (KDD 2016) model the propensity p_ℓ, the probability that a relevant label ℓ is in the
data, as a sigmoid of the logarithm of its training count. Weighting a hit by 1/p_ℓ estimates the metric under
complete annotation, and rewards methods that find rare labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError

PROPENSITY: dict[str, tuple[float, float]] = {
    "eurlex-4k": (0.55, 1.5),
    "wiki10-31k": (0.55, 1.5),
    "amazoncat-13k": (0.55, 1.5),
    "wiki-500k": (0.5, 0.4),
    "amazon-670k": (0.6, 2.6),
    "amazon-3m": (0.6, 2.6),
}
"""The constants A and B of published results. For other data: `DEFAULT_PROPENSITY`."""

DEFAULT_PROPENSITY = (0.55, 1.5)


def inverse_propensity(
    counts: npt.ArrayLike,
    n_train: int,
    A: float = DEFAULT_PROPENSITY[0],
    B: float = DEFAULT_PROPENSITY[1],
) -> npt.NDArray[np.float64]:
    """1/p_ℓ = 1 + C·(N_ℓ + B)^(−A) with C = (ln N − 1)·(B + 1)^A, for each label ℓ.

    ``counts`` are the training counts N_ℓ and ``n_train`` is N, both over the whole training set,
    including a validation part. For N < e, C would be negative and is set to 0, so that no weight is below 1.
    """
    counts = np.asarray(counts, np.float64)
    if n_train < 1:
        raise ConfigError(f"n_train must be at least 1, not {n_train}")
    if not (0 <= A < np.inf and 0 < B < np.inf):
        raise ConfigError(f"propensity must be A ≥ 0 and B > 0, not A={A:g}, B={B:g}")
    if (counts < 0).any():
        raise ConfigError("training counts must not be negative")
    C = max(np.log(n_train) - 1, 0.0) * (B + 1) ** A
    return np.asarray(1 + C * (counts + B) ** -A)
