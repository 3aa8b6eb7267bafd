"""`ServerMiddleware`: checks each request's host name and API key, adds security headers, counts requests."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import ConfigError
from .http_errors import INTERNAL_ERROR, HttpError, error_response
from .metrics import Metrics
from .settings import ServeConfig, is_loopback

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
NO_STORE = (b"cache-control", b"no-store")
"""For responses that may depend on a key or on feedback: no cache may store them."""
PUBLIC = ("/healthz", "/readyz", "/", "/docs", "/docs.css", "/openapi.json", "/favicon.ico")
"""Paths that need no key, like the page's files: they reveal nothing about a model."""
MIN_KEY_LENGTH = 16


def read_keys(path: Path) -> frozenset[bytes]:
    """Digests of the keys in a file, without empty lines and lines that begin with #."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the API keys ({error.strerror}); check --api-keys") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the API keys are not valid UTF-8; save the file as UTF-8") from None
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for number, key in enumerate(keys, 1):
        if len(key) < MIN_KEY_LENGTH:
            raise ConfigError(
                f"{path}: key {number} is shorter than {MIN_KEY_LENGTH} characters; use a longer one"
            )
    if not keys:
        raise ConfigError(f"{path}: no API key in the file; add one per line")
    return frozenset(_digest(key.encode()) for key in keys)


class ServerMiddleware:
    """Plain ASGI around the app, so that its error responses get the headers, too.

    ``direct`` endpoints are looked up by path and bypass the app's routing, which takes about as long as the
    prediction for a short text by a linear model.
    """

    def __init__(
        self, app: ASGIApp, config: ServeConfig, metrics: Metrics, direct: Mapping[str, Endpoint]
    ) -> None:
        self._app, self._metrics = app, metrics
        self._direct = direct
        self._hosts = config.host_names
        self._keys = None if config.api_keys_file is None else read_keys(Path(config.api_keys_file))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        added = [*HEADERS, NO_STORE] if scope["path"].startswith("/v1") else HEADERS

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        route = "other"
        if scope["method"] == "HEAD":  # uvicorn still sees HEAD and leaves out the body
            scope = {**scope, "method": "GET"}
        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send_with_headers)
            elif scope["method"] == "POST" and scope["path"] in self._direct:
                route = scope["path"]
                response = await _call(self._direct[route], Request(scope, receive))
                await response(scope, receive, send_with_headers)
            else:
                await self._app(scope, receive, send_with_headers)
                route = getattr(scope.get("route"), "path", route)
        finally:
            self._metrics.observe(route, status, time.perf_counter() - started)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = dict(scope["headers"])
        path = scope["path"]
        if not self._is_allowed(_host(headers.get(b"host", b""))):
            return error_response(421, "host name not allowed; see --allow-host", path=path)
        if self._keys is None or path in PUBLIC or path.startswith("/static/"):
            return None
        key = headers.get(b"x-api-key")
        if key is None:
            kind, _, rest = headers.get(b"authorization", b"").partition(b" ")
            key = rest.strip() if kind.lower() == b"bearer" else None
        if key is not None and _digest(key) in self._keys:
            return None
        message = (
            "an API key is required; send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
            if key is None
            else "unknown API key; ask the server's operator for a valid one"
        )
        return error_response(401, message, {"WWW-Authenticate": "Bearer"}, path)

    def _is_allowed(self, host: str) -> bool:
        """Whether requests may name this host. No other site can have a loopback address as its name."""
        return self._hosts is None or host in self._hosts or is_loopback(host)


async def _call(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except HttpError as error:
        return error_response(error.status, error.message, error.headers)
    except Exception:
        log.exception("%s failed", request.url.path)
        return error_response(500, INTERNAL_ERROR)


def _digest(key: bytes) -> bytes:
    """Keys are compared by digest, so that the time of a comparison reveals nothing about them."""
    return hashlib.sha256(key).digest()


def _host(value: bytes) -> str:
    """The host name without the port."""
    name = value.decode("latin-1").lower()
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]
