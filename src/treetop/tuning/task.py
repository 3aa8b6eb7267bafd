"""What a tuning run tries, and on which examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import value_text
from ..data import Dataset
from ..data.digest import data_digest
from ..data.held_out import hold_out
from ..digests import files_digest
from ..errors import ConfigError, DataError
from ..methods import Method, MethodConfig, method_class
from ..metrics import parse_metric
from ..search_space import Values
from .space import describe, space_of
from .training_length import ALL_EPOCHS, EARLY_STOPPING, has_fixed_length

OF_THE_MACHINE = ("threads", "device")
"""Settings that do not make trials incomparable."""


@dataclass(frozen=True, eq=False)
class TuningTask:
    """A method, the settings to search, and the examples to train and to measure on."""

    method: type[Method]
    config: MethodConfig
    """The settings of every trial before its own are set: see `config_of`."""
    fixed: dict[str, Any]
    space: dict[str, Values]
    metric: str
    train: Dataset
    held_out: Dataset
    about: dict[str, Any]
    """What a stored study must have in common with this task; plain JSON."""

    @classmethod
    def of(
        cls,
        name: str,
        data: Dataset,
        settings: Mapping[str, Any],
        space: Mapping[str, Values],
        validation: float | Dataset,
        metric: str,
    ) -> TuningTask:
        method = method_class(name)
        defaults = method.config_class()
        parse_metric(metric)
        fixed_names = [defaults.full_name(given) for given in settings]
        searched_names = [defaults.full_name(given) for given in space]
        if "calibration" in searched_names:
            raise ConfigError(
                "calibration does not change the ranking, so it cannot be searched: set it to one value"
            )
        own: dict[str, Any] = {}
        if method.trains_in_epochs:
            if "training.metric" in (*fixed_names, *searched_names):
                raise ConfigError(
                    "training.metric is always the metric of tuning: set metric (--metric) instead"
                )
            own = {"training.metric": metric}
        # Calibration trains twice and does not change the ranking: it is for the model of all examples.
        config = defaults.replace_settings({**own, **settings, "calibration": "none"})
        fixed = {full: defaults.replace_settings(settings).value(full) for full in fixed_names}
        searched = _search_space(method, data, config, fixed, space)
        if not searched:
            raise ConfigError(f"{name} has nothing to tune: name settings to search, with values to try")
        train, held_out = _parts(data, validation, config.seed)
        about = {
            "method": name,
            "data": data_digest(data),
            **({"files": files} if (files := files_digest(config)) else {}),
            "validation": data_digest(validation) if isinstance(validation, Dataset) else validation,
            "metric": metric,
            "settings": {
                full: value_text(value)
                for full, value in ({"seed": config.seed} | fixed).items()
                if full not in OF_THE_MACHINE
            },
            "space": {full: describe(values) for full, values in searched.items()},
        }
        return cls(method, config, fixed, searched, metric, train, held_out, about)

    def config_of(self, drawn: Mapping[str, Any]) -> MethodConfig:
        """The settings of the trial that draws these."""
        config = self.config.replace_settings(drawn)
        if not self.method.trains_in_epochs:
            return config
        if has_fixed_length(config):
            return config.replace_settings(ALL_EPOCHS)
        named = self.fixed.keys() | drawn.keys()
        return config.replace_settings({n: value for n, value in EARLY_STOPPING.items() if n not in named})

    def settings_of(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """What a trial drew, as values of the settings."""
        try:
            config = self.config.replace_settings(drawn)
        except ConfigError:  # the settings contradict each other, and so the trial has failed
            return dict(drawn)
        return {name: config.value(name) for name in drawn}


def _search_space(
    method: type[Method],
    data: Dataset,
    config: MethodConfig,
    fixed: Mapping[str, Any],
    given: Mapping[str, Values],
) -> dict[str, Values]:
    """The method's own search space without the fixed settings, and with the dimensions that were given."""
    own = space_of(config, method.search_space)
    if data.X is not None:  # features are given, so none are computed from texts
        own = {name: values for name, values in own.items() if not name.startswith("tfidf.")}
    other = space_of(config, given)
    for name in other:
        if name in fixed:
            raise ConfigError(f"{name} is both fixed and searched: choose one")
    return {name: values for name, values in own.items() if name not in fixed} | other


def _parts(data: Dataset, validation: float | Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """The examples to train on and those to measure on."""
    if isinstance(validation, Dataset):
        if validation.Y is None or validation.Y.nnz == 0:
            raise DataError(f"{validation.source}: no example has a label; validation needs labelled ones")
        return data, validation
    if data.Y is None or data.Y.nnz == 0:
        raise DataError(f"{data.source}: no example has a label; tuning needs labelled ones")
    return hold_out(data, validation, seed, "tuning")
