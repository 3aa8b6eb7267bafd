"""The machine and this process: threads, processes of a training, memory."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def thread_count(threads: int) -> int:
    """The given number of threads; for 0, all cores that this process may use."""
    if threads > 0:
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_rank() -> int:
    """The rank of this process among those that torchrun started for one training."""
    return int(os.environ.get("RANK", "0"))


def is_main_process() -> bool:
    """Whether this process writes the files and prints the messages."""
    return process_rank() == 0


def process_count() -> int:
    """The number of processes that torchrun started for one training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def watch_memory() -> int | None:
    """Resets the peak and returns the memory in use in bytes; None on systems other than Linux."""
    try:
        _RESET.write_text("5")
    except OSError:
        return None
    return _status("VmRSS:")


def memory_added_since(start: int | None) -> int | None:
    """The peak since `watch_memory` returned ``start``, minus ``start``."""
    peak = None if start is None else _status("VmHWM:")
    return None if start is None or peak is None else max(peak - start, 0)


def peak_memory() -> int | None:
    """The largest resident memory so far in bytes; None where the system does not report it."""
    peak = _status("VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _status(name: str) -> int | None:
    """A value that Linux reports for this process, in bytes."""
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None
