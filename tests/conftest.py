"""Data and commands that several test files use."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from commands import call

# Reference data sets that lie beside the checkout on our machines; tests that need them skip elsewhere.
SHARED = Path(os.environ.get("TREETOP_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture
def run(capsys):
    """``run("train", file, …)``: what the command did."""
    return functools.partial(call, capsys)


def planted(rows: int, labels: int, features: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Unit-row features that carry their labels: each label has three features of its own, plus noise."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, features, (labels, 3))
    X = sparse.lil_matrix((rows, features), dtype=np.float32)
    Y = sparse.lil_matrix((rows, labels), dtype=np.float32)
    for row in range(rows):
        for label in rng.choice(labels, rng.integers(1, 4), replace=False):
            Y[row, label] = 1
            X[row, own[label]] = 1 + rng.random(3)
        X[row, rng.integers(0, features, 4)] = rng.random(4) + 0.1
    X = X.tocsr()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / lengths) @ X, dtype=np.float32), Y.tocsr()
