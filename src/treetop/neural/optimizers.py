"""Optimizers and learning-rate schedules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from .config import TrainingConfig
from .heads import LabelHead


class _OwnAdam(torch.optim.Optimizer, ABC):
    """AdamW with its own step for one parameter."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group)
        return loss

    @abstractmethod
    def _update(self, weight: Tensor, group: dict[str, Any]) -> None:
        """One step of one parameter along its gradient."""


class RowAdam(_OwnAdam):
    """AdamW for tables with sparse gradients: updates only the rows that a batch used.

    Moments of a row decay only in these steps; the bias correction counts the steps of the whole table.
    """

    def _update(self, weight: Tensor, group: dict[str, Any]) -> None:
        table, state = weight, self.state[weight]
        assert table.grad is not None
        gradient = table.grad.coalesce()
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(table)
            state["exp_avg_sq"] = torch.zeros_like(table)
        state["step"] += 1
        rows, slope = gradient.indices()[0], gradient.values()
        (first, second), steps = group["betas"], float(state["step"])
        mean = state["exp_avg"][rows].lerp_(slope, 1 - first)
        square = state["exp_avg_sq"][rows].mul_(second).addcmul_(slope, slope, value=1 - second)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        spread = (square / (1 - second**steps)).sqrt_().add_(group["eps"])
        kept = table[rows] * (1 - group["lr"] * group["weight_decay"])
        table[rows] = kept - group["lr"] / (1 - first**steps) * mean / spread


class RoundedAdam(_OwnAdam):
    """AdamW for bf16 weights without a 32-bit copy: weights and moments are rounded stochastically.

    A number between two bf16 numbers becomes the nearer one with the higher probability, so that updates far
    smaller than the spacing of bf16 are not lost but happen occasionally: E[round(x)] = x.
    """

    def _update(self, weight: Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state["step"] = torch.zeros((), device=weight.device)
            state["exp_avg"] = torch.zeros_like(weight)
            state["exp_avg_sq"] = torch.zeros_like(weight)
        state["step"] += 1
        (first, second), steps = group["betas"], state["step"]
        rate = group["lr"] / (1 - first**steps)
        for at in range(0, len(weight), ROWS):  # only some rows at a time are computed in 32 bits
            rows = slice(at, at + ROWS)
            slope = weight.grad[rows].float()  # type: ignore[index]
            mean = state["exp_avg"][rows].float().lerp_(slope, 1 - first)
            square = state["exp_avg_sq"][rows].float().mul_(second).addcmul_(slope, slope, value=1 - second)
            spread = (square / (1 - second**steps)).sqrt_().add_(group["eps"])
            moved = weight[rows].float() * (1 - group["lr"] * group["weight_decay"]) - rate * mean / spread
            for narrow, wide in (
                (state["exp_avg"], mean),
                (state["exp_avg_sq"], square),
                (weight, moved),
            ):
                narrow[rows] = randomly_rounded(wide)


ROWS = 1 << 16


def randomly_rounded(values: Tensor) -> Tensor:
    """As bf16. Random bits are added to the 16 bits that are cut off: their carry rounds up."""
    bits = values.contiguous().view(torch.int32)
    noise = torch.randint_like(bits, 1 << 16)
    return ((bits + noise) & -(1 << 16)).view(torch.float32).to(torch.bfloat16)


def sparse_tables(module: nn.Module) -> set[nn.Parameter]:
    """The tables with sparse gradients."""
    kinds = nn.Embedding, LabelHead
    tables = (layer for layer in module.modules() if isinstance(layer, kinds) and layer.sparse)
    return {table.get_parameter("weight") for table in tables}


def make_optimizers(module: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """An optimizer each for plain parameters, tables with sparse gradients and bf16 weights, if any."""
    tables = sparse_tables(module)
    rates, decays = config.part_rates(), config.part_decays()
    _check_parts(module, "rates", rates)
    _check_parts(module, "decays", decays)
    plain: dict[tuple[float, float], list[nn.Parameter]] = {}
    sparse: dict[tuple[float, float], list[nn.Parameter]] = {}
    narrow: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        pieces = name.split(".")
        rate = next((rates[piece] for piece in pieces if piece in rates), config.learning_rate)
        decay = next((decays[piece] for piece in pieces if piece in decays), config.weight_decay)
        if _is_bias(pieces[-1], parameter):
            decay = 0.0
        groups = sparse if parameter in tables else plain
        if parameter.dtype == torch.bfloat16:
            groups = narrow
        groups.setdefault((rate, decay), []).append(parameter)
    if config.optimizer == "sgd" and (sparse or narrow):
        raise ConfigError("optimizer=sgd has no sparse gradients or 16-bit weights: set optimizer=adamw")
    made: list[torch.optim.Optimizer] = []
    if plain:
        made.append(_plain(_groups(plain), config))
    if sparse:
        made.append(RowAdam(_groups(sparse), eps=config.epsilon))
    if narrow:
        made.append(RoundedAdam(_on_device(_groups(narrow)), eps=config.epsilon))
    return made


def _check_parts(module: nn.Module, setting: str, named: Iterable[str]) -> None:
    parameters = [name.split(".") for name, _ in module.named_parameters()]
    for part in named:
        if not any(part in pieces for pieces in parameters):
            listed = ", ".join(sorted({pieces[0] for pieces in parameters}))
            raise ConfigError(f"{setting}: the network has no part {part!r}; choose from {listed}")


def _is_bias(name: str, parameter: nn.Parameter) -> bool:
    """Whether it is a bias, also in a table of one column, or the weight of a normalisation layer.

    XLNet's biases of attention, such as r_w_bias, have a row for each head.
    """
    return parameter.ndim < 2 or parameter.shape[1:].numel() == 1 or name.endswith("bias")


def _groups(parameters: dict[tuple[float, float], list[nn.Parameter]]) -> list[dict[str, Any]]:
    return [
        {"params": listed, "lr": rate, "weight_decay": decay} for (rate, decay), listed in parameters.items()
    ]


def _plain(groups: list[dict[str, Any]], config: TrainingConfig) -> torch.optim.Optimizer:
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=config.momentum)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    if groups[0]["params"][0].device.type != "cuda":
        return kind(groups, eps=config.epsilon)
    return kind(_on_device(groups), eps=config.epsilon, fused=True, capturable=True)


def _on_device(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A recorded step reads its learning rate from the GPU."""
    device = groups[0]["params"][0].device
    if device.type == "cuda":
        for group in groups:
            group["lr"] = torch.tensor(group["lr"], device=device)
    return groups


def schedule(config: TrainingConfig, steps: int) -> Callable[[int], float]:
    """The factor of the learning rate at each of ``steps`` steps, counted from 0."""
    if config.schedule == "cosine-ends":
        return _cosine_ends(config, steps, 0.1, 1.0, 0.001)
    warm = round(config.warmup * steps)

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        left = (steps - step) / max(steps - warm, 1)
        if config.schedule == "linear":
            return left
        if config.schedule == "cosine":
            return 0.5 * (1 + math.cos(math.pi * (1 - left)))
        return 1.0

    return factor


def beta1_cycle(config: TrainingConfig, steps: int) -> Callable[[int], float] | None:
    """Adam's first-moment coefficient at each of ``steps`` steps, counted from 0; None: it is constant."""
    if not config.beta1_cycle:
        return None
    ends, between = config.beta1_cycle
    return _cosine_ends(config, steps, ends, between, ends)


def _cosine_ends(
    config: TrainingConfig, steps: int, start: float, peak: float, end: float
) -> Callable[[int], float]:
    """CascadeXML's schedule: ``start`` to ``peak`` in the warm-up, ``peak``, and to ``end`` in the cool-down.

    Both changes follow half a cosine wave; the last step has ``end``.
    """
    warm = round(config.warmup * steps)
    last = min(round(config.cooldown * steps), steps - warm)

    def value(step: int) -> float:
        ended = step + 1 - (steps - last)
        if step < warm:
            return _along_cosine(start, peak, step / warm)
        return _along_cosine(peak, end, ended / last) if ended > 0 else peak

    return value


def _along_cosine(start: float, end: float, share: float) -> float:
    return start + (end - start) * 0.5 * (1 - math.cos(math.pi * share))


def set_beta1(optimizers: Iterable[torch.optim.Optimizer], beta1: float) -> None:
    """Sets the first-moment coefficient of every parameter group."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["betas"] = beta1, group["betas"][1]


def set_rates(optimizers: Iterable[torch.optim.Optimizer], factor: float) -> None:
    """Sets the learning rate of every parameter group to its initial one times ``factor``."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            if "initial_lr" not in group:
                group["initial_lr"] = float(group["lr"])
            if not isinstance(group["lr"], Tensor):
                group["lr"] = group["initial_lr"] * factor
            elif group.get("factor") != factor:
                group["lr"].fill_(group["initial_lr"] * factor)
            group["factor"] = factor
