"""How much memory this process has held at most."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def forget_peak() -> bool:
    """Counts anew from what is held now, where the system can (Linux); says whether it did."""
    with suppress(OSError):
        _RESET.write_text("5")
        return True
    return False


def peak_bytes() -> int | None:
    """The most resident memory so far; None where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
