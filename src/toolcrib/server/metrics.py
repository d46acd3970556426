"""What is counted of the engine, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.errors import ServerNotFound
from toolcrib.gateway import Figures
from toolcrib.version import VERSION

# Names come from configurations, and wrong ones from agents: both can be many, and each costs memory in two places.
MOST_SERVERS = 200
OTHERS = "other"
UNKNOWN = "unknown"
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """Counts calls from the moment it listens; everything else is looked up when somebody asks."""

    def __init__(self, figures: Figures, waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._servers: set[str] = set()
        self._calls = Counter(
            "toolcrib_calls",
            "Calls of tools that ended, by server and outcome.",
            ("server", "outcome"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "toolcrib_call_seconds",
            "How long calls of tools took, by server.",
            ("server",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(_Present(figures, waiting))
        ProcessCollector(registry=self._registry)

    def note(self, record: AuditRecord) -> None:
        """Count one call."""
        if not record.is_call:
            return
        server = UNKNOWN if record.outcome == ServerNotFound.code else self._bounded(record.server)
        self._calls.labels(server, record.outcome).inc()
        self._seconds.labels(server).observe(record.duration_ms / 1000)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def _bounded(self, server: str) -> str:
        if server not in self._servers and len(self._servers) >= MOST_SERVERS:
            return OTHERS
        self._servers.add(server)
        return server


class _Present(Collector):
    """How things are at this moment."""

    def __init__(self, figures: Figures, waiting: Callable[[], int]) -> None:
        self._figures = figures
        self._waiting = waiting

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(
            "toolcrib_calls_running", "Calls of tools that run now.", value=self._figures.running_calls()
        )
        yield GaugeMetricFamily(
            "toolcrib_calls_waiting",
            "Calls of HTTP clients that wait for the answer to a question.",
            value=self._waiting(),
        )
        servers = GaugeMetricFamily("toolcrib_servers", "Configured servers, by state.", labels=["state"])
        for state, number in sorted(self._figures.servers_by_state().items()):
            servers.add_metric([state], number)
        yield servers
        info = GaugeMetricFamily("toolcrib_info", "The version that runs.", labels=["version"])
        info.add_metric([VERSION], 1)
        yield info
