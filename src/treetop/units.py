"""Numbers with their units, as people read them."""

from __future__ import annotations


def file_size(size: int) -> str:
    """``512 bytes``, ``1.5 MB`` (powers of 1000)."""
    if size < 1000:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def three_digits(value: float) -> str:
    """``0.0316``, ``12.5`` or ``1,204``."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def counted(count: int, noun: str) -> str:
    """``1 label`` or ``1,204 labels``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
