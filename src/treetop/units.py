"""Numbers with their units or nouns, for people to read."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 label``, ``1,572 labels``, ``2 entries``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


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
