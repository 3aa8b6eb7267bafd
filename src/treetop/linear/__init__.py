"""Features + tree → weights; features → ranked labels."""

from .config import LinearConfig
from .forest import Forest
from .tree_model import TreeModel

__all__ = ["Forest", "LinearConfig", "TreeModel"]
