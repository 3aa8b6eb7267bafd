"""`tune`: searches the settings that do best on held-out training examples.

Every trial draws settings from the method's search space, trains on most examples and is measured on the
others. What a trial draws follows from the seed and the number of trials finished before it: a killed study
resumes with the settings that it would have tried next.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import progress
from ..data import Dataset
from ..data.frames import labelled
from ..errors import ConfigError, MissingExtraError, TreetopError
from ..machine import process_count
from ..methods import Method
from ..metrics import parse_metric
from ..search_space import Values
from .outcome import Trial, Tuning
from .sampling import SAMPLERS, new_distribution, new_pruner, new_sampler
from .task import TuningTask
from .training_length import has_fixed_length
from .trial_store import open_study

if TYPE_CHECKING:
    import optuna

Note = Callable[[str], None]
_STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}


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
    """Searches the settings of a method for the best ``metric`` on held-out examples.

    - ``settings`` are fixed; ``space`` replaces or adds dimensions of the method's search space.
    - ``validation``: the share of ``data`` to hold out (whole groups, if it has any), or other examples.
    - ``sampler``: ``"random"``, or ``"tpe"``, which learns from earlier trials.
    - ``pruning`` stops a network's trial that is worse than the median of the others at the same epoch; only
      networks that are measured after every epoch.
    - ``study``: a file to keep the trials in; those already in it count towards ``trials``.

    A trial that fails (out of memory, contradictory settings) is recorded, and the search continues.
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
    task = TuningTask.of(method, data, settings or {}, space or {}, validation, metric)
    pruner = new_pruner(pruning=pruning and task.method.trains_in_epochs)
    with (
        open_study(study, task.about, pruner) as opened_study,
        progress.step(f"Tuning {method}") as report,
    ):
        search = Search(task, opened_study, sampler)
        search.run(trials, report)
        found = tuple(search.outcome_of(trial) for trial in search.finished())
    tuning = Tuning(method, metric, task.fixed, task.space, found)
    if not tuning.ranked:
        errors = [trial.error for trial in found if trial.error is not None]
        raise ConfigError(f"no trial of {method} completed ({len(found)} tried); last error: {errors[-1]}")
    return tuning


class Search:
    """Runs trials, one after another, until enough are finished."""

    def __init__(self, task: TuningTask, study: optuna.Study, sampler: str) -> None:
        self.task = task
        self.study = study
        self.sampler = sampler
        self.distributions = {name: new_distribution(values) for name, values in task.space.items()}

    def run(self, trials: int, report: Callable[..., None]) -> None:
        while len(done := self.finished()) < trials:
            values = [trial.value or 0.0 for trial in done if trial.state.name == "COMPLETE"]
            best = f"best {self.task.metric} {max(values):.2f}" if values else ""

            def note(news: str, done: int = len(done), best: str = best) -> None:
                report(done, trials, "; ".join(filter(None, (news, best))))

            note("")
            self.study.sampler = new_sampler(self.sampler, self.task.config.seed, len(done))
            self._try(self.study.ask(self.distributions), done, note)

    def finished(self) -> list[optuna.trial.FrozenTrial]:
        """Complete, pruned and failed trials; killed ones do not count."""
        return [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.is_finished()]

    def outcome_of(self, trial: optuna.trial.FrozenTrial) -> Trial:
        """A finished trial of the study."""
        attributes = trial.user_attrs
        return Trial(
            number=trial.number + 1,
            state=_STATES[trial.state.name],
            value=trial.value,
            settings=self.task.settings_of(trial.params),
            epoch=attributes.get("epoch"),
            seconds=0.0 if trial.duration is None else round(trial.duration.total_seconds(), 3),
            repeats=attributes.get("repeats"),
            error=attributes.get("error"),
        )

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
            if not _may_be_avoided(error):
                raise
            trial.set_user_attr("error", str(error) or type(error).__name__)
            self.study.tell(trial, state=TrialState.FAIL)
        else:
            if epoch is not None:
                trial.set_user_attr("epoch", epoch)
            self.study.tell(trial, value)
        if self.task.config.has_setting("device"):
            gc.collect()  # a network in a reference cycle would hold device memory that the next one needs

    def _measure(self, trial: optuna.Trial, note: Note) -> tuple[float, int | None]:
        """The metric on the held-out examples, and the epoch at which it was reached."""
        task = self.task
        model = task.method(config=task.config_of(trial.params))
        epoch = None
        with progress.listen(None):
            if not task.method.trains_in_epochs:
                model.fit(task.train)
            elif has_fixed_length(model.config):
                number = trial.number + 1
                model.fit(task.train, on_epoch=lambda entry: note(f"trial {number}, epoch {entry['epoch']}"))
                epoch = int(model.config.value("epochs"))
            else:
                values = self._fit_watched(model, trial, note)
                epoch = values.index(max(values)) + 1
                if model.network_alone:
                    return max(values), epoch
            name, k = parse_metric(task.metric)
            metrics = model.evaluate(task.held_out, ks=(k,), metrics=(name,))
        return metrics[task.metric], epoch

    def _fit_watched(self, model: Method, trial: optuna.Trial, note: Note) -> list[float]:
        """Trains a network, unless its trial is pruned; the metric after each epoch."""
        from optuna import TrialPruned

        task = self.task
        values: list[float] = []

        def watch(entry: Mapping[str, Any]) -> None:
            values.append(float(entry[task.metric]))
            note(f"trial {trial.number + 1}, epoch {len(values)}: {values[-1]:.2f}")
            trial.report(values[-1], len(values))
            if trial.should_prune():
                raise TrialPruned

        model.fit(task.train, validation=task.held_out, on_epoch=watch)
        return values


def _may_be_avoided(error: Exception) -> bool:
    """Whether other settings may work; torch, an optional extra, has an out-of-memory error of its own."""
    return isinstance(error, (TreetopError, MemoryError)) or type(error).__name__ == "OutOfMemoryError"
