"""treetop: any method by its registered name.

Settings: ``method``; ``input`` (``matrix``, or ``texts``, where training and prediction include TF-IDF); and
those of the method, as `treetop.make` takes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import treetop
from protocol import K, Runner, main
from treetop.data import Dataset
from treetop.features import Tfidf, TfidfConfig
from treetop.strings import Strings


class Treetop(Runner):
    def __init__(self, settings: dict[str, Any], threads: int) -> None:
        super().__init__(settings, threads)
        self.takes_rows = settings.get("input", "matrix") == "matrix"
        treetop.make(settings["method"])  # imports the method before anything is timed

    def training_input(self, folder: Path, work: Path) -> Dataset:
        X, Y = super().training_input(folder, work)
        if self.takes_rows:
            return Dataset.from_matrices(X, Y)
        return Dataset(labels=Strings.numbers(Y.shape[1]), texts=read_texts(folder, "trn"), Y=Y)

    def train(self, data: Dataset, model: Path) -> Any:
        settings = {name: value for name, value in self.settings.items() if name not in ("method", "input")}
        return treetop.make(self.settings["method"], threads=self.threads, **settings).fit(data)

    def save(self, trained: Any, model: Path) -> None:
        trained.save(model)

    def batch_input(self, folder: Path) -> Any:
        if self.takes_rows:
            # The TF-IDF of the matrices, which turns a text into the same row.
            state = dict(np.load(folder / "tfidf.npz"))
            config = json.loads((folder / "tfidf.json").read_text())
            self.tfidf = Tfidf.from_state(TfidfConfig(**config), state)
            return super().batch_input(folder)
        return read_texts(folder, "tst")

    def load(self, model: Path, mode: str) -> Any:
        return treetop.load(model)

    def batch(self, loaded: Any, queries: Any) -> Any:
        return loaded.predict(queries, k=K)

    def ranking(self, answer: Any) -> np.ndarray:
        return answer.ranked(K)

    def one(self, loaded: Any, row: sparse.csr_matrix) -> Any:
        return loaded.predict(row, k=K)

    def one_text(self, loaded: Any, text: str) -> Any:
        if self.takes_rows:
            return loaded.predict(self.tfidf.transform([text]), k=K)
        return loaded.predict(text, k=K)


def read_texts(folder: Path, split: str) -> Strings:
    return Strings.of(json.loads((folder / f"texts.{split}.json").read_text("utf-8")))


if __name__ == "__main__":
    main(Treetop)
