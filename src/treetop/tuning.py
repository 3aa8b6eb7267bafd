"""`tune`: the settings that do best on a part of the training examples.

Every trial draws settings from the method's search space, trains on most examples and measures on the others.
What a trial draws follows from the seed and the number of trials finished before it: a study that was killed
goes on with the settings it would have tried anyway.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import progress
from .config import value_text
from .data import Dataset
from .data.digest import data_digest
from .data.frames import labelled
from .digests import files_digest
from .errors import ConfigError, DataError, MissingExtraError, TreetopError
from .machine import process_count
from .methods import Method, MethodConfig, method_class
from .methods.held_out import held_out_rows
from .methods.options import keywords
from .metrics import parse_metric
from .search_space import Range, Values, describe, space_of
from .study_file import opened

if TYPE_CHECKING:
    import optuna

SAMPLERS = ("random", "tpe")
NETWORK_SETTINGS = {"epochs": 50, "training.patience": 10}
"""Of a network whose epochs are all alike: so many at most, and the end after so many not better."""
NOTHING_HELD_OUT = {"training.patience": 0, "training.validation": 0}
"""Of a network that is trained to its end."""
TRIALS_BEFORE_PRUNING = 5
EPOCHS_BEFORE_PRUNING = 5
Note = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """One set of settings and how it did."""

    number: int
    """Counted from 1; a number whose trial was killed is missing."""
    state: str
    """``complete``, ``pruned`` or ``failed``."""
    value: float | None
    """Of the metric, on the examples held out; of a pruned network, at its last epoch."""
    settings: dict[str, Any]
    """Those that were searched."""
    epoch: int | None
    """Of a network, when it had this value: its best one, or its last where it is trained to its end."""
    seconds: float
    repeats: int | None
    """The number of an earlier trial that drew the same settings; its value is taken."""
    error: str | None


@dataclass(frozen=True)
class Tuning:
    """What a tuning has found."""

    method: str
    metric: str
    fixed: dict[str, Any]
    """Settings that were given."""
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
        """For a model of all examples: a network is trained for as many epochs as gave the best value."""
        chosen = self.fixed | self.best.settings
        if self.best.epoch is not None:
            chosen["epochs"] = self.best.epoch
            usual = method_class(self.method).config_class()
            for name, value in NOTHING_HELD_OUT.items():
                if chosen.get(name) or usual.value(name):
                    chosen[name] = value
        return chosen

    def make(self) -> Method:
        """A model with these settings, not fitted yet."""
        return method_class(self.method)(**self.settings)

    def counts(self) -> dict[str, int]:
        """How many trials are complete, pruned and failed."""
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


def tune(
    method: str,
    data: Dataset | Any,
    *,
    trials: int = 48,
    settings: Mapping[str, Any] | None = None,
    space: Mapping[str, Values] | None = None,
    validation: float | Dataset | Any = 0.2,
    metric: str = "P@1",
    sampler: str = "random",
    pruning: bool = True,
    study: str | os.PathLike[str] | None = None,
) -> Tuning:
    """Searches the settings of a method that give the best ``metric`` on held-out examples.

    - ``settings`` are fixed; ``space`` replaces or adds dimensions of the method's search space.
    - ``validation``: the share of ``data`` to hold out (whole groups, where it has some), or other examples.
    - ``sampler``: ``"random"``, or ``"tpe"``, which learns from earlier trials.
    - ``pruning`` ends a network's trial that is worse than the median of the others at the same epoch, where
      all epochs are alike.
    - ``study``: a file to keep the trials in; those that it has count towards ``trials``.

    A trial that fails (out of memory, settings that do not go together) is recorded, and the search goes on.
    """
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise MissingExtraError("tuning", "tune") from None
    if trials < 1:
        raise ConfigError(f"trials must be at least 1, not {trials}")
    if sampler not in SAMPLERS:
        raise ConfigError(f"sampler must be one of {', '.join(SAMPLERS)}, not {sampler!r}")
    if process_count() > 1:
        raise ConfigError("tuning runs in one process: start it without torchrun")
    data = labelled(data, "tune needs")
    if not isinstance(validation, (int, float)):
        validation = labelled(validation, "validation is a share of the examples, or")
    task = _Task.of(method, data, settings or {}, space or {}, validation, metric)
    with (
        opened(study, task.about, _pruner(task, pruning)) as opened_study,
        progress.step(f"Tuning {method}") as report,
    ):
        search = _Search(task, opened_study, sampler)
        search.run(trials, report)
        found = tuple(task.trial_of(trial) for trial in search.finished())
    tuning = Tuning(method, metric, task.fixed, task.space, found)
    if not tuning.ranked:
        reasons = [trial.error for trial in found if trial.error is not None]
        raise ConfigError(f"none of {len(found)} trials of {method} came to its end: {reasons[-1]}")
    return tuning


@dataclass(frozen=True, eq=False)
class _Task:
    """What is to be tried, on what."""

    method: type[Method]
    config: MethodConfig
    """Of a trial, before its own settings; see `config_of`."""
    fixed: dict[str, Any]
    space: dict[str, Values]
    metric: str
    train: Dataset
    held_out: Dataset
    about: dict[str, Any]
    """What tells this task from others, for the file of the study."""

    @classmethod
    def of(
        cls,
        name: str,
        data: Dataset,
        settings: Mapping[str, Any],
        space: Mapping[str, Values],
        validation: float | Dataset,
        metric: str,
    ) -> _Task:
        method = method_class(name)
        usual = method.config_class()
        parse_metric(metric)
        fixed_names = [usual.full_name(given) for given in settings]
        searched_names = [usual.full_name(given) for given in space]
        if "calibration" in searched_names:
            raise ConfigError("calibration changes no ranking: set it, for the model of all examples")
        told: dict[str, Any] = {}
        if _is_network(method):
            if "training.metric" in (*fixed_names, *searched_names):
                raise ConfigError("training.metric is the metric of the tuning: give it as that")
            told = {"training.metric": metric}
        # Calibration changes no ranking and trains twice: it is for the model of all examples.
        config = usual.replace_settings({**told, **settings, "calibration": "none"})
        fixed = {full: usual.replace_settings(settings).value(full) for full in fixed_names}
        searched = _searched(method, data, config, fixed, space)
        if not searched:
            raise ConfigError(f"{name} has nothing to tune: it has no search space, and none is given")
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
                if full not in ("threads", "device")
            },
            "space": {full: describe(values) for full, values in searched.items()},
        }
        return cls(method, config, fixed, searched, metric, train, held_out, about)

    def config_of(self, drawn: Mapping[str, Any]) -> MethodConfig:
        """Of the trial that draws these settings."""
        config = self.config.replace_settings(drawn)
        if not _is_network(self.method):
            return config
        if _goes_by_its_length(config):
            return config.replace_settings(NOTHING_HELD_OUT)
        named = self.fixed.keys() | drawn.keys()
        return config.replace_settings({n: value for n, value in NETWORK_SETTINGS.items() if n not in named})

    def trial_of(self, trial: optuna.trial.FrozenTrial) -> Trial:
        """A finished trial in our words."""
        names = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
        attributes = trial.user_attrs
        return Trial(
            number=trial.number + 1,
            state=names[trial.state.name],
            value=trial.value,
            settings=self._settings_of(trial.params),
            epoch=attributes.get("epoch"),
            seconds=0.0 if trial.duration is None else round(trial.duration.total_seconds(), 3),
            repeats=attributes.get("repeats"),
            error=attributes.get("error"),
        )

    def _settings_of(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        try:
            config = self.config.replace_settings(drawn)
        except ConfigError:  # they do not go together, and so the trial has failed
            return dict(drawn)
        return {name: config.value(name) for name in drawn}


class _Search:
    """Trials, one after another, until there are enough."""

    def __init__(self, task: _Task, study: optuna.Study, sampler: str) -> None:
        self.task = task
        self.study = study
        self.sampler = sampler
        self.distributions = {name: _distribution(values) for name, values in task.space.items()}

    def run(self, trials: int, report: Callable[..., None]) -> None:
        while len(done := self.finished()) < trials:
            values = [trial.value or 0.0 for trial in done if trial.state.name == "COMPLETE"]
            told = f"best {self.task.metric} {max(values):.2f}" if values else ""

            def note(news: str, done: int = len(done), told: str = told) -> None:
                report(done, trials, "; ".join(filter(None, (news, told))))

            note("")
            self.study.sampler = _sampler(self.sampler, self.task.config.seed, len(done))
            self._try(self.study.ask(self.distributions), done, note)

    def finished(self) -> list[optuna.trial.FrozenTrial]:
        """Complete, pruned and failed trials; one that was killed counts for nothing."""
        return [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.is_finished()]

    def _try(self, trial: optuna.Trial, done: list[optuna.trial.FrozenTrial], note: Note) -> None:
        from optuna import TrialPruned
        from optuna.trial import TrialState

        for earlier in done:  # the same settings and seed give the same model
            if earlier.params == trial.params and earlier.state != TrialState.FAIL:
                trial.set_user_attr("repeats", earlier.number + 1)
                pruned = earlier.state == TrialState.PRUNED
                self.study.tell(trial, None if pruned else earlier.value, earlier.state)
                return
        try:
            value, epoch = self._measure(trial, note)
        except TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except Exception as error:
            if not _is_mishap(error):
                raise
            trial.set_user_attr("error", str(error) or type(error).__name__)
            self.study.tell(trial, state=TrialState.FAIL)
        else:
            if epoch is not None:
                trial.set_user_attr("epoch", epoch)
            self.study.tell(trial, value)
        gc.collect()  # a network in a cycle of references would keep its device's memory from the next

    def _measure(self, trial: optuna.Trial, note: Note) -> tuple[float, int | None]:
        """The metric on the examples held out, and the epoch that has it."""
        task = self.task
        model = task.method(config=task.config_of(trial.params))
        epoch = None
        with progress.listen(None):
            if not _is_network(task.method):
                model.fit(task.train)
            elif _goes_by_its_length(model.config):
                number = trial.number + 1
                model.fit(task.train, on_epoch=lambda entry: note(f"trial {number}, epoch {entry['epoch']}"))
                epoch = int(model.config.value("epochs"))
            else:
                seen = self._watched(model, trial, note)
                epoch = seen.index(max(seen)) + 1
                if getattr(model, "network_alone", True):
                    return max(seen), epoch
            name, k = parse_metric(task.metric)
            figures = model.evaluate(task.held_out, ks=(k,), metrics=(name,))
        return figures[task.metric], epoch

    def _watched(self, model: Method, trial: optuna.Trial, note: Note) -> list[float]:
        """Trains a network, perhaps not to its end; its metric after each epoch."""
        from optuna import TrialPruned

        task = self.task
        seen: list[float] = []

        def watch(entry: Mapping[str, Any]) -> None:
            seen.append(float(entry[task.metric]))
            note(f"trial {trial.number + 1}, epoch {len(seen)}: {seen[-1]:.2f}")
            trial.report(seen[-1], len(seen))
            if trial.should_prune():
                raise TrialPruned

        model.fit(task.train, validation=task.held_out, on_epoch=watch)
        return seen


def _is_network(method: type[Method]) -> bool:
    """Whether it trains in epochs that can be watched."""
    return "on_epoch" in keywords(method._fit)


def _goes_by_its_length(config: MethodConfig) -> bool:
    """Whether what a network does in an epoch depends on how many there are.

    Its learning rate rises or falls over the whole training, or it takes the mean of its weights from some
    share of it on. An earlier epoch is then no shorter training. So the network is trained to its end, in the
    trial as in the model of all examples, and measured there.
    """
    course = {name: config.value(f"training.{name}") for name in ("schedule", "warmup", "average")}
    return bool(course["schedule"] != "constant" or course["warmup"] > 0 or course["average"] == "swa")


def _searched(
    method: type[Method],
    data: Dataset,
    config: MethodConfig,
    fixed: Mapping[str, Any],
    given: Mapping[str, Values],
) -> dict[str, Values]:
    """The method's own search space, as far as nothing in it is fixed or given otherwise."""
    own = space_of(config, method.search_space)
    if data.X is not None:  # features are there, so none are made of texts
        own = {name: values for name, values in own.items() if not name.startswith("tfidf.")}
    other = space_of(config, given)
    for name in other:
        if name in fixed:
            raise ConfigError(f"{name} is both fixed and searched")
    return {name: values for name, values in own.items() if name not in fixed} | other


def _parts(data: Dataset, validation: float | Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """The examples to learn from and those to measure on."""
    if isinstance(validation, Dataset):
        if validation.Y is None or validation.Y.nnz == 0:
            raise DataError(f"{validation.source}: no example has a label, so nothing can be measured on it")
        return data, validation
    if data.Y is None or data.Y.nnz == 0:
        raise DataError(f"{data.source}: no example has a label, so there is nothing to learn")
    kept, held_out = held_out_rows(data, validation, seed, "tuning")
    return data[kept], data[held_out]


def _distribution(values: Values) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Range):
        return CategoricalDistribution([value_text(value) for value in values])
    if isinstance(values.low, int) and isinstance(values.high, int):
        return IntDistribution(values.low, values.high, log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _sampler(name: str, seed: int, done: int) -> optuna.samplers.BaseSampler:
    """Draws the settings of the trial after ``done`` others."""
    import numpy as np
    from optuna.samplers import RandomSampler, TPESampler

    own_seed = int(np.random.default_rng([seed, done]).integers(2**32))
    if name == "random":
        return RandomSampler(seed=own_seed)
    return TPESampler(seed=own_seed, constant_liar=False)  # trials that were killed say nothing


def _pruner(task: _Task, pruning: bool) -> optuna.pruners.BasePruner:
    from optuna.pruners import MedianPruner, NopPruner

    if not pruning or not _is_network(task.method):
        return NopPruner()
    return MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING, n_warmup_steps=EPOCHS_BEFORE_PRUNING)


def _is_mishap(error: Exception) -> bool:
    """Whether other settings may do better; torch, which may not be there, has its own error of memory."""
    return isinstance(error, (TreetopError, MemoryError)) or type(error).__name__ == "OutOfMemoryError"
