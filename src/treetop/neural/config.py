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
    """Settings of the training loop."""

    optimizer: str = setting("adamw", "optimizer", choices=("adamw", "adam", "sgd"))
    learning_rate: float = setting(1e-3, "peak learning rate", above=0)
    rates: tuple[str, ...] = setting(
        (), "learning rates for parts of the network, such as head=0.001,words=0.0001"
    )
    weight_decay: float = setting(0.0, "weight decay; biases and normalisation weights have none", at_least=0)
    decays: tuple[str, ...] = setting(
        (), "weight decays for parts of the network, such as head=0.005,words=0"
    )
    momentum: float = setting(0.9, "SGD momentum; ignored by Adam and AdamW", at_least=0, at_most=1)
    schedule: str = setting(
        "constant",
        "learning-rate schedule: constant, down to zero (linear, cosine), or from a tenth up to the peak and"
        " at the end down to a thousandth (cosine-ends)",
        choices=("constant", "linear", "cosine", "cosine-ends"),
    )
    warmup: float = setting(
        0.0, "share of the steps over which the learning rate warms up", at_least=0, at_most=1
    )
    cooldown: float = setting(
        0.2,
        "share of the steps at the end over which cosine-ends lowers the learning rate",
        at_least=0,
        at_most=1,
    )
    beta1_cycle: tuple[float, ...] = setting(
        (),
        "first-moment coefficient of Adam and AdamW: from the first of two numbers to the second while "
        "cosine-ends warms up, and back while it cools down, such as 0.95,0.85; none: 0.9 throughout",
        at_least=0,
        at_most=0.9999,
    )
    epsilon: float = setting(
        1e-8,
        "epsilon of Adam, added to the root of the second moment: steps are smaller where gradients "
        "are below it; 1e-6 in the released code of LightXML and CascadeXML",
        above=0,
    )
    dropout_steps: int = setting(
        0,
        "steps of each epoch with dropout, the others have none, as in the released code of LightXML; 0: all",
        at_least=0,
    )
    clip: float = setting(0.0, "gradient clipping: largest norm of the gradients; 0: no clipping", at_least=0)
    adaptive_clip: bool = setting(
        False, "clip gradients at 5 times the largest of the last 5 norms, as AttentionXML does"
    )
    micro_batch: int = setting(
        0,
        "texts per forward and backward pass (gradients accumulate); 0: as many of a batch as fit in memory",
        at_least=0,
    )
    precision: str = setting(
        "auto", "compute precision; auto uses bf16 where supported, else fp32", choices=PRECISIONS
    )
    average: str = setting(
        "none",
        "weight averaging: periodic snapshots (swa) or an exponential moving average (ema)",
        choices=("none", "swa", "ema"),
    )
    average_from: float = setting(0.5, "share of the training after which swa starts", at_least=0, at_most=1)
    average_every: int = setting(
        0,
        "steps between swa snapshots; 0: one at the end of every epoch",
        at_least=0,
    )
    ema_decay: float = setting(
        0.999, "ema decay: share of the average kept at each step", at_least=0, at_most=1
    )
    validation: float = setting(
        0.0, "share of the examples held out as validation set, to find the best epoch; 0: none",
        at_least=0, at_most=0.9,
    )  # fmt: skip
    metric: str = setting("P@1", "validation metric that decides which epoch is best: P@1, nDCG@5, …")
    patience: int = setting(
        0, "stop after this many epochs without improvement on the validation set; 0: never", at_least=0
    )
    save_every: float = setting(
        600.0, "seconds between checkpoints, from which --resume continues; each epoch also ends with one",
        at_least=0,
    )  # fmt: skip
    graphs: bool = setting(True, "record training steps once and replay them on a GPU (CUDA graphs)")
    deterministic: bool = setting(
        False, "deterministic algorithms: the same bits in every run on a GPU too; slower"
    )
    compile: bool = setting(False, "compile the network before training (torch.compile)")
    tensorboard: str | None = setting(None, "folder for TensorBoard logs; none: no logs")

    def check(self) -> None:
        self.part_rates()
        self.part_decays()
        parse_metric(self.metric)
        if self.schedule == "cosine-ends" and self.warmup + self.cooldown > 1 + 1e-9:
            raise ConfigError(
                f"warmup and cooldown must add up to at most 1, not {self.warmup:g} + {self.cooldown:g}:"
                " lower one of them"
            )
        if self.beta1_cycle:
            self._check_cycle()

    def _check_cycle(self) -> None:
        if len(self.beta1_cycle) != 2:
            raise ConfigError(
                "beta1_cycle takes two numbers, the higher first, such as 0.95,0.85, not"
                f" {','.join(map(str, self.beta1_cycle))}"
            )
        if self.optimizer == "sgd":
            raise ConfigError("beta1_cycle is for Adam: set optimizer=adamw or adam, or leave it out")
        if self.schedule != "cosine-ends":
            raise ConfigError("beta1_cycle follows cosine-ends: set schedule=cosine-ends, or leave it out")

    def part_rates(self) -> dict[str, float]:
        """The rates of `rates`, by part."""
        return _by_part("rates", "rate", self.rates, zero=False)

    def part_decays(self) -> dict[str, float]:
        """The decays of `decays`, by part."""
        return _by_part("decays", "decay", self.decays, zero=True)


def training_settings(config: Config) -> dict[str, Any]:
    """The settings of a method with a part ``training`` that a checkpoint depends on."""
    settings = config.to_dict()
    del settings["threads"], settings["training"]["save_every"], settings["training"]["tensorboard"]
    return settings


def _by_part(whole: str, noun: str, items: tuple[str, ...], *, zero: bool) -> dict[str, float]:
    """The numbers of a list of part=number; ``zero``: whether 0 is allowed."""
    numbers = {}
    for item in items:
        name, _, number = item.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not name.strip() or not 0 <= value < math.inf or (value == 0 and not zero):
            limit = "of at least 0" if zero else "above 0"
            raise ConfigError(f"{whole} must have the form part={noun}, with a {noun} {limit}, not {item!r}")
        numbers[name.strip()] = value
    return numbers
