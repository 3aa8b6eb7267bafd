"""Models of PECOS loaded by treetop: the largest difference between their scores, model by model.

    build/bench-peers/bin/python bench/peers/pecos_models.py write FOLDER    PECOS trains and predicts
    python bench/peers/pecos_models.py compare FOLDER                        treetop loads and predicts

The data are made up: topics with their own words, and labels of these topics.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

ROWS, TESTS, WORDS, LABELS = 3000, 400, 2000, 300
MODELS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "2-ary, leaves of 2": {"tree": {"nr_splits": 2, "max_leaf_size": 2}},
    "3-ary, leaves of 5, only children": {"tree": {"nr_splits": 3, "max_leaf_size": 5}},
    "one level": {"tree": {"max_leaf_size": 1000}},
    "shuffled chain": {"shuffled": True, "tree": {"nr_splits": 4, "max_leaf_size": 10}},
    "tfn+man, beam 5": {"train": {"negative_sampling_scheme": "tfn+man"}, "predict": {"beam_size": 5}},
    "man": {"train": {"negative_sampling_scheme": "man"}},
    "no bias": {"train": {"bias": -1.0}},
    "bias 3, threshold 0.4": {"train": {"bias": 3.0, "threshold": 0.4}},
    "threshold 0, Cp 4, hinge": {
        "train": {"threshold": 0.0, "Cp": 4.0, "solver_type": "L2R_L1LOSS_SVC_DUAL"}
    },
    "pruned to a third of the labels": {"keep": list(range(0, LABELS, 3))},
    **{
        name: {"predict": {"post_processor": name}, "tree": {"nr_splits": 4, "max_leaf_size": 10}}
        for name in (
            *("noop", "sigmoid", "log-sigmoid"),
            *(f"{log}l{p}-hinge" for log in ("", "log-") for p in (1, 2, 4)),
        )
    },
    "text2text": {"text": {"ngram_range": [1, 1]}},
    "text2text, bigrams, no idf, l1": {
        "text": {"ngram_range": [1, 2], "use_idf": False, "norm": "l1", "min_df_cnt": 3}
    },
    "text2text, sublinear, idf + 1": {
        "text": {"ngram_range": [1, 3], "sublinear_tf": True, "smooth_idf": False, "add_one_idf": True}
    },
}


def data() -> tuple[list[str], sparse.csr_matrix, sparse.csr_matrix]:
    """Texts, features and labels; the last rows are for tests."""
    rng = np.random.default_rng(0)
    rows = ROWS + TESTS
    topics = rng.dirichlet(np.full(WORDS, 0.02), LABELS)
    Y = sparse.random(
        rows, LABELS, 3 / LABELS, "csr", np.float32, rng, lambda size: np.ones(size, np.float32)
    )
    texts = []
    for row in range(rows):
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        weights = topics[labels].sum(axis=0) + 1 / WORDS
        words = rng.choice(WORDS, size=30, p=weights / weights.sum())
        texts.append(" ".join(f"W{word}," if word % 7 == 0 else f"w{word}" for word in words))
    places = {
        word: column for column, word in enumerate(sorted({w for text in texts for w in text.split(" ")}))
    }
    pairs = [(row, places[word]) for row, text in enumerate(texts) for word in text.split(" ")]
    X = sparse.csr_matrix((np.ones(len(pairs), np.float32), np.array(pairs).T), shape=(rows, len(places)))
    X.sum_duplicates()
    scale = 1 / np.sqrt(X.multiply(X).sum(axis=1).A1)
    X = sparse.csr_matrix(sparse.diags(scale) @ X, dtype=np.float32)
    return texts, X.sorted_indices(), Y.sorted_indices()


def write(folder: Path) -> None:
    from pecos.apps.text2text.model import Text2Text
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    texts, X, Y = data()
    folder.mkdir(parents=True, exist_ok=True)
    lines, items = folder / "train.txt", folder / "items.txt"
    rows = (",".join(map(str, Y[row].indices)) + "\t" + texts[row] for row in range(ROWS) if Y[row].nnz)
    lines.write_text("\n".join(rows) + "\n")
    items.write_text("\n".join(f"item {label}" for label in range(LABELS)) + "\n")
    (folder / "test.json").write_text(json.dumps(texts[ROWS:]))
    sparse.save_npz(folder / "test.npz", X[ROWS:])
    Z = LabelEmbeddingFactory.create(Y[:ROWS], X[:ROWS], method="pifa")
    for number, options in enumerate(MODELS.values()):
        place = folder / f"model{number}"
        if "text" in options:
            Text2Text.train(
                str(lines), str(items), vectorizer_config={"type": "tfidf", "kwargs": options["text"]}
            ).save(str(place))
            predicted = Text2Text.load(str(place)).predict(texts[ROWS:])
        else:
            chain = Indexer.gen(Z, indexer_type="hierarchicalkmeans", **options.get("tree", {}))
            if "shuffled" in options:
                chain = list(_shuffled(chain))
            prediction = {"beam_size": 20, "only_topk": 20} | options.get("predict", {})
            model = XLinearModel.train(
                X[:ROWS], Y[:ROWS], C=chain, pred_kwargs=prediction, **options.get("train", {})
            )
            if "keep" in options:
                model.set_output_constraint(options["keep"])
            model.save(str(place))
            predicted = XLinearModel.load(str(place), is_predict_only=True).predict(X[ROWS:])
        sparse.save_npz(folder / f"predicted{number}.npz", predicted)


def _shuffled(chain: Any) -> Iterator[sparse.csc_matrix]:
    """The same tree with the clusters of each level in another order."""
    rng = np.random.default_rng(1)
    above = np.arange(1)
    for level, C in enumerate(chain):
        own = np.arange(C.shape[0]) if level + 1 == len(chain) else rng.permutation(C.shape[0])
        yield sparse.csc_matrix(C[own][:, above], dtype=np.float32)
        above = own


def compare(folder: Path) -> None:
    import treetop

    features, texts = sparse.load_npz(folder / "test.npz"), json.loads((folder / "test.json").read_text())
    for number, name in enumerate(MODELS):
        model = treetop.load(folder / f"model{number}")
        theirs = sparse.load_npz(folder / f"predicted{number}.npz")
        k = int(np.diff(theirs.indptr).max())
        ours = model.predict(texts if model.takes_texts else features, k)
        largest, other = 0.0, 0
        for row in range(theirs.shape[0]):
            span = slice(theirs.indptr[row], theirs.indptr[row + 1])
            expected = dict(zip(theirs.indices[span].tolist(), theirs.data[span].tolist(), strict=True))
            span = slice(ours.indptr[row], ours.indptr[row + 1])
            found = dict(zip(ours.indices[span].tolist(), ours.scores[span].tolist(), strict=True))
            other += len(expected.keys() ^ found.keys())
            differences = (abs(found[label] - expected[label]) for label in found.keys() & expected.keys())
            largest = max(largest, *differences)
        print(f"{name:36} {model.tree!r:28} top {k:2}: {largest:.1e}, {other} other labels")


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
