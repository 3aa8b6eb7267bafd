"""What the native core promises whatever the kernel."""

from __future__ import annotations

import subprocess
import sys

import pytest


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
