"""Runs in several processes at once.

A small network leaves most of a GPU idle, and a linear method some cores at times; runs beside each other use
them. Each process has its own copy of the data and is given one run after the other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple, cast

from ..data import Dataset
from ..errors import TreetopError, UserError
from .runs import Conditions, Run, measure
from .variants import Variant

Task = tuple[Variant, int]
"""A variant and a seed."""


class Failed(NamedTuple):
    """What a process sends in place of a run."""

    sentence: str
    is_users: bool


class _Worker(NamedTuple):
    process: SpawnProcess
    task: Task


def measure_in_processes(
    tasks: Sequence[Task], train: Dataset, test: Dataset, conditions: Conditions
) -> Iterator[tuple[Task, Run]]:
    """Every run as it is finished. The first that fails ends the others."""
    context = multiprocessing.get_context("spawn")
    waiting = deque(tasks)
    at_work: dict[Connection, _Worker] = {}
    processes: list[SpawnProcess] = []
    try:
        while waiting and len(processes) < conditions.jobs:
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, train, test, conditions), daemon=True)
            process.start()
            there.close()
            processes.append(process)
            _give(here, _Worker(process, waiting.popleft()), at_work)
        while at_work:
            for ready in cast("list[Connection]", wait(list(at_work))):
                worker = at_work.pop(ready)
                yield worker.task, _answer(ready, worker)
                if waiting:
                    _give(ready, _Worker(worker.process, waiting.popleft()), at_work)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _give(connection: Connection, worker: _Worker, at_work: dict[Connection, _Worker]) -> None:
    try:
        connection.send(worker.task)
    except OSError:
        raise _gone(worker) from None
    at_work[connection] = worker


def _answer(connection: Connection, worker: _Worker) -> Run:
    try:
        answer: Run | Failed = connection.recv()
    except (EOFError, OSError):
        raise _gone(worker) from None
    if isinstance(answer, Failed):
        raise (UserError if answer.is_users else TreetopError)(answer.sentence)
    return answer


def _gone(worker: _Worker) -> TreetopError:
    worker.process.join(5)
    variant, seed = worker.task
    return TreetopError(
        f"{variant.name}, seed {seed}: its process ended with code {worker.process.exitcode} before it was"
        " done; if memory ran out, run fewer at a time"
    )


def _work(connection: Connection, train: Dataset, test: Dataset, conditions: Conditions) -> None:
    """What a process does: one run after the other, until it is ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process takes it, and ends this one
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            variant, seed = connection.recv()
            try:
                connection.send(measure(variant, seed, train, test, conditions))
            except TreetopError as error:
                connection.send(Failed(str(error), isinstance(error, UserError)))


def _end_with_the_first() -> None:
    """A first process that is killed cannot end this one."""
    first = multiprocessing.parent_process()
    assert first is not None
    wait([first.sentinel])
    os._exit(1)
