"""Tensors as plain arrays. numpy has no bf16: its numbers are kept as 16-bit integers with the same bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def to_array(tensor: Tensor) -> npt.NDArray:
    plain = tensor.detach().cpu()
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.int16)
        return np.asarray(plain.numpy().view(np.uint16))
    return np.asarray(plain.numpy())


def to_tensor(array: npt.NDArray) -> Tensor:
    """A copy."""
    if array.dtype == np.uint16:
        return torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))
