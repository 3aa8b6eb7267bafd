"""`compare`: trains every variant with every seed, skipping finished runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..data import Dataset
from ..data.digest import data_digest
from ..data.frames import labelled
from ..errors import ConfigError, DataError
from ..metrics import DEFAULT_PROPENSITY
from ..metrics.documents import check_ks
from ..progress import step
from .processes import Task, measure_in_processes
from .results import Comparison
from .run_folder import RunFolder, run_name
from .runs import Conditions, Run, measure, threads_per_run
from .variants import Variant


def compare(
    variants: Sequence[Variant],
    train: Dataset | Any,
    test: Dataset | Any,
    *,
    seeds: int | Sequence[int] = 3,
    ks: Sequence[int] = (1, 3, 5),
    propensity: tuple[float, float] = DEFAULT_PROPENSITY,
    threads: int | None = None,
    device: str | None = None,
    jobs: int = 1,
    kept: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Trains every variant with every seed on ``train`` and evaluates it on ``test``.

    Args:
        seeds: the number of seeds, counted from 0, or the seeds themselves.
        ks: the ranks of the metrics.
        propensity: the constants of PSP@k.
        threads: threads per run; by default all cores, divided among parallel runs.
        device: the device of networks.
        jobs: parallel runs, each in its own process. With more than one, call this under
            ``if __name__ == "__main__"``, like all Python code that starts processes.
        kept: folder for finished runs. Runs found there are not repeated.
    """
    chosen = _with_distinct_names(variants)
    numbers = _seeds(seeds)
    train, test = labelled(train, "the training data must be"), labelled(test, "the test data must be")
    if jobs < 1:
        raise ConfigError(f"jobs must be at least 1, not {jobs}")
    check_ks(ks)
    if test.Y is None or not len(test):
        raise DataError(f"{test.source}: no labelled texts to evaluate on; give a labelled test set")
    conditions = Conditions(tuple(sorted(set(ks))), propensity, threads_per_run(threads, jobs), device, jobs)
    digest = data_digest(train, test)
    names = {
        (variant.name, seed): run_name(variant, seed, digest, conditions)
        for seed in numbers
        for variant in chosen
    }
    folder = RunFolder(None if kept is None else Path(kept))
    found = {name: run for name in set(names.values()) if (run := folder.find(name, len(test)))}
    todo: dict[str, Task] = {}  # two variants may share a run
    for seed in numbers:
        for variant in chosen:
            if names[variant.name, seed] not in found:
                todo.setdefault(names[variant.name, seed], (variant, seed))
    found |= _train(todo, train, test, conditions, folder)
    runs = {variant.name: tuple(found[names[variant.name, seed]] for seed in numbers) for variant in chosen}
    return Comparison(chosen, numbers, runs, train, test, conditions)


def _train(
    todo: dict[str, Task], train: Dataset, test: Dataset, conditions: Conditions, folder: RunFolder
) -> dict[str, Run]:
    """Trains, evaluates and saves the runs."""
    if not todo:
        return {}
    finished: dict[str, Run] = {}
    names = {(variant.name, seed): name for name, (variant, seed) in todo.items()}
    title = f"Comparing: {len(todo)} {'run' if len(todo) == 1 else 'runs'}"
    with step(title) as report, closing(_measured(list(todo.values()), train, test, conditions)) as runs:
        report(0, len(todo))
        for (variant, seed), run in runs:
            name = names[variant.name, seed]
            folder.save(name, run)
            finished[name] = run
            metric = f"P@{conditions.ks[0]}"
            report(
                len(finished), len(todo), f"{variant.name}, seed {seed}: {metric} {run.metrics[metric]:.2f}"
            )
    return finished


def _measured(
    tasks: list[Task], train: Dataset, test: Dataset, conditions: Conditions
) -> Generator[tuple[Task, Run], None, None]:
    if conditions.jobs > 1 and len(tasks) > 1:
        yield from measure_in_processes(tasks, train, test, conditions)
        return
    alone = dataclasses.replace(conditions, jobs=1)
    for variant, seed in tasks:
        with step(f"{variant.name}, seed {seed}"):
            run = measure(variant, seed, train, test, alone)
        yield (variant, seed), run


def _with_distinct_names(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    if not variants:
        raise ConfigError("there is nothing to compare: give at least one variant")
    names: set[str] = set()
    for variant in variants:
        if variant.name in names:
            raise ConfigError(f"two variants are called {variant.name!r}: give them different names")
        names.add(variant.name)
    return tuple(variants)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(dict.fromkeys(seeds))
    if not numbers or min(numbers) < 0:
        raise ConfigError(f"seeds must be a count of at least 1, or seeds of at least 0, not {seeds!r}")
    return numbers
