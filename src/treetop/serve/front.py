"""`Front`: what every request passes first (host name, key) and what every answer carries (headers)."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import ConfigError
from .metrics import Meters
from .refusals import FAILED, RefusalError, refused
from .settings import ServeConfig

log = logging.getLogger("treetop.serve")
Endpoint = Callable[[Request], Awaitable[Response]]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
NOT_KEPT = (b"cache-control", b"no-store")
"""For answers that may depend on a key or on feedback: no cache on the way keeps them."""
OPEN = ("/healthz", "/readyz", "/", "/docs", "/docs.css", "/openapi.json", "/favicon.ico")
"""What needs no key, besides the page's files: nothing of a model is told there."""
SHORTEST_KEY = 16


def read_keys(path: Path) -> frozenset[bytes]:
    """Digests of the keys in a file; empty lines and lines that begin with # do not count."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"{path}: the API keys cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the API keys are not valid UTF-8") from None
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for number, key in enumerate(keys, 1):
        if len(key) < SHORTEST_KEY:
            raise ConfigError(f"{path}: key {number} is shorter than {SHORTEST_KEY} characters")
    if not keys:
        raise ConfigError(f"{path}: there is no API key in it")
    return frozenset(_digest(key.encode()) for key in keys)


class Front:
    """Plain ASGI around the app, so that also its errors have the headers.

    ``direct`` endpoints are found by their path alone and called without the app's routing, which takes about
    as much time as the prediction of a short text by a linear model.
    """

    def __init__(
        self, app: ASGIApp, config: ServeConfig, meters: Meters, direct: Mapping[str, Endpoint]
    ) -> None:
        self._app, self._meters = app, meters
        self._direct = direct
        self._hosts = config.host_names
        self._keys = None if config.api_keys_file is None else read_keys(Path(config.api_keys_file))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500
        more = [*HEADERS, NOT_KEPT] if scope["path"].startswith("/v1") else HEADERS

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        route = "other"
        if scope["method"] == "HEAD":  # uvicorn, which has the scope as it was, leaves out the body
            scope = {**scope, "method": "GET"}
        try:
            problem = self._problem(scope)
            if problem is not None:
                await problem(scope, receive, answer)
            elif scope["method"] == "POST" and scope["path"] in self._direct:
                route = scope["path"]
                response = await _answered(self._direct[route], Request(scope, receive))
                await response(scope, receive, answer)
            else:
                await self._app(scope, receive, answer)
                route = getattr(scope.get("route"), "path", route)
        finally:
            self._meters.observe(route, status, time.perf_counter() - began)

    def _problem(self, scope: Scope) -> Any:
        headers = dict(scope["headers"])
        path = scope["path"]
        if self._hosts is not None and _host(headers.get(b"host", b"")) not in self._hosts:
            return refused(421, "this server goes by another name: see --allow-host", path=path)
        if self._keys is None or path in OPEN or path.startswith("/static/"):
            return None
        key = headers.get(b"x-api-key")
        if key is None:
            kind, _, rest = headers.get(b"authorization", b"").partition(b" ")
            key = rest.strip() if kind.lower() == b"bearer" else None
        if key is not None and _digest(key) in self._keys:
            return None
        sentence = "an API key is needed" if key is None else "the API key is not known"
        return refused(401, sentence, {"WWW-Authenticate": "Bearer"}, path)


async def _answered(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except RefusalError as error:
        return refused(error.status, error.sentence, error.headers)
    except Exception:
        log.exception("%s failed", request.url.path)
        return refused(500, FAILED)


def _digest(key: bytes) -> bytes:
    """Keys are compared by digest: how long a comparison takes tells nothing about them."""
    return hashlib.sha256(key).digest()


def _host(value: bytes) -> str:
    """The name without the port."""
    name = value.decode("latin-1").lower()
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]
