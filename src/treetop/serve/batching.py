"""`Batcher`: one thread predicts for all requests to a model, in batches of the texts queued meanwhile."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ..errors import TreetopError
from .http_errors import HttpError, timed_out, too_busy
from .metrics import Metrics
from .rendering import Render
from .served_model import ServedModel

log = logging.getLogger("treetop.serve")
SMOOTHING = 0.1
"""Weight of the newest batch in the moving average of seconds per text."""


class Job:
    """The texts of one request."""

    __slots__ = ("future", "k", "loop", "render", "texts")

    def __init__(self, texts: list[str], k: int, render: Render, loop: asyncio.AbstractEventLoop) -> None:
        self.texts, self.k, self.render, self.loop = texts, k, render, loop
        self.future: asyncio.Future[bytes] = loop.create_future()


Outcome = tuple[Job, bytes | BaseException]


class Batcher:
    """Takes jobs on the event loop, predicts on its own thread, and hands the results back to the loop."""

    def __init__(
        self,
        current: Callable[[], ServedModel],
        metrics: Metrics,
        *,
        batch: int,
        wait_s: float,
        max_waiting: int,
        timeout_s: float,
    ) -> None:
        self._current, self._metrics = current, metrics
        self._batch, self._wait_s = batch, wait_s
        self._max_waiting, self._timeout_s = max_waiting, timeout_s
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._carried_over: Job | None = None
        """Taken from the queue, but too large for the batch being filled."""
        self.waiting = 0
        """Texts still waiting for a result; changed on the event loop only."""
        self.seconds_per_text = 0.0
        self._thread = threading.Thread(target=self._work, name="treetop-batches", daemon=True)
        self._thread.start()

    async def predict(self, texts: list[str], k: int, render: Render) -> bytes:
        """The rendered predictions for ``texts``."""
        self.check_room()
        loop = asyncio.get_running_loop()
        job = Job(texts, k, render, loop)
        self.waiting += len(texts)
        self._metrics.waiting.inc(len(texts))
        timeout = loop.call_later(self._timeout_s, _expire, job.future, self._timeout_s)
        self._queue.put(job)
        try:
            return await job.future
        finally:
            timeout.cancel()
            self.waiting -= len(texts)
            self._metrics.waiting.dec(len(texts))

    def check_room(self) -> None:
        """Raises 429 if too many texts wait, or would wait too long; an idle model takes any request."""
        expected_wait = self.waiting * self.seconds_per_text
        if self.waiting >= self._max_waiting or expected_wait > self._timeout_s:
            self._metrics.turned_away.inc()
            raise too_busy(f"too many texts are waiting ({self.waiting:,}); try again later", expected_wait)

    def close(self) -> None:
        """Ends the thread after the queued jobs."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            job = self._carried_over or self._queue.get()
            self._carried_over = None
            if job is None:
                return
            jobs = self._fill_batch(job)
            try:
                self._run_batch(jobs)
            except Exception:
                log.exception("a batch failed")

    def _fill_batch(self, first: Job) -> list[Job]:
        """``first``, other queued jobs, and those that arrive within the waiting time."""
        jobs, texts = [first], len(first.texts)
        until = time.monotonic() + self._wait_s
        while texts < self._batch:
            try:
                left = until - time.monotonic() if self._wait_s else 0
                job = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except Empty:
                break
            if job is None:  # closing: end after this batch
                self._queue.put(None)
                break
            if texts + len(job.texts) > self._batch:
                self._carried_over = job
                break
            jobs.append(job)
            texts += len(job.texts)
        return jobs

    def _run_batch(self, jobs: list[Job]) -> None:
        served = self._current()
        started = time.perf_counter()
        jobs = [job for job in jobs if not job.future.done()]  # some may have timed out
        texts = 0
        # The search depends on k. Jobs with different k are predicted separately, so that no result depends
        # on other requests.
        for k in {job.k for job in jobs}:
            same_k = [job for job in jobs if job.k == k]
            texts += sum(len(job.texts) for job in same_k)
            self._metrics.batch_texts.observe(sum(len(job.texts) for job in same_k))
            outcomes = self._predict(served, same_k, k)
            same_k[0].loop.call_soon_threadsafe(_deliver, outcomes)
        if texts:
            mean = (time.perf_counter() - started) / texts
            self.seconds_per_text += SMOOTHING * (mean - self.seconds_per_text)
            self._metrics.texts.inc(texts)

    def _predict(self, served: ServedModel, jobs: list[Job], k: int) -> list[Outcome]:
        try:
            predictions = served.predict([text for job in jobs for text in job.texts], k)
        except Exception as error:
            if len(jobs) > 1:  # one failing request must not fail the others
                return [outcome for job in jobs for outcome in self._predict(served, [job], k)]
            return [(jobs[0], _as_http_error(error))]
        outcomes: list[Outcome] = []
        first = 0
        for job in jobs:
            last = first + len(job.texts)
            try:
                outcomes.append((job, job.render(served, predictions, first, last)))
            except Exception as error:
                outcomes.append((job, error))
            first = last
        return outcomes


def _as_http_error(error: Exception) -> Exception:
    return HttpError(422, str(error)) if isinstance(error, TreetopError) else error


def _expire(future: asyncio.Future[bytes], seconds: float) -> None:
    if not future.done():
        future.set_exception(timed_out(seconds))


def _deliver(outcomes: list[Outcome]) -> None:
    for job, outcome in outcomes:
        if job.future.done():  # timed out, or the client disconnected
            continue
        if isinstance(outcome, BaseException):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)
