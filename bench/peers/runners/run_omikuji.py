"""Omikuji: partitioned label trees (Parabel by default, Bonsai and others by settings).

Settings: its hyperparameters, such as cluster_k, cluster_balanced, max_depth, n_trees, and beam_size. It
trains from a file in the format of the Extreme Classification Repository; writing and parsing this file is
not timed. It predicts one text at a time, its trees in parallel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import omikuji
from omikuji import ffi, lib
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from protocol import K, Runner, main, ranking_of

BEAM = 10  # the default of Model.predict
DENSIFIED = "densified"


class Omikuji(Runner):
    def training_input(self, folder: Path, work: Path) -> Any:
        X, Y = super().training_input(folder, work)
        file = work / "train.txt"
        with file.open("wb") as out:
            out.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
            dump_svmlight_file(X, Y, out, multilabel=True)
        self.pool = lib.init_omikuji_thread_pool(self.threads)
        data = lib.load_omikuji_data_set(ffi.new("char[]", str(file).encode()), self.pool)
        file.unlink()
        if data == ffi.NULL:
            raise RuntimeError(f"Omikuji could not read {file}; is there enough disk space?")
        return data

    def train(self, data: Any, model: Path) -> Any:
        wanted = omikuji.Model.default_hyper_param()
        for name, value in self.settings.items():
            if name != "beam_size":
                setattr(wanted, name, value)
        return omikuji.Model(lib.train_omikuji_model(data, wanted, self.pool))

    def save(self, trained: Any, model: Path) -> None:
        trained.save(str(model))

    def modes(self) -> tuple[str, ...]:
        return ("", DENSIFIED)

    def load(self, model: Path, mode: str) -> Any:
        loaded = omikuji.Model.load(str(model))
        loaded.init_prediction_thread_pool(self.threads)
        if mode == DENSIFIED:
            loaded.densify_weights()
        return loaded

    def batch_input(self, folder: Path) -> Any:
        matrix = super().batch_input(folder)
        return [self.row_input(matrix[row]) for row in range(matrix.shape[0])]

    def batch(self, loaded: Any, queries: Any) -> Any:
        return [self.one(loaded, pairs) for pairs in queries]

    def ranking(self, answer: Any) -> np.ndarray:
        return ranking_of(answer)

    def row_input(self, row: sparse.csr_matrix) -> Any:
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    def one(self, loaded: Any, row: Any) -> Any:
        return loaded.predict(row, beam_size=self.settings.get("beam_size", BEAM), top_k=K)


if __name__ == "__main__":
    main(Omikuji)
