"""Runs the server: one worker in this process, or several on one port.

Several are supervised: those that die are replaced, and signals are forwarded.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import signal
import socket
import threading
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from ..errors import ConfigError, TreetopError
from .feedback import connect
from .metrics import SHARED_FOLDER
from .private_copies import PrivateCopies
from .served_model import load_served
from .server import LAST_S, listen, log_ready, run_worker, set_up_log
from .settings import ServeConfig

log = logging.getLogger("treetop.serve")
TICK_S = 0.2
STABLE_S = 5.0
"""If a worker dies before any has lived this long, the server ends: a replacement would die, too."""
RESTART_S = 1.0
"""Minimum time between two starts of the same worker."""


def run(folders: dict[str, Path], config: ServeConfig) -> None:
    """Serves until a signal stops it."""
    if config.workers > 1 and not hasattr(signal, "SIGHUP"):
        raise ConfigError("workers: several need Unix signals, which this system lacks; use --workers 1")
    set_up_log()
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until a model is loaded
    sockets = listen(config)
    config = config.bound_to(sockets[0].getsockname()[0])
    if config.workers == 1:
        run_worker(folders, config, sockets[0])
    else:
        _supervise(folders, config, sockets)


def _supervise(folders: dict[str, Path], config: ServeConfig, sockets: list[socket.socket]) -> None:
    """Runs several workers until SIGTERM or SIGINT."""
    with PrivateCopies() as copies:
        for name, folder in folders.items():
            load_served(name, folder, config.load_settings, copies)  # reports errors once
        if config.feedback_file is not None:
            connect(Path(config.feedback_file)).close()
        shared = copies.root / ".metrics"  # no model has such a name
        shared.mkdir()
        os.environ[SHARED_FOLDER] = str(shared)
        _Supervisor(folders, config, sockets, copies.root).run()


class _Supervisor:
    def __init__(
        self, folders: dict[str, Path], config: ServeConfig, sockets: list[socket.socket], copies: Path
    ) -> None:
        self._folders, self._config, self._sockets, self._copies = folders, config, sockets, copies
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[BaseProcess] = []
        self._started: list[float] = []
        self._ending = self._signalled = self._stable = self._failed = False
        self._kill_at = math.inf

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, lambda *_: self._send(signal.SIGHUP))
        for index in range(len(self._sockets)):
            self._workers.append(self._start(index))
            self._started.append(time.monotonic())
        log_ready(self._config, self._sockets[0], list(self._folders))
        while not self._ending or any(worker.is_alive() for worker in self._workers):
            if not self._ending:
                self._replace_dead()
            if self._ending and not self._signalled:  # not in the signal handler: a worker may be starting
                self._signalled = True
                for listener in self._sockets:  # refuse new connections now, not after the last worker
                    listener.close()
                self._send(signal.SIGTERM)
                self._kill_at = time.monotonic() + self._config.drain + 2 * LAST_S
            if time.monotonic() > self._kill_at:  # stopped, or in a call that no signal interrupts
                self._send(signal.SIGKILL)
            time.sleep(TICK_S)
        codes = [worker.exitcode for worker in self._workers]
        # A worker that is terminated before it handles signals has nothing to drain.
        if self._failed or any(code not in (0, -signal.SIGTERM) for code in codes):
            raise TreetopError(f"workers exited with codes {', '.join(map(str, codes))}; see the log above")

    def _start(self, index: int) -> BaseProcess:
        worker = self._context.Process(
            target=_work,
            args=(self._folders, self._config, self._sockets[index], self._copies),
            name=f"treetop-worker-{index}",
        )
        worker.start()
        return worker

    def _replace_dead(self) -> None:
        from prometheus_client import multiprocess

        now = time.monotonic()
        for index, worker in enumerate(self._workers):
            lived = now - self._started[index]
            if worker.is_alive():
                self._stable = self._stable or lived > STABLE_S
            elif not self._stable:
                log.error("a worker exited with code %s at startup; stopping the server", worker.exitcode)
                self._ending = self._failed = True
                return
            elif lived > RESTART_S:
                log.error("a worker exited with code %s; starting a replacement", worker.exitcode)
                multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
                self._workers[index] = self._start(index)
                self._started[index] = now

    def _end(self, *_: object) -> None:
        self._ending = True

    def _send(self, number: int) -> None:
        for worker in self._workers:
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, number)


def _work(folders: dict[str, Path], config: ServeConfig, listener: socket.socket, copies: Path) -> None:
    set_up_log()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent handles it
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the models are loaded
    threading.Thread(target=_end_with_parent, name="treetop-parent", daemon=True).start()
    run_worker(folders, config, listener, copies, announce=False)


def _end_with_parent() -> None:
    """Ends the worker when its parent is gone: a killed parent cannot signal it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
