"""The page with metrics, which is there only if a person wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolcrib.gateway import Gateway

if TYPE_CHECKING:  # loaded with its first use: it takes a tenth of a second
    from toolcrib.server.metrics import Metrics

METRICS_PATH = "/metrics"
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPage:
    """Counts from the start where `http.metrics` is set then, else from the first time that the page is asked for."""

    def __init__(self, gateway: Gateway, waiting: Callable[[], int]) -> None:
        self._gateway = gateway
        self._waiting = waiting
        self._metrics: Metrics | None = None
        self._listening = ExitStack()
        self._opening = asyncio.Lock()

    @property
    def route(self) -> Route:
        return Route(METRICS_PATH, self._answer, methods=["GET"])

    async def open(self) -> None:
        """Begin to count, if that is wanted."""
        async with self._opening:
            if self._metrics is None and self._gateway.settings.http_metrics:
                code = await asyncio.to_thread(import_module, "toolcrib.server.metrics")
                metrics: Metrics = code.Metrics(self._gateway.figures, self._waiting)
                self._listening.enter_context(self._gateway.figures.heard_by(metrics.note))
                self._metrics = metrics

    def close(self) -> None:
        self._listening.close()

    async def _answer(self, _: Request) -> Response:
        await self.open()
        if self._metrics is None or not self._gateway.settings.http_metrics:
            return JSONResponse({"error": "there are no metrics here; see http.metrics"}, 404)
        return Response(self._metrics.text(), headers={"content-type": _CONTENT_TYPE})
