"""`compare`: every variant with every seed, those that are not finished yet."""

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
from ..progress import step
from .outcome import Comparison
from .processes import Task, measure_in_processes
from .runs import Conditions, Kept, Run, measure, run_name, threads_of_one
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
    """Trains every variant with every seed on ``train`` and measures it on ``test``.

    Args:
        seeds: how many, counted from 0, or which.
        ks: the ranks of the metrics.
        propensity: constants of PSP@k.
        threads: of one run; by default all cores, shared by the runs that go on at a time.
        device: where networks run.
        jobs: runs at a time, each in a process of its own. Call this from under ``if __name__ == "__main__"``
            then, as with all Python that starts processes.
        kept: folder where finished runs are kept. What lies there is not run again.
    """
    chosen = _checked(variants)
    numbers = _seeds(seeds)
    train, test = labelled(train, "compare learns from"), labelled(test, "compare measures on")
    if jobs < 1:
        raise ConfigError(f"jobs must be at least 1, not {jobs}")
    if not ks or min(ks) < 1:
        raise ConfigError(f"ks must be one or more numbers of at least 1, not {tuple(ks)!r}")
    if test.Y is None or not len(test):
        raise DataError(f"{test.source}: there are no labelled texts to measure on")
    conditions = Conditions(tuple(sorted(set(ks))), propensity, threads_of_one(threads, jobs), device, jobs)
    digest = data_digest(train, test)
    names = {
        (variant.name, seed): run_name(variant, seed, digest, conditions)
        for seed in numbers
        for variant in chosen
    }
    store = Kept(None if kept is None else Path(kept))
    found = {name: run for name in set(names.values()) if (run := store.find(name, len(test)))}
    todo: dict[str, Task] = {}  # a run that two variants share is made once
    for seed in numbers:
        for variant in chosen:
            if names[variant.name, seed] not in found:
                todo.setdefault(names[variant.name, seed], (variant, seed))
    found |= _made(todo, train, test, conditions, store)
    runs = {variant.name: tuple(found[names[variant.name, seed]] for seed in numbers) for variant in chosen}
    return Comparison(chosen, numbers, runs, train, test, conditions)


def _made(
    todo: dict[str, Task], train: Dataset, test: Dataset, conditions: Conditions, store: Kept
) -> dict[str, Run]:
    """Makes and keeps the runs."""
    if not todo:
        return {}
    made: dict[str, Run] = {}
    names = {(variant.name, seed): name for name, (variant, seed) in todo.items()}
    title = f"Comparing: {len(todo)} {'run' if len(todo) == 1 else 'runs'}"
    with step(title) as report, closing(_outcomes(list(todo.values()), train, test, conditions)) as outcomes:
        report(0, len(todo))
        for (variant, seed), run in outcomes:
            name = names[variant.name, seed]
            store.keep(name, run)
            made[name] = run
            metric = f"P@{conditions.ks[0]}"
            report(len(made), len(todo), f"{variant.name}, seed {seed}: {metric} {run.metrics[metric]:.2f}")
    return made


def _outcomes(
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


def _checked(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    if not variants:
        raise ConfigError("there is nothing to compare: name at least one variant")
    names: set[str] = set()
    for variant in variants:
        if variant.name in names:
            raise ConfigError(f"two variants are called {variant.name!r}: give them different names")
        names.add(variant.name)
    return tuple(variants)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(dict.fromkeys(seeds))
    if not numbers or min(numbers) < 0:
        raise ConfigError(f"seeds must be at least one, or numbers of at least 0, not {seeds!r}")
    return numbers
