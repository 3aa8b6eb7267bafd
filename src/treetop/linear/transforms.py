"""Score transforms of single nodes, for explanations; the search has its own in cpp/beam_search.cpp."""

from __future__ import annotations

import math

from .config import LinearConfig

ROOT = 0.0
"""The value of the root: log 1 where scores multiply, 0 for a noisy or."""


def transformed(transform: str, raw: float) -> float:
    """T(u) of a raw score u."""
    return raw if transform == "raw" else math.exp(_log_transform(transform, raw))


def handed_down(transform: str, discount: float, raw: float, above: float) -> float:
    """The score S of a node in the form its children need, from its raw score u and its parent's ``above``.

    log S = log T(u) + discount · log S_parent; for a noisy or S = 1 − (1 − T(u))(1 − S_parent); u if raw.
    """
    if transform == "raw":
        return raw
    if transform.endswith("-noisy-or"):
        return 1 - (1 - transformed(transform, raw)) * (1 - above)
    return _log_transform(transform, raw) + (discount * above if discount else 0.0)


def score_of(transform: str, handed: float) -> float:
    """The score of a node in the search, from its value for its children."""
    unchanged = transform == "raw" or transform.startswith("log-") or transform.endswith("-noisy-or")
    return handed if unchanged else math.exp(handed)


def _log_transform(transform: str, raw: float) -> float:
    kind = transform.removeprefix("log-")
    if kind.startswith("sigmoid"):
        return -math.log1p(math.exp(-raw)) if raw >= 0 else raw - math.log1p(math.exp(raw))
    return -(max(0.0, 1 - raw) ** int(kind[1]))


def rule_text(config: LinearConfig, depth: int) -> str:
    """The rule from the raw scores u of a path to the label's score, in words."""
    transform = config.transforms(depth)[-1]
    if transform == "raw":
        return "the raw score u of the label"
    kind = transform.removeprefix("log-")
    formula = "1 / (1 + exp(−u))" if kind.startswith("sigmoid") else f"exp(−max(0, 1 − u)^{kind[1]})"
    if kind.endswith("-noisy-or"):
        return f"at each level 1 − (1 − T(u)) · (1 − score of the parent), T(u) = {formula}"
    if depth == 1 or config.last_transform == "alone":
        rule = f"T(u) = {formula}, u of the label"
    elif config.level_discount == 1:
        rule = f"the product of T(u) along the path, T(u) = {formula}"
    else:
        rule = f"at each level T(u) · (score of the parent)^{config.level_discount:g}, T(u) = {formula}"
    return f"the logarithm of {rule}" if transform.startswith("log-") else rule
