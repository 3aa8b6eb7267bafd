"""Label vectors smoothed over random walks, against walks with the same random numbers in plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop import Dataset
from treetop.features import fitted_tfidf
from treetop.sparse import normalize_rows
from treetop.tree import TreeConfig, trees_of
from treetop.tree.label_graph import label_graph, normalized, smoothed
from treetop.tree.label_vectors import pifa, used_vectors

MASK = 2**64 - 1


def mixed(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class SplitMix:
    """The random numbers of the native core."""

    def __init__(self, seed: int, stream: int) -> None:
        self.state = mixed(seed + mixed(stream) & MASK)

    def next(self) -> int:
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        return mixed(self.state)

    def one_of(self, items: list[int]) -> int:
        return items[(self.next() >> 32) * len(items) >> 32]

    def unit(self) -> float:
        return (self.next() >> 11) / 2**53


def plain_graph(Y: np.ndarray, config: TreeConfig, seed: int) -> np.ndarray:
    texts_of = [np.flatnonzero(column).tolist() for column in Y.T]
    labels_of = [np.flatnonzero(row).tolist() for row in Y]
    graph = np.zeros((Y.shape[1], Y.shape[1]))
    for origin in range(Y.shape[1]):
        random, at, visits = SplitMix(seed, origin), origin, Counter()
        for hop in range(config.graph_hops if texts_of[origin] else 0):
            if hop and random.unit() < config.graph_restart:
                at = origin
            at = random.one_of(labels_of[random.one_of(texts_of[at])])
            visits[at] += 1
        kept = sorted(visits, key=lambda label: (-visits[label], label))[: config.graph_neighbours]
        graph[origin, kept] = [visits[label] for label in kept]
        graph[origin, origin] = visits[origin] or 1
    return graph


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"graph_hops": 7, "graph_restart": 0.3, "graph_neighbours": 2},
        {"graph_hops": 50, "graph_restart": 0.0, "graph_neighbours": 1},
        {"graph_hops": 3, "graph_restart": 1.0},
    ],
)
def test_walks_are_those_of_plain_python(settings):
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 15)) < 0.15).astype(np.float32)
    Y[:, [4, 9]] = 0  # labels without texts
    config = TreeConfig(vectors="graph", **settings)
    for seed in (0, 11):
        expected = plain_graph(Y, config, seed)
        for threads in (1, 3):
            found = label_graph(sparse.csr_matrix(Y), config, seed=seed, threads=threads)
            assert found.has_sorted_indices and np.array_equal(found.toarray(), expected)
    assert (np.diff(found.indptr) <= config.graph_neighbours + 1).all()
    assert found[4].nnz == found[9].nnz == 1 and found[4, 4] == found[9, 9] == 1


def test_a_label_that_its_walk_misses_or_drops_keeps_itself():
    """Three hops to one of two labels, and the label visited most is kept next to the own one."""
    Y = sparse.csr_matrix(np.ones((1, 2), np.float32))
    rows = set()
    for seed in range(20):
        config = TreeConfig(graph_hops=3, graph_restart=1.0, graph_neighbours=1)
        graph = label_graph(Y, config, seed=seed, threads=1).toarray()
        rows.add(tuple(graph[0]))
    # Own visits 3, 2, 1 or 0: with no visit, the own label still counts 1.
    assert rows == {(3, 0), (2, 0), (1, 2), (1, 3)}


def test_the_share_of_visits_is_that_of_the_walk():
    """Label 0 has the texts {0}, {0, 1}: a hop from it ends at 1 in a quarter of all cases; 1 has only the
    second: a hop from it ends at either in half."""
    Y = sparse.csr_matrix(np.array([[1, 0], [1, 1]], np.float32))
    config = TreeConfig(graph_hops=200_000, graph_restart=0.8)
    graph = label_graph(Y, config, seed=3, threads=2).toarray() / config.graph_hops
    # Share s of hops that end at 1, for walks from 0: s = (0.8 + 0.2 (1 - s)) / 4 + 0.2 s / 2.
    from_0 = 0.25 / (1 + 0.05 - 0.1)
    # From 1: s = (0.8 + 0.2 s) / 2 + 0.2 (1 - s) / 4.
    from_1 = 0.45 / (1 - 0.1 + 0.05)
    assert graph[:, 1] == pytest.approx([from_0, from_1], abs=5e-3)


def test_normalisation_by_hand():
    graph = sparse.csr_matrix(np.array([[3, 1, 0], [0, 4, 0], [4, 0, 5]], np.float32))
    # Sums of rows 4, 4, 9; of columns 7, 5, 5.
    expected = [
        [3 / np.sqrt(4 * 7), 1 / np.sqrt(4 * 5), 0],
        [0, 4 / np.sqrt(4 * 5), 0],
        [4 / np.sqrt(9 * 7), 0, 5 / np.sqrt(9 * 5)],
    ]
    assert normalized(graph).toarray() == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.parametrize("share_rows", [False, True])
def test_vectors_are_sums_over_the_graph(share_rows):
    X, Y = planted(60, 12, 40, seed=1)
    config = TreeConfig(
        vectors="graph", vector_size=0, vector_min_df=1, share_rows=share_rows, graph_neighbours=3
    )
    used, vectors = used_vectors(X, Y, config, seed=5, threads=2)
    shown = Y.toarray()[:, used]
    weights = shown / np.sqrt(np.maximum(shown.sum(1, keepdims=True), 1)) if share_rows else shown
    sums = weights.T @ X.toarray()
    graph = plain_graph(shown, config, 5)
    smooth = graph / np.sqrt(graph.sum(1)[:, None] * graph.sum(0)) @ sums
    smooth /= np.linalg.norm(smooth, axis=1, keepdims=True)
    assert np.allclose(vectors.toarray(), smooth, atol=1e-6)
    _, cut = used_vectors(X, Y, config.replace_settings({"vector_size": 5}), seed=5, threads=1)
    assert (np.diff(cut.indptr) == 5).all()
    assert np.allclose(np.linalg.norm(cut.toarray(), axis=1), 1, atol=1e-6)
    # Sums are cut to their five largest entries before they are smoothed too.
    largest = np.where(np.argsort(np.argsort(-sums)) < 5, sums, 0)
    smooth = graph / np.sqrt(graph.sum(1)[:, None] * graph.sum(0)) @ largest
    smooth = np.where(np.argsort(np.argsort(-smooth)) < 5, smooth, 0)
    smooth /= np.linalg.norm(smooth, axis=1, keepdims=True)
    assert np.allclose(cut.toarray(), smooth, atol=1e-6)


def test_a_label_alone_keeps_its_vector():
    X, Y = planted(60, 12, 40, seed=1)
    alone = sparse.identity(12, np.float32, "csr")
    plain = pifa(X, Y, share_rows=True, size=4, unit=False, threads=1)
    found = smoothed(plain, alone, size=4, threads=1)
    assert np.allclose(found.toarray(), normalize_rows(plain).toarray(), atol=1e-6)


def test_trees_do_not_depend_on_threads():
    X, Y = planted(400, 150, 300, seed=2)
    config = TreeConfig(vectors="graph", branching=4, leaf_size=10)
    one, two, other, plain = (
        trees_of(X, Y, config.replace_settings(settings), seeds=[seed], threads=threads)[0]
        for settings, seed, threads in (({}, 5, 1), ({}, 5, 3), ({}, 6, 1), ({"vectors": "pifa"}, 5, 1))
    )
    assert np.array_equal(one.labels, two.labels)
    assert sorted(one.labels) == np.flatnonzero(np.bincount(Y.indices)).tolist()
    assert not np.array_equal(one.labels, other.labels) and not np.array_equal(one.labels, plain.labels)


def test_labels_that_share_texts_share_a_cluster():
    """Labels 0 and 1 have no word in common with each other, but occur together in one text of many."""
    words = {"a": "oven dough", "b": "boat sail", "c": "rook pawn", "d": "soil seeds"}
    texts = [f"{words[name]} {name}{number}" for number in range(4) for name in "abcd"]
    labels = [[name] for _ in range(4) for name in "abcd"]
    texts += ["crust harbour"] * 6 + ["opening compost"] * 6
    labels += [["a", "b"]] * 6 + [["c", "d"]] * 6
    data = Dataset.from_texts(texts, labels)
    settings = {"tree.vectors": "graph", "tree.levels": "2", "vector_min_df": 1}
    model = treetop.make("xr-linear", **settings).fit(data)
    clusters = [{model.labels[label] for label in model.tree.members(0, node)} for node in (0, 1)]
    assert sorted(map(sorted, clusters)) == [["a", "b"], ["c", "d"]]
    model.update(Dataset.from_texts(["oven boat"] * 2, [["a", "e"], ["b", "e"]]), old=data)
    clusters = [{model.labels[label] for label in model.tree.members(0, node)} for node in (0, 1)]
    assert sorted(map(sorted, clusters)) == [["a", "b", "e"], ["c", "d"]]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cascadexml", {"clusters": "3", "taps": "1-1-2", "rankers": False}),
        ("x-transformer", {"clusters": 3, "batch_size": 16}),
    ],
)
def test_transformers_cluster_over_the_graph(name, settings):
    from test_contract import topic_texts
    from tiny_bert import tiny_bert

    train = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    settings |= {"encoder": tiny_bert(), "epochs": 1, "max_length": 16, "device": "cpu", "seed": 4}
    model = treetop.make(name, **settings, **{"tree.vectors": "graph"}).fit(train)
    X = fitted_tfidf(model.config.tfidf, train.texts, 1)[1]
    config = TreeConfig(vectors="graph", levels=(3,))
    (expected,) = trees_of(X, train.Y, config, seeds=[4], threads=1)
    found = [frozenset(model.tree.members(0, node)) for node in range(3)]
    assert set(found) == {frozenset(expected.members(0, node)) for node in range(3)}
