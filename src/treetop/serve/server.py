"""The server of one process, and the sockets that it listens on."""

from __future__ import annotations

import _thread
import contextlib
import gc
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from ..errors import ConfigError, TreetopError
from .app import make_app
from .connection import GuardedProtocol
from .services import Services
from .settings import ServeConfig, is_loopback

log = logging.getLogger("treetop.serve")
BACKLOG = 2048
LAST_S = 5.0
"""Time to end after running requests have had theirs."""


def run_worker(
    folders: dict[str, Path],
    config: ServeConfig,
    listener: socket.socket,
    copies: Path | None = None,
    *,
    announce: bool = True,
) -> None:
    """One process: loads the models, serves them, and drains on SIGTERM or SIGINT."""
    services = Services(folders, config, copies)

    def ready() -> None:
        if announce:
            log_ready(services.config, listener, list(folders))

    server = Server(make_app(services), services, ready)
    gc.collect()
    gc.freeze()  # loaded objects stay: later collections skip them
    server.run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn's server, which exits with code 0 after a signal and is not ready while it drains.

    Calls ``ready`` once it accepts requests and handles signals.
    """

    def __init__(self, app: Any, services: Services, ready: Callable[[], None]) -> None:
        config = services.config
        limits = {"max_connections": config.max_connections, "head_seconds": config.timeout}
        super().__init__(
            uvicorn.Config(
                app,
                http=type("Protocol", (GuardedProtocol,), limits),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=config.log_requests,
                server_header=False,
                date_header=True,
                proxy_headers=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=math.ceil(config.drain),
                backlog=BACKLOG,
            )
        )
        self._services, self._ready = services, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        if not self._services.draining:
            _thread.start_new_thread(self._end_late, ())  # takes no lock that the interrupted code may hold
        self._services.draining = True
        super().handle_exit(sig, frame)

    def _end_late(self) -> None:
        """Ends the process if anything, such as a thread that waits for a broken disk, keeps it from ending.

        Feedback is acknowledged once it is on disk, so none is lost.
        """
        seconds = self._services.config.drain + LAST_S
        time.sleep(seconds)
        log.error("something still runs %g s after the signal to end; ending without it", seconds)
        os._exit(1)


def listen(config: ServeConfig) -> list[socket.socket]:
    """A socket per worker, all on one port: the system distributes connections over them.

    The parent process owns them, so that connections waiting for a worker that dies are answered by its
    replacement. On systems that do not distribute, the workers share one socket.
    """
    try:
        family = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise ConfigError(
            f"host: {config.host!r} is not an address of this machine ({error.strerror});"
            " use 127.0.0.1 or 0.0.0.0"
        ) from None
    distribute = config.workers > 1 and sys.platform == "linux"
    try:
        first = _bind(family, config.host, config.port, distribute=False)  # also fails if the port is taken
        if not distribute:
            first.listen(BACKLOG)
            return [first] * config.workers
        port = first.getsockname()[1]
        first.close()
        sockets = [_bind(family, config.host, port, distribute=True) for _ in range(config.workers)]
        for one in sockets:
            one.listen(BACKLOG)
        return sockets
    except OSError as error:
        raise TreetopError(
            f"cannot listen on {config.host}:{config.port} ({error.strerror or error});"
            " choose another --host or --port"
        ) from None


def _bind(family: int, host: str, port: int, *, distribute: bool) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if distribute:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
    except BaseException:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def log_ready(config: ServeConfig, listener: socket.socket, names: list[str]) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log.info("serving %s at http://%s:%d", ", ".join(names), shown, port)
    if not is_loopback(host) and config.api_keys_file is None:
        log.warning("anyone who can reach %s can use this server; require a key with --api-keys FILE", host)


def set_up_log() -> None:
    """Logs to standard error, one line per message, with the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (
        ("treetop.serve", logging.INFO),
        ("uvicorn.error", logging.ERROR),
        ("uvicorn.access", logging.INFO),
    ):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
