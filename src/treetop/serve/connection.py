"""`GuardedProtocol`: uvicorn's HTTP protocol with limits on header size, time, and requests parsed ahead.

A connection's next request is parsed once the one before it is answered, and an answer waits until the client
has read enough of the earlier ones. Until then reading is paused: a connection holds at most two reads of the
event loop in memory. To stop there, the bytes are parsed in pieces that end where a request ends. The
sizes of chunks are therefore read here, too; the parser alone decides whether they are valid.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 32_768
"""Maximum size of a request line with its headers, of a chunk's line with its size, and of all trailers."""
HEAD_LINES = 200
"""Maximum number of lines in a head: small headers take many times their size in memory."""
CHUNKS = 20_000
"""Maximum number of chunks of a body: small ones take much time."""
READ_PATIENCE = 3
"""Time a client may leave a response unread, in multiples of the time limit for its headers."""
_EMPTY_LINE = re.compile(rb"\n\r?\n")
"""Ends the headers, and a chunked body."""
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]+)[^\n]*\n")


def _response(status: str, message: str) -> bytes:
    body = b'{"error": "%s"}' % message.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}retry-after: 1\r\nconnection: close\r\n\r\n".encode() + body


MALFORMED = _response("400 Bad Request", "malformed HTTP; send a valid HTTP/1.1 request")
TOO_LARGE = _response(
    "431 Request Header Fields Too Large",
    f"the request has more than {HEAD_LINES} lines or {HEAD_BYTES:,} bytes of headers; send fewer",
)
TOO_MANY_CHUNKS = _response(
    "413 Content Too Large",
    f"the request has more than {CHUNKS:,} chunks or chunks with long extensions; send larger and plain ones",
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
        self._head_bytes = self._head_lines = 0
        """Size so far of a head that is not complete."""
        self._in_body, self._body_left, self._chunks = False, 0, 0
        """``_body_left``: bytes still to come of a body of known length, or of a chunk with its lines."""
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.max_connections:
            self._reject(TOO_MANY)

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
            end = self._end_of_chunk() if self._in_body else self._end_of_head()
            if (excess := self._excess(end)) is not None:
                self._reject(excess)
                return
            if end == self._parsed:  # the line with the size of a chunk, or the trailers, are incomplete
                break
            piece = memoryview(self._received)[self._parsed : end]
            self._parsed = end
            self._body_left = max(0, self._body_left - len(piece))
            super().data_received(piece)  # type: ignore[arg-type]
            if self._head_bytes and not self._in_body and self._deadline is None:
                self._expect_head()  # only empty lines so far
        if self._parsed == len(self._received):
            self._received, self._parsed = b"", 0
        if self._in_body and self._deadline is None:
            self._expect_body()

    def _must_wait(self) -> bool:
        """Whether the next byte begins a request while an earlier one has no answer yet."""
        begins = not self._in_body and not self._head_bytes
        return begins and self.cycle is not None and not self.cycle.response_complete

    def _end_of_head(self) -> int:
        """Where the headers end, or what has arrived of them."""
        end = _EMPTY_LINE.search(self._received, self._parsed)
        return len(self._received) if end is None else end.end()

    def _end_of_chunk(self) -> int:
        """Where the body, a chunk or the trailers end, or what has arrived; of lines only whole ones."""
        if not self._body_left:
            size = _CHUNK_SIZE.match(self._received, self._parsed)
            if size is None:
                return self._received.find(b"\n", self._parsed) + 1 or self._parsed
            if not int(size[1], 16):
                end = _EMPTY_LINE.search(self._received, size.end() - 1)
                return self._parsed if end is None else end.end()
            self._chunks += 1
            self._body_left = size.end() - self._parsed + int(size[1], 16) + len(b"\r\n")
        return min(self._parsed + self._body_left, len(self._received))

    def _excess(self, end: int) -> bytes | None:
        """Counts a piece of a head; the answer if that, or a chunked body, is too much."""
        if self._in_body:
            waiting = len(self._received) - self._parsed if end == self._parsed else 0
            return TOO_MANY_CHUNKS if waiting > HEAD_BYTES or self._chunks > CHUNKS else None
        self._head_bytes += end - self._parsed
        self._head_lines += self._received.count(b"\n", self._parsed, end)
        return TOO_LARGE if self._head_bytes > HEAD_BYTES or self._head_lines > HEAD_LINES else None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # else a trailer, which no route reads
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._cancel_deadline()
        super().on_headers_complete()
        lengths = [value for name, value in self.headers if name == b"content-length"]
        self._in_body, self._body_left, self._chunks = True, int(lengths[0]) if lengths else 0, 0

    def on_message_complete(self) -> None:
        self._in_body, self._head_bytes, self._head_lines = False, 0, 0
        self._cancel_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._parse()

    def send_400_response(self, msg: str) -> None:
        self._reject(MALFORMED)

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
            self._reject(TOO_LATE)
        else:
            self.transport.close()

    def _expect_body(self) -> None:
        self._deadline = self.loop.call_later(2 * self.head_seconds, self._on_late_body)

    def _on_late_body(self) -> None:
        """A route that reads the body has timed out before; any other has responded."""
        self._reject(TOO_LATE)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _reject(self, response: bytes) -> None:
        """Answers the request that is arriving, unless its answer has begun, and closes."""
        self._cancel_deadline()
        if self.transport.is_closing():
            return
        begun = False
        if self._in_body:  # its route is running
            begun, self.cycle.disconnected = self.cycle.response_started, True
        if not begun:
            self.transport.write(response)
        self.transport.close()
