"""Text vectors cached on disk, by a hash of the encoder's weights and the texts' tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..arrays import UNREADABLE, read_array
from ..data.files import Output
from ..digests import digest_of
from ..errors import TreetopError
from .arrays import to_array
from .batches import Examples
from .encoder import Encoder

Vectors = npt.NDArray[np.float32]


def cached(folder: str | None, encoder: Encoder, examples: Examples, make: Callable[[], Vectors]) -> Vectors:
    """The vectors that ``make`` returns, cached for the same encoder and texts if there is a folder."""
    if folder is None:
        return make()
    path = Path(folder).expanduser() / f"{_digest(encoder, examples)}.npy"
    try:
        found: Vectors = read_array(path)
    except UNREADABLE:
        found = np.zeros(0, np.float32)
    if found.dtype == np.float32 and found.shape == (len(examples), encoder.width):
        return found
    vectors = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with Output() as out:
            np.save(out.binary(path), vectors)
    except OSError as error:
        raise TreetopError(
            f"could not write vectors to {folder} ({error.strerror or error}): set another cache, or none"
        ) from error
    return vectors


def _digest(encoder: Encoder, examples: Examples) -> str:
    weights = [part for name, value in encoder.state_dict().items() for part in (name, to_array(value))]
    tokens = examples.parts["tokens"]
    pooling = encoder.config.pooling, encoder.layers
    return digest_of(*weights, to_array(tokens.values), to_array(tokens.lengths), *pooling)
