"""`Matcher`: scores label clusters by a linear head on a fine-tuned encoder, for X-Transformer.

min  Σ_i Σ_k max(0, 1 - (2 M_ik - 1) g(x_i, k))²,    g(x, k) = w_k · φ(x) + b_k

``reduction=mean`` divides it by the number of clusters, as Eq. 3 of the paper does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .. import checkpoints
from ..features.joined import Vectors
from ..model_arrays import Numbers, checked, matrix
from ..neural.batches import Examples
from ..neural.config import training_settings
from ..neural.device import seeded, using_threads
from ..neural.encoder_network import EncoderNetwork
from ..neural.reader import Tokens
from ..neural.text_encoder import TextEncoder
from ..neural.training import OnEpoch, TrainingProgress
from ..ranked import Ranked
from .fine_tuning import TrainingTask
from .network_config import JoinedFeaturesConfig
from .node_validation import NodeValidation, best_nodes


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
        config: JoinedFeaturesConfig,
        device: torch.device,
        *,
        loss: str,
        steps: int,
        validation: NodeValidation | None = None,
        on_epoch: OnEpoch | None = None,
        threads: int,
    ) -> tuple[Matcher, TrainingProgress, dict[str, int]]:
        """The matcher, the progress of its training and the number of weights; fine-tunes the encoder, too.

        ``clusters``: M above, texts × clusters; ``steps``: optimizer steps, 0: the epochs of the settings.
        """
        with using_threads(threads), seeded(config.seed, device):
            network = EncoderNetwork(encoder.encoder, clusters.shape[1], loss, reduction=config.reduction)
            first = encoder.weights().values()
            basis = (*tokens, clusters.indptr, clusters.indices, *first, training_settings(config))
            if validation is not None:
                basis = (*basis, *validation.arrays())
            task = TrainingTask(
                network,
                Examples(tokens, clusters),
                config,
                device,
                title=f"Training the matcher of {clusters.shape[1]:,} clusters",
                checkpoint=checkpoints.name_of("matcher", *basis),
                seed=config.seed,
                steps=steps or None,
                validator=None if validation is None else validation.validator(network, 0),
                on_epoch=on_epoch,
            )
            progress = task.run()
        W, b = (value.detach().cpu().numpy() for value in (network.head.weight, network.head.bias))
        return cls(W, b), progress, network.counts()

    def best(self, vectors: Vectors, k: int) -> Ranked:
        """The ``k`` best clusters of every text, with scores exp(-max(0, 1 - g)²)."""
        ranked = best_nodes(vectors, self.W, self.b, None, k)
        matched = np.exp(-(np.maximum(0, 1 - ranked.scores) ** 2)).astype(np.float32)
        return ranked._replace(scores=matched)

    def state(self) -> dict[str, npt.NDArray]:
        """Plain arrays for the store."""
        return {"W": self.W, "b": self.b}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray], *, clusters: int, width: int) -> Matcher:
        """The inverse of `state`."""
        b = checked(arrays, {"b": Numbers(np.float32, clusters, "clusters")})["b"]
        return cls(np.array(matrix(arrays, "W", np.float32, (clusters, width))), np.array(b))
