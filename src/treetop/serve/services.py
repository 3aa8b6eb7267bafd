"""`Services`: what the routes share, started and ended with the server."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import TreetopError
from .explaining import explained
from .feedback import Feedback, FeedbackStore
from .metrics import Meters
from .models import Models
from .refusals import RefusalError, busy
from .served_model import ServedModel
from .settings import ServeConfig

EXPLAINING = 16
"""Requests for explanations that may wait."""


class Services:
    """Models, meters, the feedback store, and a thread for explanations: they hold up no predictions."""

    def __init__(self, folders: dict[str, Path], config: ServeConfig, *, verify: bool = True) -> None:
        self.config = config
        self.meters = Meters()
        self.models = Models(folders, config, self.meters, verify=verify)
        try:
            path = config.feedback_file
            self.feedback = None if path is None else FeedbackStore(Path(path))
        except BaseException:
            self.models.close()
            raise
        self.draining = False
        self._explainer = ThreadPoolExecutor(1, "treetop-explain")
        self._explaining = 0

    async def explain(self, served: ServedModel, texts: list[str], k: int, threshold: float | None) -> bytes:
        """Predictions of which the first are explained, a request at a time."""
        if not served.model.can_explain:
            raise RefusalError(422, f"explain: {served.model.name} cannot explain its scores")
        if self._explaining >= EXPLAINING:
            self.meters.turned_away.inc()
            raise busy(f"{self._explaining} requests wait to be explained: try again later", 1)
        self._explaining += 1
        most, until = self.config.max_explained, time.monotonic() + self.config.timeout
        try:
            work = asyncio.get_running_loop().run_in_executor(
                self._explainer, explained, served, texts, k, threshold, most, until
            )
            answer = await asyncio.wait_for(work, self.config.timeout)
        except asyncio.TimeoutError:
            sentence = f"there was no answer within {self.config.timeout:g} s"
            raise RefusalError(503, sentence, {"Retry-After": "1"}) from None
        except TreetopError as error:
            raise RefusalError(422, str(error)) from None
        finally:
            self._explaining -= 1
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")

    async def keep(self, items: list[Feedback]) -> list[int]:
        """Ids of the feedback, once it is on disk."""
        if self.feedback is None:
            raise RefusalError(503, "this server keeps no feedback: it was started with --feedback none")
        ids = await self.feedback.add(items)
        self.meters.feedback.inc(len(ids))
        return ids

    def close(self) -> None:
        """Answers what is queued, writes what is to be written, and ends all threads."""
        self.models.close()
        self._explainer.shutdown(cancel_futures=True)
        if self.feedback is not None:
            self.feedback.close()
