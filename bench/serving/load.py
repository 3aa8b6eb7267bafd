"""A lean open-loop load generator: requests are sent when they are due, whether or not others were answered.

Latency counts from the moment a request was due, so a stalled server is charged for everything that waited
in the meantime. Connections are kept alive and carry one request at a time; when none is free, another is
opened.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

TICK_S = 0.001


@dataclass
class Outcome:
    """What a run of requests got back."""

    requested: int
    seconds: float
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    """Requests whose connection failed or ended before a response."""
    latencies_ms: list[float] = field(default_factory=list)
    """Latencies of responses with status 200."""
    rejected_ms: list[float] = field(default_factory=list)
    """Latencies of responses with status 429."""
    connections: int = 0

    def percentile(self, share: float) -> float:
        return float(np.percentile(self.latencies_ms, share)) if self.latencies_ms else float("nan")

    @property
    def errors(self) -> int:
        """Requests without a good response; a rejection (429) is not an error."""
        return self.requested - self.statuses[200] - self.statuses[429]


def predict_request(host: str, port: int, text: str, k: int) -> bytes:
    """The bytes of one POST /v1/predict."""
    body = json.dumps({"text": text, "k": k}, ensure_ascii=False).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Connection(asyncio.Protocol):
    """One request at a time; only the status and the length in the head of a response are read."""

    def __init__(self, generator: _Generator) -> None:
        self._generator = generator
        self._buffer = b""
        self.due: float | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def send(self, request: bytes, due: float) -> None:
        self.due = due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end >= 0:
            start = buffer.find(b"content-length: ")
            length = int(buffer[start + 16 : buffer.find(b"\r", start)])
            if len(buffer) >= end + 4 + length:
                self._buffer = b""
                due, self.due = self.due, None
                if due is None:
                    raise RuntimeError(f"a response without a request: {buffer[:200]!r}")
                self._generator.answered(self, int(buffer[9:12]), due)
                return
        self._buffer = buffer

    def connection_lost(self, exc: Exception | None) -> None:
        self._generator.lost(self)


class _Generator:
    def __init__(self, host: str, port: int, requests: Sequence[bytes], most: int) -> None:
        self._host, self._port, self._requests, self._most = host, port, requests, most
        self._free: list[_Connection] = []
        self._open = 0
        self._queue: deque[tuple[bytes, float]] = deque()
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.outcome = Outcome(0, 0)
        self._left = 0
        self._done = asyncio.Event()

    async def run(self, rate: float, seconds: float, seed: int, warm: int) -> Outcome:
        """Sends requests at random times (a Poisson process) and waits for all responses."""
        self._open = warm
        await asyncio.gather(*(self._connect() for _ in range(warm)))
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.exponential(1 / rate, int(rate * seconds))).tolist()
        self.outcome.requested = self._left = len(times)
        began, sent = self._loop.time(), 0
        while sent < len(times):
            now = self._loop.time() - began
            while sent < len(times) and times[sent] <= now:
                self._send(self._requests[sent % len(self._requests)], began + times[sent])
                sent += 1
            await asyncio.sleep(TICK_S)
        self.outcome.seconds = self._loop.time() - began
        try:
            await asyncio.wait_for(self._done.wait(), 30)
        except asyncio.TimeoutError:
            self.outcome.broken += self._left
        self.outcome.connections = self._open
        for connection in self._free:
            connection.transport.close()
        return self.outcome

    def _send(self, request: bytes, due: float) -> None:
        while self._free:
            connection = self._free.pop()
            if not connection.transport.is_closing():
                connection.send(request, due)
                return
        self._queue.append((request, due))
        if self._open < self._most:
            self._open += 1
            task = self._loop.create_task(self._connect())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> None:
        try:
            _, connection = await self._loop.create_connection(
                lambda: _Connection(self), self._host, self._port
            )
        except OSError:
            self._open -= 1
            return
        self._next(connection)

    def _next(self, connection: _Connection) -> None:
        if self._queue:
            connection.send(*self._queue.popleft())
        else:
            self._free.append(connection)

    def answered(self, connection: _Connection, status: int, due: float) -> None:
        outcome = self.outcome
        outcome.statuses[status] += 1
        kept = {200: outcome.latencies_ms, 429: outcome.rejected_ms}.get(status)
        if kept is not None:
            kept.append(1000 * (self._loop.time() - due))
        self._count()
        if not connection.transport.is_closing():
            self._next(connection)

    def lost(self, connection: _Connection) -> None:
        self._open -= 1
        if connection in self._free:
            self._free.remove(connection)
        if connection.due is not None:
            self.outcome.broken += 1
            self._count()

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._done.set()


def run(
    host: str,
    port: int,
    requests: Sequence[bytes],
    rate: float,
    seconds: float,
    *,
    warm: int = 16,
    most: int = 900,
    seed: int = 0,
) -> Outcome:
    """``rate`` requests per second for ``seconds``, over at most ``most`` connections."""
    import uvloop

    async def work() -> Outcome:
        return await _Generator(host, port, requests, most).run(rate, seconds, seed, warm)

    loop = uvloop.new_event_loop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()
