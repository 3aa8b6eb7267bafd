"""`HttpError`: a request that fails with a status and a one-sentence message."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from starlette.responses import Response

INTERNAL_ERROR = "internal error; see the server's log"


class HttpError(Exception):
    """Raised anywhere below a route; the client gets ``{"error": message}``."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


def too_busy(message: str, retry_after: float) -> HttpError:
    """429: the client may try again after ``retry_after`` seconds."""
    return HttpError(429, message, {"Retry-After": str(max(1, math.ceil(retry_after)))})


def timed_out(seconds: float) -> HttpError:
    """503: no response within the server's time limit."""
    message = f"no response within {seconds:g} s; try again later, or send less text"
    return HttpError(503, message, {"Retry-After": "1"})


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None, path: str = ""
) -> Response:
    """The message as JSON. Annif's clients read it from ``detail``."""
    body = {"error": message}
    if path.startswith("/v1/projects"):
        body |= {"detail": message}
    return Response(
        json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        status,
        dict(headers or {}),
        "application/json",
    )
