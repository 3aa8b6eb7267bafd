"""Types of the native core (cpp/). CSR matrices: int64 indptr, int32 indices, float32 data."""

import numpy as np
import numpy.typing as npt

def hits(
    truth_indptr: npt.NDArray[np.int64],
    truth_indices: npt.NDArray[np.int32],
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    threads: int,
) -> npt.NDArray[np.uint8]: ...
