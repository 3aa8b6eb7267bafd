"""Runs the server: sockets, one worker in this process, or several under `workers`."""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from ..errors import ConfigError, TreetopError
from .app import make_app
from .connection import GuardedProtocol
from .services import Services
from .settings import LOOPBACK, ServeConfig

log = logging.getLogger("treetop.serve")
BACKLOG = 2048


def run(folders: dict[str, Path], config: ServeConfig) -> None:
    """Serves until a signal ends it."""
    if config.workers > 1 and not hasattr(signal, "SIGHUP"):
        raise ConfigError("workers: several need a system with Unix signals; leave it at 1")
    set_up_log()
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is a model to load anew
    sockets = listen(config)
    if config.workers == 1:
        run_worker(folders, config, sockets[0], verify=True)
    else:
        from .workers import supervise

        supervise(folders, config, sockets)


def run_worker(
    folders: dict[str, Path],
    config: ServeConfig,
    listener: socket.socket,
    *,
    verify: bool,
    announce: bool = True,
) -> None:
    """One process: loads the models, answers, and drains when it is told to end."""
    services = Services(folders, config, verify=verify)

    def ready() -> None:
        if announce:
            log_ready(services.config, listener, list(folders))

    server = Server(make_app(services), services, ready)
    gc.collect()
    gc.freeze()  # what is there now stays: collections need not look at it again
    server.run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn's, ending with exit code 0 when a signal asked it to, and not ready while it drains.

    ``ready`` is called once requests are answered and signals heard.
    """

    def __init__(self, app: Any, services: Services, ready: Callable[[], None]) -> None:
        config = services.config
        limits = {"most_connections": config.max_connections, "head_seconds": config.timeout}
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
        self._services.draining = True
        super().handle_exit(sig, frame)


def listen(config: ServeConfig) -> list[socket.socket]:
    """A socket for each worker, all on one port: the system spreads connections over them.

    They belong to the process that started the workers, so that what waits at a worker that dies is answered
    by the one that takes its place. Where the system does not spread, the workers share one socket.
    """
    try:
        family = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise ConfigError(f"host: {config.host!r} is no address of this machine ({error.strerror})") from None
    spread = config.workers > 1 and sys.platform == "linux"
    try:
        first = _bound(family, config.host, config.port, spread=False)  # also finds out if the port is taken
        if not spread:
            first.listen(BACKLOG)
            return [first] * config.workers
        port = first.getsockname()[1]
        first.close()
        sockets = [_bound(family, config.host, port, spread=True) for _ in range(config.workers)]
        for one in sockets:
            one.listen(BACKLOG)
        return sockets
    except OSError as error:
        raise TreetopError(
            f"{config.host}:{config.port} cannot be listened on: {error.strerror or error}"
        ) from None


def _bound(family: int, host: str, port: int, *, spread: bool) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if spread:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((host, port))
    except BaseException:
        made.close()
        raise
    made.setblocking(False)
    return made


def log_ready(config: ServeConfig, listener: socket.socket, names: list[str]) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log.info("serving %s at http://%s:%d", ", ".join(names), shown, port)
    if config.host not in LOOPBACK and config.api_keys_file is None:
        log.warning("anybody who reaches %s can ask and give feedback: --api-keys FILE asks for a key", host)


def set_up_log() -> None:
    """One line a message on standard error, with the time."""
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
