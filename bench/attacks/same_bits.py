"""The same bits on 1, 2, 3 and 7 threads, from many threads at once, after forks, pickles, saves and loads.

    python bench/attacks/same_bits.py [--seconds 60] [--seed 0]

A trial is one prediction, or one training, of a random linear method with random settings and data. It fails
if a label or a bit of a score differs from those of one thread.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from typing import Any

import numpy as np

import treetop
from conftest import planted
from small_data import topic_texts
from treetop import Dataset
from trials import Trials, attack, run

THREADS = (1, 2, 3, 7)
METHODS = ("xr-linear", "parabel", "bonsai", "plt", "dismec", "neighbours", "hybrid")
SETTINGS: dict[str, list[Any]] = {
    "linear.loss": ["squared-hinge", "hinge", "logistic"],
    "linear.cost": [0.1, 1.0, 10.0],
    "tree.leaf_size": [1, 5, 50],
    "tree.branching": [2, 8],
}


def drawn(rng: random.Random) -> tuple[str, dict[str, Any], Dataset, Any]:
    """A method, its settings, training data and queries."""
    method = rng.choice(METHODS)
    known = {item.name for item in treetop.make(method).config.settings()}
    settings = {
        name: rng.choice(values) for name, values in SETTINGS.items() if name in known and rng.random() < 0.5
    }
    if rng.random() < 0.5:
        X, Y = planted(rng.choice([50, 400]), rng.choice([3, 60]), rng.choice([30, 300]), rng.randrange(1000))
        return method, settings, Dataset.from_matrices(X, Y), X
    texts = topic_texts(rng.choice([30, 300]), rng.randrange(1000))
    return method, settings, Dataset.from_texts(*texts), texts[0]


def bits(model: Any, queries: Any, k: int = 2) -> bytes:
    found = model.predict(queries, k)
    return b"".join(
        np.ascontiguousarray(part).tobytes() for part in (found.indptr, found.indices, found.scores)
    )


@attack(
    "bits/threads",
    "a bit of a prediction differs between 1, 2, 3 and 7 threads",
)
def threads(trials: Trials) -> None:
    while trials.go_on():
        method, settings, data, queries = drawn(trials.random)
        expected = None
        for count in THREADS:
            model = treetop.make(method, **settings, threads=count).fit(data)
            found = bits(model, queries)
            expected = expected or found
            trials.count(None if found == expected else f"{method} {settings} differs on {count} threads")


@attack(
    "bits/many at once",
    "a bit differs in 16 threads, a fork, a pickle or a loaded model",
)
def at_once(trials: Trials) -> None:
    """Sixteen threads predict, pickle, save and load one model; forked processes predict with it."""
    while trials.go_on():
        method, settings, data, queries = drawn(trials.random)
        model = treetop.make(method, **settings, threads=trials.random.choice([1, 2])).fit(data)
        expected = bits(model, queries)
        with tempfile.TemporaryDirectory() as place:
            model.save(Path(place) / "m")
            ways: list[Callable[[], Any]] = [
                lambda: model,  # noqa: B023
                lambda: pickle.loads(pickle.dumps(model)),  # noqa: B023
                lambda: treetop.load(Path(place) / "m"),
            ]

            def differs(number: int) -> bool:
                return bits(ways[number % 3](), queries) != expected  # noqa: B023

            with ThreadPoolExecutor(16) as pool:
                different = sum(pool.map(differs, range(48)))
            trials.count(f"{method} {settings}: {different} of 48 differ" if different else None, 48)
        for _ in range(2):
            child = os.fork()
            if child == 0:
                os._exit(0 if bits(model, queries) == expected else 1)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            trials.count(f"{method} {settings}: differs after a fork ({status})" if status else None)


if __name__ == "__main__":
    sys.exit(run(__doc__))
