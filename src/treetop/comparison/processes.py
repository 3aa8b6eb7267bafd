"""Parallel runs in several processes.

A small network leaves most of a GPU idle, and a linear method leaves cores idle at times; parallel runs use
them. Each process has its own copy of the data and receives one run after another.
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


class Failure(NamedTuple):
    """The error of a run, as a process sends it."""

    message: str
    is_user_error: bool


class _Worker(NamedTuple):
    process: SpawnProcess
    task: Task


def measure_in_processes(
    tasks: Sequence[Task], train: Dataset, test: Dataset, conditions: Conditions
) -> Iterator[tuple[Task, Run]]:
    """Each run as it finishes. The first failure ends all processes."""
    context = multiprocessing.get_context("spawn")
    waiting = deque(tasks)
    busy: dict[Connection, _Worker] = {}
    processes: list[SpawnProcess] = []
    try:
        while waiting and len(processes) < conditions.jobs:
            ours, theirs = context.Pipe()
            process = context.Process(target=_run_tasks, args=(theirs, train, test, conditions), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            _send_task(ours, _Worker(process, waiting.popleft()), busy)
        while busy:
            for ready in cast("list[Connection]", wait(list(busy))):
                worker = busy.pop(ready)
                yield worker.task, _receive_run(ready, worker)
                if waiting:
                    _send_task(ready, _Worker(worker.process, waiting.popleft()), busy)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _send_task(connection: Connection, worker: _Worker, busy: dict[Connection, _Worker]) -> None:
    try:
        connection.send(worker.task)
    except OSError:
        raise _died(worker) from None
    busy[connection] = worker


def _receive_run(connection: Connection, worker: _Worker) -> Run:
    try:
        received: Run | Failure = connection.recv()
    except (EOFError, OSError):
        raise _died(worker) from None
    if isinstance(received, Failure):
        raise (UserError if received.is_user_error else TreetopError)(received.message)
    return received


def _died(worker: _Worker) -> TreetopError:
    worker.process.join(5)
    variant, seed = worker.task
    return TreetopError(
        f"{variant.name}, seed {seed}: its process ended with code {worker.process.exitcode} before the run"
        f" was"
        " finished; if memory ran out, use fewer jobs"
    )


def _run_tasks(connection: Connection, train: Dataset, test: Dataset, conditions: Conditions) -> None:
    """The loop of a process: one run after another, until it is terminated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and terminates this process
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            variant, seed = connection.recv()
            try:
                connection.send(measure(variant, seed, train, test, conditions))
            except TreetopError as error:
                connection.send(Failure(str(error), isinstance(error, UserError)))


def _exit_with_parent() -> None:
    """A parent that is killed cannot terminate this process."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
