"""Optuna's objects for a search: distributions, samplers and pruners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config import value_text
from ..search_space import Range, Values

if TYPE_CHECKING:
    import optuna

SAMPLERS = ("random", "tpe")
TRIALS_BEFORE_PRUNING = 5
EPOCHS_BEFORE_PRUNING = 5


def new_distribution(values: Values) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Range):
        return CategoricalDistribution([value_text(value) for value in values])
    if isinstance(values.low, int) and isinstance(values.high, int):
        return IntDistribution(values.low, values.high, log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def new_sampler(name: str, seed: int, done: int) -> optuna.samplers.BaseSampler:
    """The sampler of the trial after ``done`` others."""
    import numpy as np
    from optuna.samplers import RandomSampler, TPESampler

    own_seed = int(np.random.default_rng([seed, done]).integers(2**32))
    if name == "random":
        return RandomSampler(seed=own_seed)
    return TPESampler(seed=own_seed, constant_liar=False)  # killed trials count for nothing


def new_pruner(*, pruning: bool) -> optuna.pruners.BasePruner:
    from optuna.pruners import MedianPruner, NopPruner

    if not pruning:
        return NopPruner()
    return MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING, n_warmup_steps=EPOCHS_BEFORE_PRUNING)
