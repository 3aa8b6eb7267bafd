"""PECOS (libpecos) XR-Linear: PIFA label vectors, hierarchical k-means, one-versus-all per level.

Settings: max_leaf_size, nr_splits, seed (of the tree), beam_size, and those of XLinearModel.train, such as
negative_sampling_scheme, threshold, Cp, Cn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy import sparse

from protocol import K, Runner, main

TREE = ("max_leaf_size", "nr_splits", "seed")
BEAM = 10  # the default of pecos.xmc.xlinear.train


class Pecos(Runner):
    def train(self, data: Any, model: Path) -> Any:
        X, Y = data
        tree = {name: self.settings[name] for name in TREE if name in self.settings}
        solver = {name: value for name, value in self.settings.items() if name not in (*TREE, "beam_size")}
        vectors = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=self.threads)
        clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=self.threads, **tree)
        prediction = {"beam_size": self.settings.get("beam_size", BEAM), "only_topk": K}
        return XLinearModel.train(X, Y, C=clusters, threads=self.threads, pred_kwargs=prediction, **solver)

    def save(self, trained: Any, model: Path) -> None:
        trained.save(str(model))

    def modes(self) -> tuple[str, ...]:
        return ("BINARY_SEARCH_CHUNKED", "HASH_CHUNKED")

    def load(self, model: Path, mode: str) -> Any:
        return XLinearModel.load(str(model), is_predict_only=True, weight_matrix_type=mode)

    def batch(self, loaded: Any, queries: Any) -> Any:
        return loaded.predict(queries, threads=self.threads)

    def ranking(self, answer: Any) -> np.ndarray:
        ranking = np.full((answer.shape[0], K), -1, np.int64)
        for row, (start, stop) in enumerate(zip(answer.indptr[:-1], answer.indptr[1:], strict=True)):
            order = np.argsort(-answer.data[start:stop], kind="stable")[:K]
            ranking[row, : len(order)] = answer.indices[start:stop][order]
        return ranking

    def one(self, loaded: Any, row: sparse.csr_matrix) -> Any:
        return loaded.predict(row, threads=1)  # a second thread makes one row slower


if __name__ == "__main__":
    main(Pecos)
