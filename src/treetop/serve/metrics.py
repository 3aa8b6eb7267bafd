"""`Metrics`: the metrics at /metrics, summed over all workers through files that prometheus-client maps."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder of prometheus-client's shared files."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters and histograms of one worker."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "treetop_requests", "Requests by route and status.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "treetop_request_seconds",
            "Seconds from request to response.",
            ("route",),
            buckets=SECONDS,
            registry=registry,
        )
        self.batch_texts = Histogram(
            "treetop_batch_texts", "Texts per prediction batch.", buckets=TEXTS, registry=registry
        )
        self.texts = Counter("treetop_texts", "Texts predicted.", registry=registry)
        self.turned_away = Counter(
            "treetop_turned_away", "Requests refused because the queue was full.", registry=registry
        )
        self.feedback = Counter("treetop_feedback", "Feedback entries stored.", registry=registry)
        self.waiting = Gauge(
            "treetop_waiting_texts",
            "Texts waiting for a prediction.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.loads = Counter(
            "treetop_model_loads",
            "Model loads, at startup and after changes.",
            ("model", "outcome"),
            registry=registry,
        )
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Counts one request. ``route`` is a route's pattern, never the path that a client sent."""
        children = self._children.get((route, status))
        if children is None:
            children = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._children[route, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def exposition(self) -> bytes:
        """The metrics of all workers in Prometheus' text format."""
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self.registry)
        combined = CollectorRegistry()
        multiprocess.MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
        return generate_latest(combined)
