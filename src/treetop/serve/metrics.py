"""`Meters`: what /metrics shows. Several workers add up through files that prometheus-client maps."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus-client is told where workers add up."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Meters:
    """Counters and histograms of one worker."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "treetop_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "treetop_request_seconds",
            "From request to answer.",
            ("route",),
            buckets=SECONDS,
            registry=registry,
        )
        self.batch_texts = Histogram(
            "treetop_batch_texts", "Texts predicted together.", buckets=TEXTS, registry=registry
        )
        self.texts = Counter("treetop_texts", "Texts predicted.", registry=registry)
        self.turned_away = Counter(
            "treetop_turned_away", "Requests refused because too many were waiting.", registry=registry
        )
        self.feedback = Counter("treetop_feedback", "Feedback kept.", registry=registry)
        self.waiting = Gauge(
            "treetop_waiting_texts",
            "Texts waiting for an answer now.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.loads = Counter(
            "treetop_model_loads",
            "Models loaded, at the start and on a change.",
            ("model", "outcome"),
            registry=registry,
        )
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, route: str, status: int, seconds: float) -> None:
        """One request. ``route`` is a pattern, never a path that a client makes up."""
        known = self._known.get((route, status))
        if known is None:
            known = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._known[route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def page(self) -> bytes:
        """All figures as Prometheus reads them, of all workers."""
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self.registry)
        everybody = CollectorRegistry()
        multiprocess.MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)
