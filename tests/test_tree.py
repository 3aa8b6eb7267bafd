"""Label vectors, level sizes, clustering, taxonomies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import planted
from treetop import LabelTree, Strings
from treetop.errors import ConfigError, DataError
from treetop.sparse import normalize_rows
from treetop.tree import TreeConfig, build_tree, read_taxonomy
from treetop.tree.building import level_sizes
from treetop.tree.label_vectors import label_vectors, pifa


@pytest.mark.parametrize(
    ("labels", "leaf", "branching", "top", "sizes"),
    [
        (3956, 16, 16, 16, [16, 256]),
        (3956, 16, 8, 8, [4, 32, 256]),
        (30938, 16, 16, 128, [128, 2048]),
        (501070, 16, 8, 64, [64, 512, 4096, 32768]),
        (670091, 32, 16, 128, [128, 2048, 32768]),
        (501070, 100, 32, 32, [8, 256, 8192]),
        (13330, 16, 8, 128, [128, 1024]),
        (100, 100, 16, None, []),
    ],
)
def test_level_sizes_of_the_published_trees(labels, leaf, branching, top, sizes):
    assert level_sizes(labels, leaf, branching, top) == sizes


def test_pifa_is_the_normalised_sum():
    X, Y = planted(60, 12, 40, seed=1)
    for share_rows in (True, False):
        weights = Y.toarray()
        if share_rows:
            weights = weights / np.sqrt(weights.sum(axis=1, keepdims=True))
        expected = weights.T @ X.toarray()
        expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-30)
        for threads in (1, 3):
            vectors = pifa(X, Y, share_rows=share_rows, threads=threads)
            np.testing.assert_allclose(vectors.toarray(), expected, atol=1e-6)


def test_label_text_vectors_join_pifa():
    rng = np.random.default_rng(0)
    a = normalize_rows(sparse.random(6, 9, 0.5, "csr", np.float32, rng))
    b = normalize_rows(sparse.random(6, 9, 0.5, "csr", np.float32, rng))
    assert label_vectors(TreeConfig(), a, None) is a
    summed = label_vectors(TreeConfig(vectors="sum", text_weight=0.25), a, b).toarray()
    expected = 0.75 * a.toarray() + 0.25 * b.toarray()
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(summed, expected / np.where(norms > 0, norms, 1), atol=1e-6)
    joined = label_vectors(TreeConfig(vectors="concat", text_weight=0.25), a, b)
    products = (joined @ joined.T).toarray()  # cosine of the parts, weighted
    np.testing.assert_allclose(products, (0.75 * (a @ a.T) + 0.25 * (b @ b.T)).toarray(), atol=1e-6)
    with pytest.raises(ConfigError, match="label texts"):
        label_vectors(TreeConfig(vectors="label-text"), a, None)


@pytest.mark.parametrize("kind", ["balanced", "unbalanced"])
def test_trees_hold_every_label_once_and_do_not_depend_on_threads(kind):
    X, Y = planted(400, 150, 300, seed=2)
    vectors = pifa(X, Y, share_rows=True, threads=2)
    config = TreeConfig(kind=kind, branching=4, leaf_size=10)
    one, two = (build_tree(vectors, config, seed=5, threads=threads) for threads in (1, 2))
    assert sorted(one.labels) == list(range(150))
    assert np.array_equal(one.labels, two.labels)
    assert all(np.array_equal(a, b) for a, b in zip(one.offsets, two.offsets, strict=True))
    assert build_tree(vectors, config, seed=6, threads=1).labels.tolist() != one.labels.tolist()
    for matrix in one.chain():
        assert (matrix.sum(axis=1) == 1).all()
    for label in (0, 77, 149):
        path = one.path(label)
        assert len(path) == one.depth
        for level, node in enumerate(path):
            assert label in one.members(level, node)


def naive_kmeans(vectors, centres, iterations, spherical):
    """Dense, in double precision: the clusters of the rows, from the given rows as the first centres."""
    clusters, before = np.full(len(vectors), -1), -np.inf
    means = vectors[centres]
    for iteration in range(iterations):
        if spherical:
            means = means / np.linalg.norm(means, axis=1, keepdims=True)
            nearest = (vectors @ means.T).argmax(axis=1)
        else:
            nearest = ((vectors[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(nearest, clusters):
            break
        clusters = nearest
        means = np.array([vectors[clusters == c].mean(axis=0) for c in range(len(centres))])
        own = means / np.linalg.norm(means, axis=1, keepdims=True) if spherical else means
        similarity = (vectors * own[clusters]).sum(axis=1).mean()
        if iteration and similarity - before < 1e-4:
            break
        before = similarity
    return clusters


@pytest.mark.parametrize("spherical", [True, False])
@pytest.mark.parametrize("branching", [3, 40])
def test_unbalanced_clusters_are_those_of_plain_k_means(spherical, branching):
    rng = np.random.default_rng(branching)
    topics = rng.random((60, 300)) ** 6 * (rng.random((60, 300)) < 0.1)
    vectors = topics[rng.integers(0, 60, 600)] * rng.random((600, 300)) * (rng.random((600, 300)) < 0.7)
    own, common = np.diag(rng.random(600) * 0.2), rng.random((600, 5)) * 0.1  # without the latter, many ties
    vectors = np.hstack([vectors, own, common])
    vectors = normalize_rows(sparse.csr_matrix(vectors, dtype=np.float32))
    for iterations in (1, 20):
        config = TreeConfig(
            kind="unbalanced",
            branching=branching,
            leaf_size=100,
            depth=1,
            iterations=iterations,
            spherical=spherical,
        )
        tree = build_tree(vectors, config, seed=11, threads=2)
        picks = shuffled(600, seed=11)[:branching]
        expected = naive_kmeans(vectors.toarray().astype(np.float64), picks, iterations, spherical)
        assert np.bincount(expected).min() > 1  # so that none is merged
        clusters = np.repeat(np.arange(tree.sizes[0]), np.diff(tree.offsets[1]))[np.argsort(tree.labels)]
        np.testing.assert_array_equal(clusters, expected)


def shuffled(count, seed):
    """0, 1, … in the order in which the native core draws the first centres of the root."""
    mask = 2**64 - 1

    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    state, items = mix(seed + mix(0) & mask), list(range(count))
    for last in range(count, 1, -1):
        state = state + 0x9E3779B97F4A7C15 & mask
        at = (mix(state) >> 32) * last >> 32
        items[last - 1], items[at] = items[at], items[last - 1]
    return items


def test_given_level_sizes():
    X, Y = planted(400, 150, 300, seed=2)
    vectors = pifa(X, Y, share_rows=True, threads=1)
    for wanted, sizes in [("4-20", [4, 20, 150]), ("4-20-150", [4, 20, 150]), ("7", [7, 150])]:
        tree = build_tree(vectors, TreeConfig().replace_settings({"levels": wanted}), seed=0, threads=1)
        assert tree.sizes == sizes
        assert np.ptp(np.diff(tree.offsets[-1])) <= 1
    with pytest.raises(ConfigError, match="200"):
        build_tree(vectors, TreeConfig(levels=(200,)), seed=0, threads=1)
    with pytest.raises(ConfigError, match="increase"):
        TreeConfig(levels=(20, 4))


def test_a_cluster_for_every_label():
    X, Y = planted(60, 6, 30, seed=2)
    vectors = pifa(X, Y, share_rows=True, threads=1)
    tree = build_tree(vectors, TreeConfig(leaf_size=1, branching=2), seed=0, threads=1)
    assert tree.sizes == [2, 4, 6]


def test_clusters_follow_the_planted_groups():
    """Labels of two topics that share no feature end in two pure clusters."""
    vectors = normalize_rows(
        sparse.csr_matrix(np.kron(np.eye(2), np.random.default_rng(0).random((8, 5)) + 0.2), dtype=np.float32)
    )
    tree = build_tree(vectors, TreeConfig(levels=(2,)), seed=0, threads=1)
    assert {frozenset(tree.members(0, node)) for node in (0, 1)} == {
        frozenset(range(8)),
        frozenset(range(8, 16)),
    }


def test_taxonomy_of_mixed_depth():
    labels = Strings.of(["cat", "dog", "animal", "oak", "stone"])
    parents = {
        "cat": "mammal",
        "dog": "mammal",
        "mammal": "animal",
        "animal": None,
        "oak": "plant",
        "plant": "",
    }
    tree = LabelTree.from_parents({k: v or None for k, v in parents.items()}, labels)
    assert sorted(tree.labels) == [0, 1, 2, 3, 4]
    assert tree.sizes == [3, 4, 5]  # animal plant stone | animal mammal oak stone | the labels
    same_cluster = [set(tree.members(1, node)) for node in range(4)]
    assert {0, 1} in same_cluster and {2} in same_cluster
    assert {0, 1, 2} in [set(tree.members(0, node)) for node in range(3)]
    with pytest.raises(DataError, match="cycle"):
        LabelTree.from_parents({"cat": "dog", "dog": "cat"}, labels)


def test_taxonomy_file(tmp_path):
    path = tmp_path / "taxonomy.tsv"
    path.write_text("cat\tmammal\n\nmammal\t\n", "utf-8")
    assert read_taxonomy(path) == {"cat": "mammal", "mammal": None}
    path.write_text("cat mammal\n", "utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_taxonomy(path)
    path.write_text("cat\tmammal\ncat\tpet\n", "utf-8")
    with pytest.raises(DataError, match="line 2: 'cat' already has another parent, 'mammal'"):
        read_taxonomy(path)
    with pytest.raises(DataError, match="no such file"):
        read_taxonomy(tmp_path / "absent.tsv")


def test_drawing_names_the_frequent_labels():
    tree = LabelTree((np.array([0, 2]), np.array([0, 2, 4])), np.array([3, 1, 0, 2], np.int32))
    names = Strings.of(["ant", "bee", "cow", "dog"])
    lines = list(tree.draw(names, np.array([1, 9, 5, 2])))
    assert lines == [
        "4 labels in a tree 2-4",
        "├─ [2 labels] bee, dog",
        "│  ├─ dog",
        "│  └─ bee",
        "└─ [2 labels] cow, ant",
        "   ├─ ant",
        "   └─ cow",
    ]


def test_a_broken_tree_is_refused():
    with pytest.raises(DataError, match="do not match"):
        LabelTree((np.array([0, 2]), np.array([0, 2])), np.arange(2, dtype=np.int32))
    with pytest.raises(DataError, match="leaves"):
        LabelTree((np.array([0, 3]),), np.arange(2, dtype=np.int32))


def test_any_growing_level_sizes_make_a_tree():
    for labels in range(3, 14):
        vectors = sparse.random(labels, 8, 0.5, format="csr", dtype=np.float32, random_state=labels)
        for low in range(1, labels):
            for high in range(low + 1, labels):
                tree = build_tree(vectors, TreeConfig(levels=(low, high)), seed=0, threads=1)
                assert tree.sizes == [low, high, labels]
                assert all((np.diff(offsets) > 0).all() for offsets in tree.offsets)


def test_trees_that_cannot_be():
    with pytest.raises(ConfigError, match="levels are for balanced trees"):
        TreeConfig(kind="unbalanced", levels=(2, 4))
    with pytest.raises(DataError, match="occurs twice"):
        LabelTree.flat(np.array([0, 1, 1]))
    with pytest.raises(DataError, match="outside 0…2"):
        LabelTree.flat(np.arange(4)).check_ids(3)
    assert LabelTree.flat(np.arange(4)).labels.dtype == np.int32
