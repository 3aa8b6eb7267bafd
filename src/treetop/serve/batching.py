"""`Batcher`: one thread predicts for all requests of a model; what queues up meanwhile is the next batch."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import TreetopError
from .metrics import Meters
from .refusals import RefusalError, busy
from .served_model import ServedModel

log = logging.getLogger("treetop.serve")
Render = Callable[[ServedModel, Any, int, int], bytes]
"""Model, predictions, first row, row after the last → the answer's bytes."""
SMOOTHING = 0.1
"""Share of the newest batch in the running mean of seconds a text."""


class Job:
    """The texts of one request."""

    __slots__ = ("future", "k", "loop", "render", "texts")

    def __init__(self, texts: list[str], k: int, render: Render, loop: asyncio.AbstractEventLoop) -> None:
        self.texts, self.k, self.render, self.loop = texts, k, render, loop
        self.future: asyncio.Future[bytes] = loop.create_future()


class Batcher:
    """Takes jobs on the event loop, works on a thread of its own, and gives the answers back to the loop."""

    def __init__(
        self,
        current: Callable[[], ServedModel],
        meters: Meters,
        *,
        batch: int,
        wait_s: float,
        most_waiting: int,
        timeout_s: float,
    ) -> None:
        self._current, self._meters = current, meters
        self._batch, self._wait_s, self._most, self._timeout_s = batch, wait_s, most_waiting, timeout_s
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._left: Job | None = None
        """Taken from the queue, but too large for the batch that was being filled."""
        self.waiting = 0
        """Texts whose answer is not there yet; the event loop alone counts."""
        self.seconds_a_text = 0.0
        self._thread = threading.Thread(target=self._work, name="treetop-batches", daemon=True)
        self._thread.start()

    async def answer(self, texts: list[str], k: int, render: Render) -> bytes:
        """The rendered predictions of ``texts``."""
        self.check_room()
        loop = asyncio.get_running_loop()
        job = Job(texts, k, render, loop)
        self.waiting += len(texts)
        self._meters.waiting.inc(len(texts))
        late = loop.call_later(self._timeout_s, _expire, job.future, self._timeout_s)
        self._queue.put(job)
        try:
            return await job.future
        finally:
            late.cancel()
            self.waiting -= len(texts)
            self._meters.waiting.dec(len(texts))

    def check_room(self) -> None:
        """Refuses where too much is waiting, or would wait too long; an idle model takes any request."""
        ahead = self.waiting * self.seconds_a_text
        if self.waiting >= self._most or ahead > self._timeout_s:
            self._meters.turned_away.inc()
            raise busy(f"{self.waiting:,} texts are waiting: try again later", ahead)

    def close(self) -> None:
        """Ends the thread after what is queued."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            job = self._left or self._queue.get()
            self._left = None
            if job is None:
                return
            jobs = self._filled(job)
            try:
                self._answer(jobs)
            except Exception:
                log.exception("a batch failed")

    def _filled(self, first: Job) -> list[Job]:
        """A batch: ``first`` and what else is queued, or comes in while there is time to wait."""
        jobs, texts = [first], len(first.texts)
        until = time.monotonic() + self._wait_s
        while texts < self._batch:
            try:
                left = until - time.monotonic() if self._wait_s else 0
                job = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except Empty:
                break
            if job is None:  # told to end: after this batch
                self._queue.put(None)
                break
            if texts + len(job.texts) > self._batch:
                self._left = job
                break
            jobs.append(job)
            texts += len(job.texts)
        return jobs

    def _answer(self, jobs: list[Job]) -> None:
        served = self._current()
        began = time.perf_counter()
        jobs = [job for job in jobs if not job.future.done()]  # those that timed out are answered already
        texts = 0
        # Labels asked for change what a search does: only the same number is searched for at once, so that
        # no answer depends on what else is asked.
        for k in {job.k for job in jobs}:
            alike = [job for job in jobs if job.k == k]
            texts += sum(len(job.texts) for job in alike)
            self._meters.batch_texts.observe(sum(len(job.texts) for job in alike))
            outcomes = self._predicted(served, alike, k)
            alike[0].loop.call_soon_threadsafe(_deliver, outcomes)
        if texts:
            mean = (time.perf_counter() - began) / texts
            self.seconds_a_text += SMOOTHING * (mean - self.seconds_a_text)
            self._meters.texts.inc(texts)

    def _predicted(
        self, served: ServedModel, jobs: list[Job], k: int
    ) -> list[tuple[Job, bytes | BaseException]]:
        try:
            predictions = served.predict([text for job in jobs for text in job.texts], k)
        except Exception as error:
            if len(jobs) > 1:  # one request must not spoil the others
                return [outcome for job in jobs for outcome in self._predicted(served, [job], k)]
            return [(jobs[0], _as_refusal(error))]
        outcomes: list[tuple[Job, bytes | BaseException]] = []
        first = 0
        for job in jobs:
            last = first + len(job.texts)
            try:
                outcomes.append((job, job.render(served, predictions, first, last)))
            except Exception as error:
                outcomes.append((job, error))
            first = last
        return outcomes


def _as_refusal(error: Exception) -> Exception:
    return RefusalError(422, str(error)) if isinstance(error, TreetopError) else error


def _expire(future: asyncio.Future[bytes], seconds: float) -> None:
    if not future.done():
        future.set_exception(
            RefusalError(503, f"there was no answer within {seconds:g} s", {"Retry-After": "1"})
        )


def _deliver(outcomes: list[tuple[Job, bytes | BaseException]]) -> None:
    for job, outcome in outcomes:
        if job.future.done():  # timed out, or the client left
            continue
        if isinstance(outcome, BaseException):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)
