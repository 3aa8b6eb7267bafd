"""Data-parallel training: processes that torchrun starts each take a share of every batch."""

from __future__ import annotations

import atexit
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..machine import process_count, process_rank
from .optimizers import sparse_tables


def join(device: torch.device) -> None:
    """Joins the process group, if there are several processes."""
    if process_count() > 1 and not dist.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)  # NCCL sends objects from there
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)


def share(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The rows of a batch for this process. Adjacent rows are similarly long, so all shares are alike."""
    return rows[process_rank() :: process_count()]


def reseed(seed: int, step: int, *, alike: bool = False) -> None:
    """Seeds each process by the step alone; ``alike``: all processes with the same seed.

    So processes draw different dropout masks but round weights alike, and a resumed training repeats what an
    uninterrupted one does.
    """
    if dist.is_initialized():
        mixed = np.random.SeedSequence([seed, step, process_count() if alike else process_rank()])
        torch.manual_seed(int(mixed.generate_state(1, np.uint64)[0]))


def sum_gradients(network: nn.Module) -> None:
    """Replaces every gradient by its sum over the processes."""
    if not dist.is_initialized():
        return
    tables = sparse_tables(network)
    dense: list[Tensor] = []
    for parameter in network.parameters():
        if not parameter.requires_grad:
            continue
        if parameter in tables:
            parameter.grad = _gathered(_no_rows(parameter) if parameter.grad is None else parameter.grad)
            continue
        if parameter.grad is None:  # no text of this process uses it
            parameter.grad = torch.zeros_like(parameter)
        dense.append(parameter.grad)
    if dense:
        flat = torch.cat([gradient.reshape(-1) for gradient in dense])
        dist.all_reduce(flat)
        at = 0
        for gradient in dense:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()


def _no_rows(table: Tensor) -> Tensor:
    ids = torch.zeros((1, 0), dtype=torch.int64, device=table.device)
    return torch.sparse_coo_tensor(ids, table.detach()[:0], table.shape, check_invariants=False)


def _gathered(gradient: Tensor) -> Tensor:
    """The sum of the sparse gradients of all processes."""
    gradient = gradient.coalesce()
    pieces: list[tuple[Tensor, Tensor]] = [None] * dist.get_world_size()  # type: ignore[list-item]
    dist.all_gather_object(pieces, (gradient.indices().cpu(), gradient.values().cpu()))
    ids = torch.cat([rows for rows, _ in pieces], 1).to(gradient.device)
    values = torch.cat([values for _, values in pieces]).to(gradient.device)
    return torch.sparse_coo_tensor(ids, values, gradient.shape, check_invariants=False).coalesce()


def mean_loss(loss: Tensor) -> Tensor:
    """The sum of the processes' shares of a loss."""
    if dist.is_initialized():
        dist.all_reduce(loss)
    return loss


def from_first_process(metrics: Mapping[str, float]) -> Mapping[str, float]:
    """The metrics of the first process, because all must agree on the best epoch."""
    shared = [dict(metrics)]
    if dist.is_initialized():
        dist.broadcast_object_list(shared)
    return shared[0]
