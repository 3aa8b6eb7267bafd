"""`Tuning` and `Trial`: what a search has found."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ..methods import Method, method_class
from ..search_space import Values
from .space import describe
from .training_length import ALL_EPOCHS


@dataclass(frozen=True)
class Trial:
    """One set of settings and the metric that it reached."""

    number: int
    """Counts from 1; the numbers of killed trials are missing."""
    state: str
    """``complete``, ``pruned`` or ``failed``."""
    value: float | None
    """The metric on the held-out examples; for a pruned network, at its last epoch."""
    settings: dict[str, Any]
    """The searched settings."""
    epoch: int | None
    """The epoch at which a network was measured: its best one, or its last if it trains for all of them."""
    seconds: float
    repeats: int | None
    """The number of an earlier trial with the same settings, whose value is taken over."""
    error: str | None


@dataclass(frozen=True)
class Tuning:
    """The trials of a search, and the best settings."""

    method: str
    metric: str
    fixed: dict[str, Any]
    """Settings that were the same in all trials."""
    space: dict[str, Values]
    trials: tuple[Trial, ...]

    @property
    def ranked(self) -> list[Trial]:
        """The complete trials, best first, without repeats."""
        complete = [
            (-trial.value, trial.number, trial)
            for trial in self.trials
            if trial.state == "complete" and trial.value is not None and trial.repeats is None
        ]
        return [trial for _, _, trial in sorted(complete, key=lambda item: item[:2])]

    @property
    def best(self) -> Trial:
        return self.ranked[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings for a model of all examples; a network trains up to the epoch of its best one."""
        chosen = self.fixed | self.best.settings
        if self.best.epoch is not None:
            chosen["epochs"] = self.best.epoch
            defaults = method_class(self.method).config_class()
            for name, value in ALL_EPOCHS.items():
                if chosen.get(name) or defaults.value(name):
                    chosen[name] = value
        return chosen

    def make(self) -> Method:
        """An untrained model with the best settings."""
        return method_class(self.method)(**self.settings)

    def counts(self) -> dict[str, int]:
        """The number of complete, pruned and failed trials."""
        states = [trial.state for trial in self.trials]
        return {state: states.count(state) for state in ("complete", "pruned", "failed")}

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, ready for JSON."""
        return {
            "method": self.method,
            "metric": self.metric,
            "value": self.best.value,
            "settings": self.settings,
            "space": {name: describe(values) for name, values in self.space.items()},
            "counts": self.counts(),
            "trials": [dataclasses.asdict(trial) for trial in self.trials],
        }
