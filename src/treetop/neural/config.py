"""Settings of the training loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..config import Config, setting
from ..errors import ConfigError
from ..metrics import parse_metric

PRECISIONS = ("auto", "bf16", "fp16", "fp32")


@dataclass(frozen=True)
class TrainingConfig(Config):
    """How a network is trained."""

    optimizer: str = setting("adamw", "how weights move", choices=("adamw", "adam", "sgd"))
    learning_rate: float = setting(1e-3, "size of the steps", above=0)
    rates: tuple[str, ...] = setting(
        (), "other rates for parts of the network: part=rate, as in head=0.001,words=0.0001"
    )
    weight_decay: float = setting(
        0.0, "pull of the weights towards zero; biases and the weights of norms have none", at_least=0
    )
    decays: tuple[str, ...] = setting(
        (), "other decays for parts of the network: part=decay, as in head=0.005,words=0"
    )
    momentum: float = setting(0.9, "of sgd", at_least=0, at_most=1)
    schedule: str = setting(
        "constant",
        "how the rate falls: to zero over the training, or (cosine-ends) to a thousandth at its end,"
        " with a warm-up from a tenth",
        choices=("constant", "linear", "cosine", "cosine-ends"),
    )
    warmup: float = setting(0.0, "share of the steps over which the rate rises first", at_least=0, at_most=1)
    cooldown: float = setting(
        0.2, "share of the steps over which cosine-ends lets the rate fall last", at_least=0, at_most=1
    )
    clip: float = setting(0.0, "cut the norm of the gradient down to this; 0: never", at_least=0)
    adaptive_clip: bool = setting(
        False, "cut the norm of the gradient down to 5 times the largest of the last 5 norms, as AttentionXML"
    )
    micro_batch: int = setting(
        0, "texts that go through the network at a time; 0: as many of a batch as fit into memory", at_least=0
    )
    precision: str = setting(
        "auto", "numbers that are computed with; auto: bf16 where the device has it", choices=PRECISIONS
    )
    average: str = setting(
        "none",
        "use a mean of the weights: of those now and then (swa), or one that follows every step (ema)",
        choices=("none", "swa", "ema"),
    )
    average_from: float = setting(0.5, "share of the training before swa begins", at_least=0, at_most=1)
    average_every: int = setting(
        0,
        "steps after which swa takes the weights into its mean again; 0: at the end of every epoch",
        at_least=0,
    )
    ema_decay: float = setting(0.999, "how much of the mean ema keeps at each step", at_least=0, at_most=1)
    validation: float = setting(
        0.0, "share of the examples held out to find the best epoch; 0: none, unless some are given",
        at_least=0, at_most=0.9,
    )  # fmt: skip
    metric: str = setting("P@1", "what is best on the examples held out: P@1, nDCG@5, …")
    patience: int = setting(
        0, "stop after so many epochs that were not better on the examples held out; 0: never", at_least=0
    )
    save_every: float = setting(
        600.0, "seconds between states that --resume can go on from; there is one after every epoch too",
        at_least=0,
    )  # fmt: skip
    graphs: bool = setting(True, "on a GPU, record steps once and replay them (CUDA graphs)")
    deterministic: bool = setting(False, "the same bits in every run on a GPU too; slower")
    compile: bool = setting(False, "compile the network first (torch.compile)")
    tensorboard: str | None = setting(None, "folder for a TensorBoard log")

    def check(self) -> None:
        self.part_rates()
        self.part_decays()
        parse_metric(self.metric)
        if self.schedule == "cosine-ends" and self.warmup + self.cooldown > 1 + 1e-9:
            raise ConfigError(
                f"warmup and cooldown must add up to at most 1, not {self.warmup:g} + {self.cooldown:g}"
            )

    def part_rates(self) -> dict[str, float]:
        """The rates of `rates`, by part."""
        return _by_part("rates", "rate", self.rates, zero=False)

    def part_decays(self) -> dict[str, float]:
        """The decays of `decays`, by part."""
        return _by_part("decays", "decay", self.decays, zero=True)


def training_settings(config: Config) -> dict[str, Any]:
    """Of a method that has a part ``training``: the settings that a state of the training depends on."""
    settings = config.to_dict()
    del settings["threads"], settings["training"]["save_every"], settings["training"]["tensorboard"]
    return settings


def _by_part(whole: str, noun: str, items: tuple[str, ...], *, zero: bool) -> dict[str, float]:
    """The numbers of a list of part=number; ``zero``: whether 0 is one."""
    numbers = {}
    for item in items:
        name, _, number = item.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not name.strip() or not 0 <= value < math.inf or (value == 0 and not zero):
            limit = "of at least 0" if zero else "above 0"
            raise ConfigError(f"{whole} must be given as part={noun}, with a {noun} {limit}, not {item!r}")
        numbers[name.strip()] = value
    return numbers
