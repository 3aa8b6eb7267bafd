"""`Services`: objects that the routes share, created and closed with the server."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import TreetopError
from .explanations import explained_predictions
from .feedback import Feedback, FeedbackStore
from .http_errors import HttpError, timed_out, too_busy
from .metrics import Metrics
from .models import Models
from .private_copies import PrivateCopies
from .served_model import ServedModel
from .settings import ServeConfig

MAX_EXPLAINING = 16
"""Requests for explanations that may wait or run."""


class Services:
    """Models, metrics, feedback store, and a separate thread for explanations, which are slow."""

    def __init__(self, folders: dict[str, Path], config: ServeConfig, copies: Path | None = None) -> None:
        """``copies``: the folder of copies that several workers share."""
        self.config = config
        self.metrics = Metrics()
        self._copies = PrivateCopies(copies)
        try:
            self.models = Models(folders, config, self.metrics, self._copies)
        except BaseException:
            self._copies.close()
            raise
        try:
            path = config.feedback_file
            self.feedback = None if path is None else FeedbackStore(Path(path))
        except BaseException:
            self.models.close()
            self._copies.close()
            raise
        self.draining = False
        self._explainer = ThreadPoolExecutor(1, "treetop-explain")
        self._explaining = 0

    async def explain(self, served: ServedModel, texts: list[str], k: int, threshold: float | None) -> bytes:
        """Predictions with explanations for the top labels, one request at a time."""
        if not served.model.can_explain:
            raise HttpError(
                422,
                f"explain: {served.model.name} cannot explain its scores; send the request without explain",
            )
        if self._explaining >= MAX_EXPLAINING:
            self.metrics.turned_away.inc()
            raise too_busy(f"too many explanations are waiting ({self._explaining}); try again later", 1)
        self._explaining += 1
        deadline = time.monotonic() + self.config.timeout
        try:
            work = asyncio.get_running_loop().run_in_executor(
                self._explainer,
                explained_predictions,
                served,
                texts,
                k,
                threshold,
                self.config.max_explained,
                deadline,
            )
            response = await asyncio.wait_for(work, self.config.timeout)
        except asyncio.TimeoutError:
            raise timed_out(self.config.timeout) from None
        except TreetopError as error:
            raise HttpError(422, str(error)) from None
        finally:
            self._explaining -= 1
        return json.dumps(response, ensure_ascii=False).encode("utf-8", "replace")

    async def store_feedback(self, items: list[Feedback]) -> list[int]:
        """Ids of the entries, once they are on disk."""
        if self.feedback is None:
            raise HttpError(503, "this server stores no feedback; start it with --feedback FILE")
        ids = await self.feedback.add(items)
        self.metrics.feedback.inc(len(ids))
        return ids

    def close(self) -> None:
        """Finishes queued predictions and feedback, and ends all threads."""
        self.models.close()
        self._explainer.shutdown(cancel_futures=True)
        if self.feedback is not None:
            self.feedback.close()
        self._copies.close()
