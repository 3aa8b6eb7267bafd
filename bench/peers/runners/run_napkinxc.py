"""napkinXC: probabilistic label trees (PLT) or one-versus-all (BR).

Settings: ``model`` (PLT or BR) and those of its class, such as loss, arity, max_leaves, tree_search_type,
ensemble. It writes the model while it trains, so its training time includes that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import napkinxc.models
import numpy as np
from scipy import sparse

from protocol import K, Runner, main, ranking_of


class NapkinXC(Runner):
    def made(self, model: Path) -> Any:
        settings = {"seed": 0, "threads": self.threads, **self.settings}
        kind = getattr(napkinxc.models, settings.pop("model", "PLT"))
        return kind(str(model), **settings)

    def train(self, data: Any, model: Path) -> Any:
        trained = self.made(model)
        trained.fit(*data)
        return trained

    def save(self, trained: Any, model: Path) -> None:
        """Training has written the model."""

    def load(self, model: Path, mode: str) -> Any:
        loaded = self.made(model)
        loaded.load()
        return loaded

    def batch(self, loaded: Any, queries: Any) -> Any:
        return loaded.predict_proba(queries, top_k=K)

    def ranking(self, answer: Any) -> np.ndarray:
        return ranking_of(answer)

    def one(self, loaded: Any, row: sparse.csr_matrix) -> Any:
        return loaded.predict_proba(row, top_k=K)


if __name__ == "__main__":
    main(NapkinXC)
