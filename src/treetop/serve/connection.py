"""`GuardedProtocol`: uvicorn's HTTP protocol with limits on header size, time, and requests parsed ahead.

A connection's next request is parsed once the one before it is answered, and an answer waits until the client
has read enough of the earlier ones. Until then reading is paused: a connection holds at most two reads of the
event loop in memory. To stop there, the bytes are parsed in pieces that end where a request ends.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32_768
"""Maximum size of a request line with its headers."""
READ_PATIENCE = 3
"""Time a client may leave a response unread, in multiples of the time limit for its headers."""
_EMPTY_LINE = re.compile(rb"\n\r?\n")
"""Ends the headers, and a chunked body."""


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
        self._received, self._parsed = b"", 0
        """Bytes that arrived, and how many of them are parsed."""
        self._head_bytes = 0
        """Size so far of a head that is not complete."""
        self._in_body, self._body_left = False, 0
        """``_body_left``: bytes still to come of a body of known length."""
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.max_connections:
            self._refuse(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        self._cancel_unread()
        self._received, self._parsed = b"", 0
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received = self._received[self._parsed :] + data
        self._parsed = 0
        self._parse()

    def _parse(self) -> None:
        """Parses what has arrived, up to a request that must wait for the answer to an earlier one."""
        while self._parsed < len(self._received) and not self.transport.is_closing():
            if self._must_wait():
                self.flow.pause_reading()
                return
            end = self._end_of_piece()
            if not self._in_body:
                self._head_bytes += end - self._parsed
                if self._head_bytes > HEAD_BYTES:
                    self._refuse(TOO_LARGE)
                    return
            piece = memoryview(self._received)[self._parsed : end]
            self._parsed = end
            super().data_received(piece)  # type: ignore[arg-type]
            if self._head_bytes and not self._in_body and self._deadline is None:
                self._expect_head()  # only empty lines so far
        if self._in_body and self._deadline is None:
            self._expect_body()

    def _must_wait(self) -> bool:
        """Whether the next byte begins a request while an earlier one has no answer yet."""
        begins = not self._in_body and not self._head_bytes
        return begins and self.cycle is not None and not self.cycle.response_complete

    def _end_of_piece(self) -> int:
        """Where the next piece ends: with the headers, with the body, or with what has arrived."""
        if self._in_body and self._body_left:
            return min(self._parsed + self._body_left, len(self._received))
        end = _EMPTY_LINE.search(self._received, self._parsed)
        return len(self._received) if end is None else end.end()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._cancel_deadline()
        lengths = [value for name, value in self.headers if name == b"content-length"]
        self._in_body, self._body_left = True, int(lengths[0]) if lengths else 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_left = max(0, self._body_left - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._head_bytes = False, 0
        self._cancel_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._parse()

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
        self._cancel_deadline()
        self._deadline = self.loop.call_later(self.head_seconds, self._on_late_head)

    def _on_late_head(self) -> None:
        """Closes a connection without a request silently: browsers open some ahead of time."""
        if self._head_bytes:
            self._refuse(TOO_LATE)
        else:
            self.transport.close()

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
        self._cancel_deadline()
        if not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()
