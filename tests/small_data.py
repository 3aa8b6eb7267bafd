"""Small texts whose labels can be read off their words, and a comparison of predictions."""

from __future__ import annotations

import numpy as np

import treetop

TOPICS = {
    "baking": "flour oven dough bread crust yeast",
    "sailing": "boat wind harbour sail anchor waves",
    "chess": "bishop gambit checkmate opening rook pawn",
    "gardens": "soil seeds roses compost spade rain",
    "trains": "railway locomotive station ticket track engine",
    "skiing": "snow slope mountain lift poles goggles",
}


def topic_texts(count: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Sentences of one or two topics, with the topics as labels."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        chosen = rng.choice(list(TOPICS), rng.integers(1, 3), replace=False)
        words = [word for topic in chosen for word in rng.choice(TOPICS[topic].split(), 4)]
        texts.append("the " + " and ".join(rng.permutation(words)))
        labels.append(sorted(chosen))
    return texts, labels


def same(a: treetop.Predictions, b: treetop.Predictions) -> bool:
    return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "scores"))
