"""The bodies of requests: read within limits of size and time, then checked against `bodies`."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from .refusals import RefusalError, busy
from .settings import ServeConfig

Checked = TypeVar("Checked", bound=BaseModel)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
SMALL = 65_536
"""Bytes of a body that are always read: there are only so many connections."""
AT_ONCE = 32
"""Bodies of the largest size that may be half there: they are in memory."""
_SHOWN = 200
"""Characters of a client's own input that a sentence may repeat."""


class _Arriving:
    """Bytes of large bodies that are not all there yet, in this process; the event loop alone counts."""

    size = 0


_arriving = _Arriving()


async def json_body(request: Request, kind: type[Checked], config: ServeConfig, wrap: str = "") -> Checked:
    """The body as ``kind``. ``wrap`` names the field that a list at the top stands for."""
    raw = await read_body(request, config, JSON)
    if wrap:
        raw = b'{"%s":%s}' % (wrap.encode(), raw)
    try:
        body = kind.model_validate_json(raw)
    except ValidationError as error:
        raise _explained(error) from None
    if body.model_extra:
        raise RefusalError(422, f"there is no field {_short(next(iter(body.model_extra)))!r}")
    return body


async def form_body(request: Request, config: ServeConfig) -> dict[str, str]:
    """The fields of a form; of one that is repeated the last counts."""
    raw = await read_body(request, config, FORM)
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=100
        )
    except UnicodeDecodeError:
        raise RefusalError(400, "the form is not valid UTF-8") from None
    except ValueError:
        raise RefusalError(400, "the form has too many fields") from None
    return dict(pairs)


async def read_body(request: Request, config: ServeConfig, kind: str) -> bytes:
    """All bytes, if they are not too many, come in time, and are said to be of this kind.

    A page of another site can make a browser send plain text or a form unasked, but not JSON: so what changes
    anything takes nothing else.
    """
    headers = request.headers
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise RefusalError(415, f"the content type must be {kind}, not {_short(given) or 'missing'}")
    length = headers.get("content-length")
    if length is not None and (not length.isdecimal() or int(length) > config.max_body):
        raise too_large(config)
    try:
        if hasattr(asyncio, "timeout"):  # Python 3.11: no task of its own for each request
            async with asyncio.timeout(config.timeout):
                return await _all(request, config)
        return await asyncio.wait_for(_all(request, config), config.timeout)
    except asyncio.TimeoutError:
        raise RefusalError(
            408, f"the request did not arrive within {config.timeout:g} s", {"Connection": "close"}
        ) from None
    except ClientDisconnect:
        raise RefusalError(400, "the request ended too early") from None


async def _all(request: Request, config: ServeConfig) -> bytes:
    chunks, size, large = [], 0, 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > config.max_body:
                raise too_large(config)
            if size > SMALL:
                large += len(chunk)
                _arriving.size += len(chunk)
                if _arriving.size > AT_ONCE * config.max_body:
                    raise busy("too many large requests arrive at once: try again later", 1)
            chunks.append(chunk)
    finally:
        _arriving.size -= large
    return b"".join(chunks)


def too_large(config: ServeConfig) -> RefusalError:
    return RefusalError(413, f"the request is larger than {config.max_body:,} bytes", {"Connection": "close"})


def check_texts(texts: list[str], config: ServeConfig) -> None:
    """Refuses too many texts, and one that is too long."""
    if len(texts) > config.max_texts:
        raise RefusalError(422, f"texts: {len(texts):,} are too many, at most {config.max_texts:,}")
    for row, text in enumerate(texts):
        if len(text) > config.max_text:
            place = "text" if len(texts) == 1 else f"texts, number {row + 1}"
            raise RefusalError(
                422, f"{place}: {len(text):,} characters are too many, at most {config.max_text:,}"
            )


def check_k(k: int, config: ServeConfig, field: str = "k") -> None:
    """Refuses to look for too many labels."""
    if k > config.max_k:
        raise RefusalError(422, f"{field}: {_short(str(k))} labels are too many, at most {config.max_k:,}")


def _explained(error: ValidationError) -> RefusalError:
    """The first thing that is wrong, as a sentence; 400 where it is no JSON at all."""
    first: Any = error.errors(include_url=False, include_context=True, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"])
    if first["type"] == "json_invalid":
        return RefusalError(400, _short(f"the request is not valid JSON: {first['ctx']['error']}"))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return RefusalError(
        422, f"{_short(place) or 'the request'}: {_short(message[:1].lower() + message[1:])}{more}"
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
