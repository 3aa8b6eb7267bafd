"""`supervise`: several workers on one port; one that dies is replaced, signals reach all of them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from ..errors import TreetopError
from .feedback import connect
from .metrics import SHARED_FOLDER
from .served_model import load_served
from .server import log_ready, run_worker, set_up_log
from .settings import ServeConfig

log = logging.getLogger("treetop.serve")
TICK_S = 0.2
PROVEN_S = 5.0
"""Until a worker has lived so long, one that dies ends all: it would only die again."""
PAUSE_S = 1.0
"""At least, between two starts in the same place."""


def supervise(folders: dict[str, Path], config: ServeConfig, sockets: list[socket.socket]) -> None:
    """Starts the workers and sees that they run, until SIGTERM or SIGINT ends them all."""
    for name, folder in folders.items():
        load_served(name, folder, config.at_prediction, verify=True)  # says what is wrong, once
    if config.feedback_file is not None:
        connect(Path(config.feedback_file)).close()
    with tempfile.TemporaryDirectory(prefix="treetop-metrics-") as figures:
        os.environ[SHARED_FOLDER] = figures
        _Crew(folders, config, sockets).run()


class _Crew:
    def __init__(self, folders: dict[str, Path], config: ServeConfig, sockets: list[socket.socket]) -> None:
        self._folders, self._config, self._sockets = folders, config, sockets
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[BaseProcess] = []
        self._started: list[float] = []
        self._ending = self._told = self._proven = self._failed = False

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, lambda *_: self._tell(signal.SIGHUP))
        for place in range(len(self._sockets)):
            self._workers.append(self._start(place))
            self._started.append(time.monotonic())
        log_ready(self._config, self._sockets[0], list(self._folders))
        while not self._ending or any(worker.is_alive() for worker in self._workers):
            if not self._ending:
                self._replace_dead()
            if (
                self._ending and not self._told
            ):  # told by a signal, which may have come while one was starting
                self._told = True
                for (
                    one
                ) in self._sockets:  # new connections are refused at once, not when the last worker is done
                    one.close()
                self._tell(signal.SIGTERM)
            time.sleep(TICK_S)
        codes = [worker.exitcode for worker in self._workers]
        # One that was told before it could listen to that has nothing to drain.
        if self._failed or any(code not in (0, -signal.SIGTERM) for code in codes):
            raise TreetopError(f"workers ended with the codes {', '.join(map(str, codes))}")

    def _start(self, place: int) -> BaseProcess:
        worker = self._context.Process(
            target=_work,
            args=(self._folders, self._config, self._sockets[place]),
            name=f"treetop-worker-{place}",
        )
        worker.start()
        return worker

    def _replace_dead(self) -> None:
        from prometheus_client import multiprocess

        now = time.monotonic()
        for place, worker in enumerate(self._workers):
            lived = now - self._started[place]
            if worker.is_alive():
                self._proven = self._proven or lived > PROVEN_S
            elif not self._proven:
                log.error("a worker ended with code %s right after its start: all end", worker.exitcode)
                self._ending = self._failed = True
                return
            elif lived > PAUSE_S:
                log.error("a worker ended with code %s: another takes its place", worker.exitcode)
                multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
                self._workers[place] = self._start(place)
                self._started[place] = now

    def _end(self, *_: object) -> None:
        self._ending = True

    def _tell(self, number: int) -> None:
        for worker in self._workers:
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, number)


def _work(folders: dict[str, Path], config: ServeConfig, listener: socket.socket) -> None:
    set_up_log()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent passes it on
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the worker can load
    threading.Thread(target=_end_with_parent, name="treetop-parent", daemon=True).start()
    run_worker(folders, config, listener, verify=False, announce=False)


def _end_with_parent() -> None:
    """A parent that was killed cannot tell its workers to end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
