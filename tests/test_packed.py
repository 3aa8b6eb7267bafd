"""Packed levels: nothing is lost in packing, and the search over bytes equals one over plain weights."""

from __future__ import annotations

import contextlib
import dataclasses
import math

import numpy as np
import pytest
from scipy import sparse

from conftest import planted
from treetop.errors import DataError, ModelError
from treetop.linear import LinearConfig, TreeModel
from treetop.linear.level_weights import LevelWeights
from treetop.tree import TreeConfig, build_tree
from treetop.tree.label_vectors import pifa


def random_level(widths, n_features, density, seed, *, bits=32, last=True):
    """A level with parents of the given widths, and its weights as nodes × (features + bias)."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    chunks, features, rows, children, weights = [0], [], [0], [], []
    for width in widths:
        used = np.sort(rng.choice(n_features, max(1, int(n_features * density)), replace=False))
        for feature in used:
            length = width if rng.random() < 0.1 else int(rng.integers(1, min(width, 4) + 1))
            chosen = np.sort(rng.choice(width, length, replace=False))
            features.append(feature)
            children.extend(chosen)
            weights.extend(rng.normal(size=length))
            rows.append(len(children))
        chunks.append(len(features))
    arrays = (
        np.array(chunks, np.int64),
        np.array(features, np.int32),
        np.array(rows, np.int64),
        np.array(children, np.int32),
        np.array(weights, np.float32),
        rng.normal(size=offsets[-1]).astype(np.float32),
    )
    packed = LevelWeights.pack(offsets, *arrays, n_features=n_features, last=last, bits=bits, threads=2)
    parents = np.repeat(np.arange(len(widths)), np.diff(arrays[0]))
    lengths = np.diff(arrays[2])
    nodes = np.repeat(offsets[parents], lengths) + arrays[3]
    columns = np.repeat(arrays[1], lengths)
    shape = (int(offsets[-1]), n_features + 1)
    expected = sparse.csr_matrix((arrays[4], (nodes, columns)), shape=shape).tolil()
    expected[:, n_features] = arrays[5][:, None]
    return packed, expected.tocsr()


SHAPES = {
    "one feature": ([3, 1, 4], 1, 1.0),
    "every feature": ([5, 2], 37, 1.0),
    "wide rows": ([700, 40], 60, 0.5),
    "8-bit keys": ([8] * 3, 3000, 0.5),
    "16-bit keys": ([8] * 3, 60_000, 0.005),
    "32-bit keys": ([8] * 3, 5_000_000, 2e-6),
    "32-bit children": ([66_000], 20, 0.3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_weights_come_back_exactly(shape):
    packed, expected = random_level(*SHAPES[shape], seed=0)
    difference = packed.to_csr(SHAPES[shape][1]) - expected
    assert difference.nnz == 0


@pytest.mark.parametrize("shape", ["wide rows", "16-bit keys"])
def test_weights_of_eight_bits_are_near(shape):
    packed, expected = random_level(*SHAPES[shape], seed=0, bits=8)
    n_features = SHAPES[shape][1]
    got, wanted = packed.to_csr(n_features)[:, :n_features], expected[:, :n_features]
    largest = abs(wanted).max()
    error = abs(got - wanted)
    assert error.max() > 0
    # Codes stand 2^(10/126) apart, down to a 1024th of the largest weight.
    assert (error - 0.0285 * abs(wanted)).max() <= largest / 1024
    assert len(np.unique(packed.codes)) == 255
    whole, _ = random_level(*SHAPES[shape], seed=0)
    assert len(packed.bytes) < 0.6 * len(whole.bytes)


def plain_beam_search(model, X, beams):
    """By the book, on unpacked weights: float sums in the order of the features, products as sums of logs."""
    name = model.config.transform.removeprefix("log-")

    def log_of(u):
        if name == "sigmoid":
            return -math.log1p(math.exp(-u)) if u >= 0 else u - math.log1p(math.exp(u))
        return -(max(0.0, 1.0 - u) ** int(name[1])) if name[1] != "3" else -_cube(max(0.0, 1.0 - u))

    results = []
    X = X.sorted_indices()
    weights = [level.to_csr(X.shape[1]).tocsc() for level in model.levels]
    for row in range(X.shape[0]):
        beam = [(0.0, 0.0, 0)]
        entries = slice(X.indptr[row], X.indptr[row + 1])
        for t, level in enumerate(model.levels):
            raw = level.biases.copy()
            for feature, value in zip(X.indices[entries], X.data[entries], strict=True):
                column = slice(weights[t].indptr[feature], weights[t].indptr[feature + 1])
                raw[weights[t].indices[column]] += np.float32(value) * weights[t].data[column]
            found = []
            for score, above, node in beam:
                first, end = int(level.offsets[node]), int(level.offsets[node + 1])
                if not level.last and end - first == 1:
                    found.append((score, above, first))
                    continue
                for child in range(first, end):
                    u = float(raw[child])
                    name_of = int(model.tree.labels[child]) if level.last else child
                    found.append((float(np.float32(log_of(u) + score)), u, name_of))
            found.sort(key=lambda item: (-item[0], -item[1], item[2]))
            beam = found[: beams[t]]
        results.append(beam)
    return results


def _cube(gap):
    return gap * gap * gap


def beside_vectors(X, width, seed):
    """X, then dense columns: what an encoder would give."""
    vectors = np.random.default_rng(seed).normal(size=(X.shape[0], width)).astype(np.float32)
    vectors[:, width // 2] = 0  # a number that says nothing
    return sparse.hstack([X, sparse.csr_matrix(vectors)], format="csr", dtype=np.float32)


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("transform", ["log-l3-hinge", "log-l1-hinge", "log-sigmoid"])
@pytest.mark.parametrize("width", [0, 20])
def test_search_equals_a_plain_one_exactly(transform, bits, width):
    X, Y = planted(400, 90, 1200, seed=2)
    X = beside_vectors(X, width, seed=3) if width else X
    settings = TreeConfig(branching=4, leaf_size=8)
    tree = build_tree(pifa(X, Y, share_rows=True, threads=1), settings, seed=0, threads=1)
    config = LinearConfig(transform=transform, weight_bits=bits, beam=(3,), threshold=0.001)
    model = TreeModel.fit(X, Y, tree, config)
    assert tree.depth == 3
    assert width <= model.levels[-1].dense < width + 5
    indptr, ids, scores = model.rank(X, 4, threads=2)
    for row, expected in enumerate(plain_beam_search(model, X, [3, 3, 4])):
        mine = slice(indptr[row], indptr[row + 1])
        assert ids[mine].tolist() == [label for _, _, label in expected]
        assert scores[mine].tolist() == [score for score, _, _ in expected]


def test_damaged_bytes_do_no_harm():
    X, Y = planted(200, 40, 800, seed=1)
    X = beside_vectors(X, 20, seed=2)
    settings = TreeConfig(branching=4, leaf_size=10)
    tree = build_tree(pifa(X, Y, share_rows=True, threads=1), settings, seed=0, threads=1)
    model = TreeModel.fit(X, Y, tree, LinearConfig(threshold=0.01))
    rng = np.random.default_rng(0)
    for name in ("bytes", "tables", "buckets", "chunks", "starts"):
        for _ in range(20):
            levels = list(model.levels)
            number = len(levels) - 1
            array = getattr(levels[number], name).copy()
            raw = array.view(np.uint8)
            at = rng.integers(0, len(raw), max(1, len(raw) // 50))
            raw[at] = rng.integers(0, 256, len(at))
            levels[number] = dataclasses.replace(levels[number], **{name: array})
            with contextlib.suppress(DataError):
                damaged = TreeModel(tree, levels, model.config, 820)
                damaged.rank(X, 5)
                levels[number].to_csr(820)


def test_arrays_that_do_not_fit_are_refused():
    packed, _ = random_level([4, 3], 50, 0.5, seed=0)
    for name, array in {
        "chunks": packed.chunks[:-1],
        "starts": packed.starts + 1,
        "buckets": packed.buckets[:-1],
        "bytes": packed.bytes[:-1],
        "tables": np.zeros(3, np.uint8),
        "codes": np.zeros(3, np.float32),
        "biases": packed.biases[:-1],
    }.items():
        state = packed.state() | {name: array}
        with pytest.raises(ModelError, match="the weights of a level do not match"):
            LevelWeights.from_state(state, packed.offsets, n_features=packed.n_features, last=packed.last)
    arrays = [np.array(values, np.int64) for values in ([0, 2], [0, 1], [0, 1])]
    with pytest.raises(DataError, match="a child lies outside its parent"):
        LevelWeights.pack(
            arrays[0], arrays[1], np.array([0], np.int32), arrays[2], np.array([2], np.int32),
            np.ones(1, np.float32), np.zeros(2, np.float32), n_features=1, last=True, bits=8,
        )  # fmt: skip
