"""`Ranked`: ranked lists of labels, as every part hands them on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DEPTH = 50
"""Labels per list, at least, where lists are combined: a label may be low in one list and high in another."""


class Ranked(NamedTuple):
    """Row ``i`` has the labels ``labels[indptr[i]:indptr[i + 1]]``, best first, and their scores."""

    indptr: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
