"""The base of all built-in data sets: options, and two splits that share their label columns."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ...config import Config, setting
from ...errors import DataError
from ...units import counted
from ..dataset import Dataset


@dataclass(frozen=True)
class CorpusRecipe(Config, ABC):
    """The options of a built-in data set, and how it is built from them."""

    @abstractmethod
    def build(self) -> dict[str, Dataset]:
        """``{"train": …, "test": …}``."""


@dataclass(frozen=True)
class GroupedTexts(CorpusRecipe):
    """A recipe for texts in groups of near-duplicates: all texts of a group are in the same split."""

    test_fraction: float = setting(0.2, "share of the texts held out for testing", above=0, at_most=0.9)
    seed: int = setting(0, "seed of the split", at_least=0)
    min_examples: int = setting(2, "drop labels with fewer training texts than this", at_least=1)

    @abstractmethod
    def collect(self) -> Dataset:
        """All labelled texts, with their groups."""

    def build(self) -> dict[str, Dataset]:
        train, test = self.collect().split(self.test_fraction, seed=self.seed, by_group=True)
        keep = np.flatnonzero(train.label_counts >= self.min_examples)
        if not len(keep):
            least = counted(self.min_examples, "training text")
            raise DataError(f"{train.source}: no label has {least}; lower min_examples")
        return {"train": _with_labels(train, keep), "test": _with_labels(test, keep)}


def _with_labels(dataset: Dataset, columns: np.ndarray) -> Dataset:
    """The data set with only these labels, without the texts that have none of them."""
    assert dataset.Y is not None
    Y = sparse.csr_matrix(dataset.Y[:, columns])
    fewer = dataclasses.replace(dataset, labels=dataset.labels.take(columns), Y=Y)
    return fewer[np.flatnonzero(np.diff(Y.indptr))]
