"""`TextEncoder`: texts → dense vectors, by a transformer and its tokenizer. Needs torch: imported on demand.

`side_by_side` joins them with TF-IDF: Φ_cat = [tfidf / ‖tfidf‖ ; φ / ‖φ‖], Eq. 10 of XR-Transformer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..neural.arrays import load_weights
from ..neural.batches import Examples
from ..neural.device import chosen_device, chosen_precision, using_threads
from ..neural.encoder import Encoder, EncoderConfig, rebuilt
from ..neural.encoder_network import text_vectors
from ..neural.pretrained import pretrained
from ..neural.ranking import Pass
from ..neural.tokenizer import Tokenizer
from ..neural.vector_cache import cached
from ..store import under_prefix, with_prefix
from ..strings import Strings

Tokens = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
Vectors = npt.NDArray[np.float32]


class TextEncoder:
    """At most ``longest`` tokens of each text are read."""

    def __init__(self, encoder: Encoder, tokenizer: Tokenizer, longest: int) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.longest = longest

    @classmethod
    def pretrained(cls, config: EncoderConfig, longest: int) -> TextEncoder:
        return cls(*pretrained(config, longest), longest)

    def tokens(self, texts: Strings) -> Tokens:
        return self.tokenizer.numbers(texts, self.longest)

    def vectors(
        self,
        tokens: Tokens,
        *,
        batch_size: int,
        device: str,
        precision: str,
        threads: int,
        cache: str | None = None,
    ) -> Vectors:
        """Texts × width; ``cache``: a folder where they may lie already."""
        place, examples = chosen_device(device), Examples(tokens)

        def make() -> Vectors:
            way = Pass(batch_size, place, chosen_precision(precision, place))
            with using_threads(threads):
                return text_vectors(self.encoder, examples, way)

        return cached(cache, self.encoder, examples, make)

    def weights(self) -> dict[str, npt.NDArray]:
        return {name: value.detach().cpu().numpy() for name, value in self.encoder.state_dict().items()}

    def load_weights(self, arrays: Mapping[str, npt.NDArray]) -> None:
        load_weights(self.encoder, arrays, "encoder")

    def state(self) -> dict[str, npt.NDArray]:
        return (
            with_prefix("tokens", self.tokenizer.state())
            | with_prefix("shape", self.encoder.description())
            | with_prefix("weights", self.weights())
        )

    @classmethod
    def from_state(
        cls, config: EncoderConfig, longest: int, arrays: Mapping[str, npt.NDArray]
    ) -> TextEncoder:
        tokenizer = Tokenizer.from_state(under_prefix("tokens", arrays))
        encoder = cls(rebuilt(config, under_prefix("shape", arrays)), tokenizer, longest)
        encoder.load_weights(under_prefix("weights", arrays))
        return encoder


def side_by_side(X: sparse.csr_matrix | None, vectors: Vectors) -> sparse.csr_matrix:
    """Rows of X (unit length), if there is one, then the vectors scaled to unit length. X stays sparse."""
    rows, width = vectors.shape
    if X is None:
        X = sparse.csr_matrix((rows, 0), dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(lengths, 1e-12)
    counts = np.diff(X.indptr)
    indptr = np.append(0, np.cumsum(counts + width)).astype(np.int64)
    dense = (indptr[1:, None] - width + np.arange(width)).reshape(-1)  # a row's last places
    sparse_places = np.ones(indptr[-1], bool)
    sparse_places[dense] = False
    indices = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], np.float32)
    indices[sparse_places], data[sparse_places] = X.indices, X.data
    indices[dense], data[dense] = np.tile(np.arange(X.shape[1], X.shape[1] + width), rows), unit.reshape(-1)
    return sparse.csr_matrix((data, indices, indptr), shape=(rows, X.shape[1] + width))
