"""Device, precision, threads and random numbers of a network."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from ..errors import ConfigError, TreetopError

KINDS = ("cuda", "mps", "cpu")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def chosen_device(name: str) -> torch.device:
    """``auto``: a CUDA device, else Apple's GPU, else the CPU; ``cuda``: the GPU of this process."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    if name.partition(":")[0] not in KINDS:
        raise ConfigError(f"the device {name!r} cannot be used: choose auto, {', '.join(KINDS)} or cuda:1")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"the device {name!r} cannot be used here ({reason}): set device=auto") from None
    return device


def chosen_precision(name: str, device: torch.device) -> torch.dtype:
    """``auto``: bf16 where the device has it, else fp32."""
    if name == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if fast else torch.float32
    if name == "fp16" and device.type == "cpu":
        raise ConfigError("precision=fp16 needs a GPU: set bf16 or fp32 on the CPU")
    return DTYPES[name]


@contextlib.contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Lets torch use ``count`` threads inside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def clear_memory_errors() -> Iterator[None]:
    """Errors of running out of memory inside name the settings to lower."""
    try:
        yield
    except RuntimeError as error:  # torch has no error type for CPU memory
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        raise TreetopError(
            "not enough memory: lower batch_size, max_length, or the size of the network"
        ) from error


@contextlib.contextmanager
def deterministic(enabled: bool) -> Iterator[None]:
    """Uses deterministic algorithms only, inside."""
    if not enabled:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    benchmark = torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = benchmark


@contextlib.contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seeds torch inside; its random numbers outside continue as before."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
