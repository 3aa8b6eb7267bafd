"""Tiny model folders in exactly the layout of PECOS, from made-up numbers; needs numpy and scipy only.

`make_pecos_goldens.py` lets PECOS predict with them, and `test_pecos_models.py` lets treetop.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

FEATURES, ROWS = 12, 6
PARENTS = ([0, 0, 0], [2, 0, 2, 1, 0], [4, 0, 3, 1, 0, 2, 4, None, 3])
"""The parent of every node, level by level. The nodes are not in the order of their parents, the fourth of
the second level is an only child, and the eighth label was pruned."""
LABELS = len(PARENTS[-1])

RANKERS: dict[str, dict[str, Any]] = {
    "l3-hinge": {"post_processors": ["l3-hinge"] * 3},
    "narrow beam": {"post_processors": ["l3-hinge"] * 3, "beams": (1, 2, 4)},
    "l1-hinge without bias": {"post_processors": ["l1-hinge"] * 3, "bias": -1.0},
    "log-l2-hinge": {"post_processors": ["log-l2-hinge"] * 3, "bias": 0.5},
    "sigmoid": {"post_processors": ["sigmoid"] * 3, "bias": 2.0},
    "log-sigmoid": {"post_processors": ["log-sigmoid"] * 3},
    "noop": {"post_processors": ["noop"] * 3},
    "noop last": {"post_processors": ["l4-hinge", "l4-hinge", "noop"]},
}
"""Arguments of `write_ranker` by name."""

TERMS = (("aa", "Bb,", "c-c", "dé"), ("aa Bb,", "c-c aa", "dé dé"))
TEXTS = ("aa Bb, c-c", "aa  unknown Bb, aa", "dé dé dé aa c-c", "AA bb", "c-c\taa dé", "")
VECTORIZERS: dict[str, dict[str, Any]] = {
    "bigrams": {"ngram_range": [1, 2]},
    "counts, l1": {"ngram_range": [1, 2], "use_idf": False, "norm_p": "l1"},
    "sublinear": {"ngram_range": [1, 1], "sublinear_tf": True},
    "binary": {"ngram_range": [1, 1], "binary": True},
}
"""Options of text2text's vectorizer by name."""


def queries() -> sparse.csr_matrix:
    rows, columns = np.indices((ROWS, FEATURES))
    values = ((rows * 31 + columns * 17) % 11) / 10
    return sparse.csr_matrix(values * ((rows + columns) % 2), dtype=np.float32)


def write_ranker(
    folder: Path,
    *,
    post_processors: Sequence[str],
    beams: Sequence[int] = (2, 3, 8),
    bias: float = 1.0,
    features: int = FEATURES,
    parents: Sequence[Sequence[int | None]] = PARENTS,
) -> Path:
    """What ``XLinearModel.save`` writes."""
    ranker = folder / "ranker"
    ranker.mkdir(parents=True)
    write_json(
        folder / "param.json", {"__meta__": {"class_fullname": "pecos.xmc.xlinear.model###XLinearModel"}}
    )
    sizes = [1, *map(len, parents)]
    about = {"model": "HierarchicalMLModel", "depth": len(parents), "nr_features": features}
    write_json(ranker / "param.json", about | {"nr_codes": sizes[-2], "nr_labels": sizes[-1]})
    for level, (above, count) in enumerate(itertools.pairwise(sizes)):
        place = ranker / f"{level}.model"
        place.mkdir()
        shape = {"nr_labels": count, "nr_features": features, "nr_codes": above}
        prediction = {"only_topk": beams[level], "post_processor": post_processors[level]}
        write_json(
            place / "param.json", {"model": "MLModel", **shape, "bias": bias, "pred_kwargs": prediction}
        )
        known = [(node, parent) for node, parent in enumerate(parents[level]) if parent is not None]
        C = sparse.csc_matrix((np.ones(len(known), np.float32), np.array(known).T), shape=(count, above))
        sparse.save_npz(place / "C.npz", C, compressed=False)
        sparse.save_npz(place / "W.npz", _weights(features + (bias > 0), count, level), compressed=False)
    return folder


def _weights(rows: int, nodes: int, level: int) -> sparse.csc_matrix:
    row, node = np.indices((rows, nodes))
    values = ((row * 37 + node * 61 + level * 17) % 29 - 14) / 10
    return sparse.csc_matrix(values * ((row + node + level) % 3 > 0), dtype=np.float32)


def write_text2text(folder: Path, *, items: Sequence[str] | None = None, **options: Any) -> Path:
    """What ``Text2Text.save`` writes; ``options`` of the vectorizer."""
    kwargs = {
        "ngram_range": [1, 1],
        "max_length": -1,
        "max_feature": 0,
        "min_df_ratio": 0.0,
        "max_df_ratio": 1.0,
        "min_df_cnt": 0,
        "max_df_cnt": -1,
        "binary": False,
        "use_idf": True,
        "smooth_idf": True,
        "add_one_idf": False,
        "sublinear_tf": False,
        "keep_frequent_feature": True,
        "norm_p": "l2",
    } | options
    terms = [term for length in range(kwargs["ngram_range"][1]) for term in TERMS[length]]
    base = folder / "preprocessor" / "0.base"
    for part in ("tokenizer", "vectorizer"):
        (base / part).mkdir(parents=True)
    write_json(folder / "preprocessor" / "config.json", {"type": "tfidf", "kwargs": options})
    whole = {"norm_p": 1 if kwargs["norm_p"] == "l1" else 2, "num_base_vect": 1}
    write_json(folder / "preprocessor" / "meta.json", {"type": "tfidf", "kwargs": whole})
    write_json(base / "tokenizer" / "config.json", {"token_type": 10})
    write_json(base / "vectorizer" / "config.json", {"type": "tfidf", "kwargs": kwargs})
    numbers = {word: number for number, word in enumerate(sorted(TERMS[0]))}
    _write_lines(base / "tokenizer" / "vocab.txt", [f"{number}\t{word}" for word, number in numbers.items()])
    listed = []
    for number, term in enumerate(terms):
        words = [numbers[word] for word in term.split(" ")]
        idf = (number * 7 % 5) / 3
        listed.append(f"{number}\t{idf:f}\t{len(words)}\t{' '.join(map(str, words))}")
    _write_lines(base / "vectorizer" / "tfidf-model.txt", listed[::-1])
    models = folder / "xlinear_ensemble"
    write_ranker(models / "0", post_processors=["l3-hinge"] * 3, features=len(terms))
    write_json(models / "config.json", {"nr_ensembles": 1, "kwargs": [{}]})
    write_json(folder / "output_items.json", items or [f"item {label}" for label in range(LABELS)])
    return folder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in [str(len(lines)), *lines]), "utf-8", newline="\n")
