"""Several processes, started by torchrun, train one network: each takes its share of every batch."""

from __future__ import annotations

import atexit
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor, nn

from .. import ranks


def join(device: torch.device) -> None:
    """Meets the other processes, if there are any."""
    if ranks.processes() > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)


def share(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What this process takes of a batch. Neighbours in a batch are of like length, so all get alike work."""
    return rows[ranks.rank() :: ranks.processes()]


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replaces every gradient by its sum over the processes."""
    if not dist.is_initialized():
        return
    dense: list[Tensor] = []
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = _gathered(parameter.grad.coalesce())
            continue
        if parameter.grad is None:  # this process had no text that uses it
            parameter.grad = torch.zeros_like(parameter)
        dense.append(parameter.grad)
    if dense:
        flat = torch.cat([gradient.reshape(-1) for gradient in dense])
        dist.all_reduce(flat)
        at = 0
        for gradient in dense:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()


def _gathered(gradient: Tensor) -> Tensor:
    """The sum of sparse gradients: the rows of all processes."""
    pieces: list[tuple[Tensor, Tensor]] = [None] * dist.get_world_size()  # type: ignore[list-item]
    dist.all_gather_object(pieces, (gradient.indices().cpu(), gradient.values().cpu()))
    ids = torch.cat([rows for rows, _ in pieces], 1).to(gradient.device)
    values = torch.cat([values for _, values in pieces]).to(gradient.device)
    return torch.sparse_coo_tensor(ids, values, gradient.shape).coalesce()


def mean_loss(loss: Tensor) -> Tensor:
    """The sum of the processes' shares of a loss."""
    if dist.is_initialized():
        dist.all_reduce(loss)
    return loss


def wait() -> None:
    """Until all processes are here."""
    if dist.is_initialized():
        dist.barrier()
