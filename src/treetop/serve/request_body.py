"""Request bodies: read within limits on size and time, then validated against `schemas`."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from .http_errors import HttpError, too_busy
from .settings import ServeConfig

Checked = TypeVar("Checked", bound=BaseModel)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
SMALL = 65_536
"""Bytes of a body that are always accepted; the limit on connections bounds their sum."""
MAX_LARGE = 32
"""Bodies of the maximum size that may be incomplete, and so in memory, at the same time."""
MAX_FIELDS = 100
_QUOTED = 200
"""Maximum characters of a client's input that an error message repeats."""


class _Incomplete:
    """Bytes in memory of incomplete large bodies in this process; changed on the event loop only."""

    size = 0


_incomplete = _Incomplete()


async def json_body(request: Request, kind: type[Checked], config: ServeConfig, wrap: str = "") -> Checked:
    """The body as ``kind``. ``wrap`` names the field that takes the whole body, such as a list."""
    raw = await read_body(request, config, JSON)
    if wrap:
        raw = b'{"%s":%s}' % (wrap.encode(), raw)
    try:
        body = kind.model_validate_json(raw)
    except ValidationError as error:
        raise _as_http_error(error) from None
    if body.model_extra:
        raise HttpError(
            422, f"unknown field {_short(next(iter(body.model_extra)))!r}; /docs lists the fields"
        )
    return body


async def form_body(request: Request, config: ServeConfig) -> dict[str, str]:
    """The fields of a form; the last value of a repeated one."""
    raw = await read_body(request, config, FORM)
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MAX_FIELDS
        )
    except UnicodeDecodeError:
        raise HttpError(400, "the form is not valid UTF-8; encode it as UTF-8") from None
    except ValueError:
        raise HttpError(400, f"the form has over {MAX_FIELDS} fields; /docs lists those needed") from None
    return dict(pairs)


async def read_body(request: Request, config: ServeConfig, kind: str) -> bytes:
    """All bytes of the body, checked for size, time and content type.

    A page of another site can make a browser send plain text or a form without permission, but not JSON.
    Routes that change anything therefore accept only JSON.
    """
    headers = request.headers
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise HttpError(415, f"the Content-Type is {_short(given) or 'missing'}; it must be {kind}")
    length = headers.get("content-length")
    if length is not None and (not length.isdecimal() or int(length) > config.max_body):
        raise too_large(config)
    try:
        if hasattr(asyncio, "timeout"):  # Python 3.11: without a task for each request
            async with asyncio.timeout(config.timeout):
                return await _read_all(request, config)
        return await asyncio.wait_for(_read_all(request, config), config.timeout)
    except asyncio.TimeoutError:
        raise HttpError(
            408,
            f"the request did not arrive within {config.timeout:g} s; send it again",
            {"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise HttpError(400, "the request body is incomplete; send it again") from None


async def _read_all(request: Request, config: ServeConfig) -> bytes:
    chunks, size, large = [], 0, 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > config.max_body:
                raise too_large(config)
            if size > SMALL:
                large += len(chunk)
                _incomplete.size += len(chunk)
                if _incomplete.size > MAX_LARGE * config.max_body:
                    raise too_busy("too many large requests are arriving; try again later", 1)
            chunks.append(chunk)
    finally:
        _incomplete.size -= large
    return b"".join(chunks)


def too_large(config: ServeConfig) -> HttpError:
    message = f"the request is larger than {config.max_body:,} bytes; send fewer or shorter texts"
    return HttpError(413, message, {"Connection": "close"})


def check_texts(texts: list[str], config: ServeConfig) -> None:
    """Raises 422 for too many texts, or a text that is too long."""
    if len(texts) > config.max_texts:
        raise HttpError(
            422,
            f"too many texts: {len(texts):,} (limit {config.max_texts:,}); split them over several requests",
        )
    for row, text in enumerate(texts):
        if len(text) > config.max_text:
            which = "this text" if len(texts) == 1 else f"text {row + 1}"
            raise HttpError(
                422,
                f"{which} is too long: {len(text):,} characters (limit {config.max_text:,}); shorten it,"
                " or use its abstract",
            )


def check_request(texts: list[str], k: int, config: ServeConfig, field: str = "k") -> None:
    """All limits of a request for ``k`` labels of each text; ``field`` is what the route calls ``k``."""
    check_texts(texts, config)
    if k > config.max_k:
        raise HttpError(
            422, f"{field}: {_short(str(k))} is above the limit of {config.max_k:,}; ask for fewer labels"
        )
    if len(texts) * k > config.max_labels:
        raise HttpError(
            422,
            f"{field}: {k:,} labels for each of {len(texts):,} texts exceed the limit of"
            f" {config.max_labels:,}; lower {field} or send fewer texts",
        )


def _as_http_error(error: ValidationError) -> HttpError:
    """The first error as a sentence; status 400 for invalid JSON, else 422."""
    first: Any = error.errors(include_url=False, include_context=True, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"])
    if first["type"] == "json_invalid":
        return HttpError(400, _short(f"the request is not valid JSON: {first['ctx']['error']}"))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return HttpError(
        422, f"{_short(place) or 'the request'}: {_short(message[:1].lower() + message[1:])}{more}"
    )


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
