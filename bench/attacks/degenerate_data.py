"""Degenerate data and random settings for every method.

    python bench/attacks/degenerate_data.py [--seconds 60] [--seed 0]

A trial trains, predicts, saves and loads one method. It fails if it ends with anything but predictions that
are finite, ranked and the same after loading, or one sentence about the data or the setting.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from typing import Any

import numpy as np
from scipy import sparse

import treetop
from test_contract import CASES
from treetop import Dataset
from treetop.errors import UserError
from trials import Trials, attack, run

LINEAR = ("xr-linear", "parabel", "bonsai", "plt", "dismec", "neighbours", "hybrid")
WORDS = [
    "flour oven",
    "boat wind",
    "",
    " ",
    "a",
    "\x00",
    "ä" * 200,
    "\U0001f600",
    "\u200b",
    "x " * 3000,
    "\n\t",
]
EMPTY_SHARES = [0.0, 0.3, 1.0]


def texts(rng: random.Random) -> Dataset:
    rows = rng.choice([1, 2, 3, 40])
    labels = [f"label {number}" for number in range(rng.choice([1, 2, 30]))]
    share = rng.choice(EMPTY_SHARES)
    given = [
        [] if rng.random() < share else rng.sample(labels, rng.randint(1, len(labels))) for _ in range(rows)
    ]
    if rng.random() < 0.3:
        given = [labels] * rows
    choice = [rng.choice(WORDS)] if rng.random() < 0.3 else WORDS
    return Dataset.from_texts([rng.choice(choice) for _ in range(rows)], given)


def features(rng: random.Random) -> Dataset:
    rows, columns, labels = rng.choice([1, 2, 40]), rng.choice([1, 3, 50]), rng.choice([1, 2, 30])
    draw = np.random.default_rng(rng.randrange(10**6))
    X = sparse.random(rows, columns, rng.choice([0.0, 0.1, 1.0]), "csr", np.float32, draw)
    X.data *= rng.choice([1.0, 1e-38, 1e30, -1.0, 0.0])
    Y = sparse.random(rows, labels, rng.choice([0.0, 0.2, 1.0]), "csr", np.float32, draw)
    Y.data[:] = 1
    return Dataset.from_matrices(X, Y)


def fault(method: str, settings: dict[str, Any], data: Dataset) -> str | None:
    """What is wrong with the outcome."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = treetop.make(method, **settings).fit(data)
            queries = data.texts if data.texts is not None else data.X
            found = model.predict(queries, min(3, len(model.labels)))
            with tempfile.TemporaryDirectory() as place:
                model.save(Path(place) / "m")
                again = treetop.load(Path(place) / "m").predict(queries, min(3, len(model.labels)))
    except (UserError, ValueError) as error:
        if isinstance(error, UserError) and str(error).strip() and "\n" not in str(error):
            return None
        return repr(error)
    if not np.isfinite(found.scores).all():
        return "scores that are not finite"
    for row in range(len(found.indptr) - 1):
        scores = found.scores[found.indptr[row] : found.indptr[row + 1]]
        if (np.diff(scores) > 0).any():
            return "labels that are not ranked"
    if not np.array_equal(found.indices, again.indices) or not np.array_equal(found.scores, again.scores):
        return "other predictions after loading"
    return None


def tried(method: str, settings: dict[str, Any], data: Dataset) -> str | None:
    try:
        found = fault(method, settings, data)
    except Exception as error:
        found = repr(error)
    return found and f"{method} {settings} on {data!r}: {found}"


@attack(
    "data/degenerate",
    "no finite, ranked and reproducible predictions, and no sentence",
)
def degenerate(trials: Trials) -> None:
    """All methods in turn."""
    while trials.go_on():
        for case, settings in CASES.items():
            method = case.split()[0]
            takes = texts if "encoder" in settings or "dimension" in settings else None
            data = (takes or trials.random.choice([texts, features]))(trials.random)
            short = {"epochs": 1} if "epochs" in settings else {}
            trials.count(tried(method, settings | short | {"threads": 1}, data))
            if not trials.go_on():
                break


@attack(
    "settings/linear",
    "no finite, ranked and reproducible predictions, and no sentence",
)
def settings_of_linear_methods(trials: Trials) -> None:
    """Random values of some settings, valid or not."""
    rng = trials.random
    odd = [
        0,
        1,
        2,
        -1,
        1e-9,
        1e9,
        10**12,
        float("nan"),
        float("inf"),
        "",
        "none",
        True,
        None,
        (1, 2),
        "x" * 1000,
    ]
    while trials.go_on():
        method = rng.choice(LINEAR)
        known = [item for item in treetop.make(method).config.settings() if item.name != "threads"]
        chosen: dict[str, Any] = {"threads": 1}
        for item in rng.sample(known, rng.choice([1, 2, 4])):
            value = item.value
            near = [value, value * 2, value / 3] if isinstance(value, (int, float)) else [value]
            chosen[item.name] = rng.choice(near if rng.random() < 0.5 else odd)
        # Beyond what a small machine can take, a setting may be valid and still need too much memory or time.
        large = [name for name, value in chosen.items() if isinstance(value, int) and value > 10**6]
        data = rng.choice([texts, features])(rng)
        trials.count(
            tried(method, {name: value for name, value in chosen.items() if name not in large}, data)
        )


if __name__ == "__main__":
    sys.exit(run(__doc__))
