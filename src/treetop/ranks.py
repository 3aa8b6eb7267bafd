"""Which of the processes of one training this is, where torchrun has started several."""

from __future__ import annotations

import os


def rank() -> int:
    """The number of this process; 0 writes files and talks."""
    return int(os.environ.get("RANK", "0"))


def is_main() -> bool:
    """Whether this process writes files and talks."""
    return rank() == 0


def processes() -> int:
    """How many work together."""
    return int(os.environ.get("WORLD_SIZE", "1"))
