"""Tensors as plain arrays. numpy has no bf16: such numbers become 16-bit integers with the same bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..model_arrays import matrix


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


def load_weights(module: nn.Module, arrays: Mapping[str, npt.NDArray]) -> None:
    """Loads weights for predictions."""
    own = module.state_dict()
    for name, value in own.items():
        kind = np.uint16 if value.dtype == torch.bfloat16 else value.new_empty(0).numpy().dtype.type
        matrix(arrays, name, kind, tuple(value.shape))
    module.load_state_dict({name: to_tensor(arrays[name]) for name in own})
    module.eval()
