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
