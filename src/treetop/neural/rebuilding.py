"""Building a network whose weights are about to be loaded: little time, and no more memory than they take."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..model_arrays import Arrays

_RANDOM = (
    *("normal_", "uniform_", "trunc_normal_", "kaiming_uniform_", "kaiming_normal_"),
    *("xavier_normal_", "xavier_uniform_"),
)
"""Functions that fill a tensor with random numbers: most of the time that building a network takes."""
_FACTORIES = ("empty", "zeros", "ones", "full", "rand", "randn", "arange", "eye")
_FACTOR = 4
_SPARE = 1 << 26
"""Numbers beyond `_FACTOR` times the weights: positions, and what follows from them."""


class Rebuilding(TorchFunctionMode):
    """Leaves weights as allocated. Buffers that no model folder holds, such as positions, are computed.

    ``stored``: the arrays that hold the weights. A network that needs many times as many numbers is
    rejected: their sizes come from settings, which may be anything.
    """

    def __init__(self, stored: Arrays | None = None) -> None:
        super().__init__()
        count = math.inf if stored is None else sum(array.size for array in stored.values())
        self._left = _FACTOR * count + _SPARE

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named, name = kwargs or {}, getattr(func, "__name__", "")
        if name in _RANDOM:
            return args[0] if args else named["tensor"]
        made = func(*args, **named)
        if name in _FACTORIES and isinstance(made, Tensor):
            self._left -= made.numel()
            if self._left < 0:
                raise ValueError(f"an array of {made.numel():,} numbers is too large for its stored weights")
        return made
