"""Room 1: files → `Dataset`."""

from .dataset import Dataset

__all__ = ["Dataset"]
