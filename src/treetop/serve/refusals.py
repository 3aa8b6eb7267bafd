"""`RefusalError`: why a request is not answered, as one sentence and a status."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from starlette.responses import Response

FAILED = "the server failed at this request; its log says more"


class RefusalError(Exception):
    """Raised anywhere below a route; the client gets ``{"error": sentence}``."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


def busy(sentence: str, seconds: float) -> RefusalError:
    """Too much to do: come back after ``seconds``."""
    return RefusalError(429, sentence, {"Retry-After": str(max(1, math.ceil(seconds)))})


def refused(status: int, sentence: str, headers: Mapping[str, str] | None = None, path: str = "") -> Response:
    """The answer. Annif's clients look for ``detail``."""
    body = {"error": sentence}
    if path.startswith("/v1/projects"):
        body |= {"detail": sentence}
    return Response(
        json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        status,
        dict(headers or {}),
        "application/json",
    )
