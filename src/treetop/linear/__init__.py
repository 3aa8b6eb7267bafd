"""Room 4: features + tree → weights; features → ranked labels."""

from .config import LinearConfig
from .tree_model import TreeModel

__all__ = ["LinearConfig", "TreeModel"]
