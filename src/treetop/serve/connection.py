"""`GuardedProtocol`: uvicorn's connections, with limits on the size of a head and on the time to send."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32_768
PATIENCE = 3
"""A client may leave an answer unread for so many times as long as its head may take."""


def _answer(status: str, sentence: str) -> bytes:
    body = b'{"error": "%s"}' % sentence.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}retry-after: 1\r\nconnection: close\r\n\r\n".encode() + body


BROKEN = _answer("400 Bad Request", "this is not valid HTTP")
TOO_LARGE = _answer("431 Request Header Fields Too Large", "the head of the request is too large")
TOO_LATE = _answer("408 Request Timeout", "the request did not arrive in time")
TOO_MANY = _answer("503 Service Unavailable", "there are too many connections")


class GuardedProtocol(HttpToolsProtocol):
    """A client that sends byte by byte or a head without end, or does not read, is sent away."""

    most_connections = 1000
    head_seconds = 10.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = self._heads = 0
        self._in_head, self._in_body = True, False
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.most_connections:
            self._send_away(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self._is_read_again()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads = self._heads
        super().data_received(data)
        if self._in_body and self._late is None:
            self._expect_body()
        if self._in_head and heads == self._heads:  # else most of it belongs to requests that are complete
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._send_away(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._head_is_there()
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._is_there()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._send_away(BROKEN)

    def pause_writing(self) -> None:
        """The client does not read: what it asked for fills the memory."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(PATIENCE * self.head_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._is_read_again()
        super().resume_writing()

    def _is_read_again(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _expect_head(self) -> None:
        self._head_is_there()
        self._in_head, self._head_bytes = True, 0
        self._late = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        """A connection that was only opened, as browsers do ahead of time, is closed without a word."""
        if self._head_bytes:
            self._send_away(TOO_LATE)
        else:
            self.transport.close()

    def _head_is_there(self) -> None:
        self._in_head = False
        self._is_there()

    def _expect_body(self) -> None:
        self._late = self.loop.call_later(2 * self.head_seconds, self._body_is_late)

    def _body_is_late(self) -> None:
        """A route that wants it has given up before; any other has answered."""
        if self.pipeline:  # not read on because an earlier request is not answered yet
            self._expect_body()
        elif self.cycle.response_started:
            self.transport.close()
        else:
            self._send_away(TOO_LATE)

    def _is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _send_away(self, answer: bytes) -> None:
        self._head_is_there()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()
