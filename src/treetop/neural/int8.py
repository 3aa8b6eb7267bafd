"""Linear layers with 8-bit weights, for predictions on the processor.

    W ≈ diag(s) Q,    x ≈ t q:    W x + b ≈ t · s · (Q q) + b

Q and q are whole numbers from -127 to 127. Each output has its scale s, each text's token its scale t, found
as it comes along. Their product is exact.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ..errors import ConfigError

MOST = 127


class Int8Linear(nn.Module):
    """What `nn.Linear` computes, roughly."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight = layer.weight.detach().float()
        self.scales = weight.abs().amax(1).clamp(min=1e-12) / MOST
        self.narrow = torch.round(weight / self.scales[:, None]).to(torch.int8).T  # inputs × outputs
        self.bias = None if layer.bias is None else layer.bias.detach().float()

    def forward(self, inputs: Tensor) -> Tensor:
        rows = inputs.reshape(-1, inputs.shape[-1]).float()
        scales = rows.abs().amax(1, keepdim=True).clamp(min=1e-12) / MOST
        sums = torch._int_mm(torch.round(rows / scales).to(torch.int8), self.narrow)
        outputs = sums.float().mul_(scales).mul_(self.scales)
        if self.bias is not None:
            outputs += self.bias
        return outputs.reshape(*inputs.shape[:-1], -1)


def with_int8_layers(module: nn.Module) -> nn.Module:
    """A copy whose linear layers are `Int8Linear`."""
    if not hasattr(torch, "_int_mm"):
        raise ConfigError("int8: this release of torch has no 8-bit products; set int8=false")
    narrowed = copy.deepcopy(module)
    for part in list(narrowed.modules()):
        for name, layer in list(part.named_children()):
            if type(layer) is nn.Linear:
                setattr(part, name, Int8Linear(layer))
    return narrowed.eval()
