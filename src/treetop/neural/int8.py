"""Linear layers with 8-bit weights, for predictions on a CPU.

    W ≈ diag(s) Q,    x ≈ t q:    W x + b ≈ t · s · (Q q) + b

Q and q are integers from -127 to 127. Each output has a scale s, each token of a text a scale t, computed on
the fly. Their product is exact.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError

MOST = 127


class Rounded:
    """Caches the last inputs in 8 bits: the layers for queries, keys and values share the same inputs."""

    def __init__(self) -> None:
        self.last: tuple[Tensor, Tensor, Tensor] | None = None
        """Read and written as one tuple, because several threads may predict at a time."""

    def of(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """``q, t`` of every row."""
        last = self.last
        if last is not None and last[0] is inputs:
            return last[1], last[2]
        rows = inputs.reshape(-1, inputs.shape[-1]).float()
        scales = rows.abs().amax(1, keepdim=True).div_(MOST).clamp_(min=1e-12)
        narrow = (rows / scales).round_().to(torch.int8)
        self.last = inputs, narrow, scales
        return narrow, scales


class Int8Linear(nn.Module):
    """Approximates `nn.Linear`."""

    def __init__(self, layer: nn.Linear, rounded: Rounded | None = None) -> None:
        super().__init__()
        weight = layer.weight.detach().float()
        self.scales = weight.abs().amax(1).clamp(min=1e-12) / MOST
        self.narrow = torch.round(weight / self.scales[:, None]).to(torch.int8).T  # inputs × outputs
        self.bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias.detach().float()
        self.rounded = rounded or Rounded()

    def forward(self, inputs: Tensor) -> Tensor:
        narrow, scales = self.rounded.of(inputs)
        sums = torch._int_mm(narrow, self.narrow).float().mul_(scales)
        return torch.addcmul(self.bias, sums, self.scales).reshape(*inputs.shape[:-1], -1)


def with_int8_layers(module: nn.Module) -> nn.Module:
    """A copy with `Int8Linear` layers that shares all other weights."""
    if not hasattr(torch, "_int_mm"):
        raise ConfigError("int8: this release of torch has no 8-bit products; set int8=false")
    shared: dict[int, Any] = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    narrowed, rounded = copy.deepcopy(module, shared), Rounded()
    for part in list(narrowed.modules()):
        for name, layer in list(part.named_children()):
            if type(layer) is nn.Linear:
                setattr(part, name, Int8Linear(layer, rounded))
    return narrowed.eval()
