"""How many threads to use."""

from __future__ import annotations

import os


def count(threads: int) -> int:
    """The wanted number; 0 means every core this process may use."""
    if threads > 0:
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
