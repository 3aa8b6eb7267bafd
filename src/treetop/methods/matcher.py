"""`Matcher`: scores label clusters by a linear head on a fine-tuned encoder, for X-Transformer.

min  Σ_i Σ_k max(0, 1 - (2 M_ik - 1) g(x_i, k))²,    g(x, k) = w_k · φ(x) + b_k
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .. import checkpoints
from ..arrays import typed
from ..errors import ModelError
from ..features.joined import Vectors
from ..neural.batches import Examples
from ..neural.config import training_settings
from ..neural.device import seeded, using_threads
from ..neural.encoder_network import EncoderNetwork
from ..neural.reader import Tokens
from ..neural.text_encoder import TextEncoder
from ..neural.training import TrainingProgress
from ..ranked import Ranked
from .fine_tuning import TrainingTask
from .network_config import NetworkConfig


class Matcher:
    """``W``: clusters × width, ``b``: their biases."""

    def __init__(self, W: Vectors, b: Vectors) -> None:
        self.W, self.b = W, b

    @classmethod
    def fit(
        cls,
        encoder: TextEncoder,
        tokens: Tokens,
        clusters: sparse.csr_matrix,
        config: NetworkConfig,
        device: torch.device,
        *,
        loss: str,
        steps: int,
        threads: int,
    ) -> tuple[Matcher, TrainingProgress, dict[str, int]]:
        """The matcher, the progress of its training and the number of weights; fine-tunes the encoder, too.

        ``clusters``: M above, texts × clusters; ``steps``: optimizer steps, 0: the epochs of the settings.
        """
        with using_threads(threads), seeded(config.seed, device):
            network = EncoderNetwork(encoder.encoder, clusters.shape[1], loss)
            first = encoder.weights().values()
            basis = (*tokens, clusters.indptr, clusters.indices, *first, training_settings(config))
            task = TrainingTask(
                network,
                Examples(tokens, clusters),
                config,
                device,
                title=f"Training the matcher of {clusters.shape[1]:,} clusters",
                checkpoint=checkpoints.name_of("matcher", *basis),
                seed=config.seed,
                steps=steps or None,
            )
            progress = task.run()
        W, b = (value.detach().cpu().numpy() for value in (network.head.weight, network.head.bias))
        return cls(W, b), progress, network.counts()

    def best(self, vectors: Vectors, k: int) -> Ranked:
        """The ``k`` best clusters of every text, with scores exp(-max(0, 1 - g)²)."""
        k = min(k, len(self.b))
        scores = vectors @ self.W.T + self.b
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(scores, best, 1)
        order = np.argsort(-values, axis=1, kind="stable")
        best, values = np.take_along_axis(best, order, 1), np.take_along_axis(values, order, 1)
        indptr = np.arange(len(vectors) + 1, dtype=np.int64) * k
        matched = np.exp(-(np.maximum(0, 1 - values) ** 2)).astype(np.float32)
        return Ranked(indptr, best.astype(np.int32).reshape(-1), matched.reshape(-1))

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return {"W": self.W, "b": self.b}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray], *, clusters: int, width: int) -> Matcher:
        """The inverse of `state`."""
        W, b = np.array(arrays["W"], np.float32), np.array(typed(arrays, {"b": np.float32})["b"])
        if W.shape != (clusters, width) or b.shape != (clusters,):
            raise ModelError("the matcher is inconsistent with the model's clusters: retrain the model")
        return cls(W, b)
