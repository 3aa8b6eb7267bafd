"""`GuardedProtocol`: uvicorn's HTTP protocol with limits on header size and on time to send and receive."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32_768
"""Maximum size of a request line with its headers."""
READ_PATIENCE = 3
"""Time a client may leave a response unread, in multiples of the time limit for its headers."""


def _response(status: str, message: str) -> bytes:
    body = b'{"error": "%s"}' % message.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}retry-after: 1\r\nconnection: close\r\n\r\n".encode() + body


MALFORMED = _response("400 Bad Request", "malformed HTTP; send a valid HTTP/1.1 request")
TOO_LARGE = _response(
    "431 Request Header Fields Too Large",
    f"the request headers exceed {HEAD_BYTES:,} bytes; send fewer headers",
)
TOO_LATE = _response("408 Request Timeout", "the request did not arrive in time; send it again")
TOO_MANY = _response("503 Service Unavailable", "too many connections; try again later")


class GuardedProtocol(HttpToolsProtocol):
    """Disconnects clients that send too slowly, send endless headers, or do not read."""

    max_connections = 1000
    head_seconds = 10.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = self._heads = 0
        self._in_head, self._in_body = True, False
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.max_connections:
            self._refuse(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        self._cancel_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads = self._heads
        super().data_received(data)
        if self._in_body and self._deadline is None:
            self._expect_body()
        if self._in_head and heads == self._heads:  # else most bytes belong to complete requests
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._end_head()
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._cancel_deadline()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(MALFORMED)

    def pause_writing(self) -> None:
        """The client does not read, so its responses fill the memory."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(READ_PATIENCE * self.head_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_unread()
        super().resume_writing()

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _expect_head(self) -> None:
        self._end_head()
        self._in_head, self._head_bytes = True, 0
        self._deadline = self.loop.call_later(self.head_seconds, self._on_late_head)

    def _on_late_head(self) -> None:
        """Closes a connection without a request silently: browsers open some ahead of time."""
        if self._head_bytes:
            self._refuse(TOO_LATE)
        else:
            self.transport.close()

    def _end_head(self) -> None:
        self._in_head = False
        self._cancel_deadline()

    def _expect_body(self) -> None:
        self._deadline = self.loop.call_later(2 * self.head_seconds, self._on_late_body)

    def _on_late_body(self) -> None:
        """A route that reads the body has timed out before; any other has responded."""
        if self.pipeline:  # reading is paused until earlier requests are answered
            self._expect_body()
        elif self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(TOO_LATE)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, response: bytes) -> None:
        self._end_head()
        if not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()
