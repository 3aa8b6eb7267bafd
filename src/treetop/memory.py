"""How much memory this process has held at most."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def watch() -> int | None:
    """Counts the peak anew; gives what is held now, or None where the system cannot (it is not Linux)."""
    try:
        _RESET.write_text("5")
    except OSError:
        return None
    return _status("VmRSS:")


def added_since(start: int | None) -> int | None:
    """The most that was held at a time since `watch` gave ``start``, without what was held then."""
    peak = None if start is None else _status("VmHWM:")
    return None if start is None or peak is None else max(peak - start, 0)


def peak_bytes() -> int | None:
    """The most resident memory so far; None where the system does not tell."""
    peak = _status("VmHWM:")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _status(name: str) -> int | None:
    """A figure that Linux gives of this process, in bytes."""
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None
