"""What the native core promises whatever the kernel."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import treetop
from conftest import planted
from treetop import _native


@pytest.mark.skipif(sys.platform != "linux", reason="limits its own address space")
def test_a_system_that_grants_no_more_threads_is_enough():
    program = """
import resource, numpy as np
from treetop import _native

rows = 4 * 4096
indptr, indices = np.arange(rows + 1), np.zeros(rows, np.int32)
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 19), resource.RLIM_INFINITY))
assert _native.hits(indptr, indices, indptr, indices, 4).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_instruction_set_gives_the_same_model():
    X, Y = planted(120, 30, 60, seed=2)
    used = _native.simd()
    assert used in _native.simd_sets()
    states = []
    try:
        for name in _native.simd_sets():
            _native.use_simd(name)
            assert _native.simd() == name
            states.append(treetop.XRLinear(leaf_size=10, branching=3).fit(X, Y)._state())
    finally:
        _native.use_simd(used)
    for state in states[1:]:
        for name, array in states[0].items():
            np.testing.assert_array_equal(state[name], array, err_msg=name)
    with pytest.raises(ValueError, match="instruction set"):
        _native.use_simd("abacus")


def test_doors_of_the_core_reject_what_kernels_could_not_trust():
    pointers, ids, values = np.array([0, 1, 1]), np.zeros(1, np.int32), np.ones(1, np.float32)
    matrix = (pointers, ids, values)
    options = _native.TfidfOptions(
        analyzer="word", lowercase=True, shortest_word=1, first_line=1, ngram_min=1, ngram_max=1,
        idf=None, smooth_idf=True, sublinear_tf=False, binary=False, saturation=0.0, norm=None,
    )  # fmt: skip
    text, ends = np.frombuffer(b"one", np.uint8), np.array([0, 3])
    arrays, _ = _native.fit_tfidf(
        options, text, ends, min_count=1, max_count=9, max_features=0, with_rows=False, threads=1
    )
    vocabulary = _native.Tfidf(options, **arrays)
    rows = _native.SharedRows(*matrix, 1, 1)
    solver = _native.SolverOptions(
        cost_positive=1.0, cost_negative=0.0, bias=1.0, tolerance=0.1, max_passes=1, loss="hinge", l1=0.0,
        refit=False,
    )  # fmt: skip
    doors = {
        "at least one iteration": lambda: _native.balanced_clusters(*matrix, 1, [2], 0, True, 0, 1),
        "needs at least one iter": lambda: _native.unbalanced_clusters(*matrix, 1, 2, 1, 1, 0, True, 0, 1),
        "transpose": lambda: _native.label_graph(pointers, ids, np.array([0, 0, 1]), ids, 1, 0.5, 1, 0, 1),
        "columns is out of range": lambda: _native.SharedRows(*matrix, 1 << 32, 1),
        "features or labels is out of": lambda: _native.parse_xmc(text, 1, 1, 1 << 32, 1),
        "numbers of the words are": lambda: vocabulary.words(text, ends, 2**31 - 1, 0, 1, 1),
        "costs of errors": lambda: _native.LevelProblem(
            rows, pointers[:2], ids, values, pointers[:2], ids, pointers[:2], True, 0.1, 0, solver
        ),
    }
    for words, enter in doors.items():
        with pytest.raises(ValueError, match=words):
            enter()


def test_texts_that_are_not_utf8_are_read_as_replacement_characters():
    options = _native.TfidfOptions(
        analyzer="blank", lowercase=True, shortest_word=1, first_line=1, ngram_min=1, ngram_max=1,
        idf=None, smooth_idf=True, sublinear_tf=False, binary=False, saturation=0.0, norm=None,
    )  # fmt: skip
    text = np.full(1 << 20, 0xFF, np.uint8)
    arrays, _ = _native.fit_tfidf(
        options, text, np.array([0, len(text)]), min_count=1, max_count=9, max_features=0,
        with_rows=False, threads=1,
    )  # fmt: skip
    assert arrays["word_bytes"].tobytes() == "\N{REPLACEMENT CHARACTER}".encode() * len(text)
