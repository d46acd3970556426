"""From a server's entry to an open link: variables resolved, environment made, transport chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2

from toolcrib.config.launching import ReadyLaunch, ready_launch
from toolcrib.config.references import FromKeyring, no_keyring
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.telemetry.logs import mask_in_logs
from toolcrib.upstream.http_client import open_http_client, request_timeout
from toolcrib.upstream.link import Link, NotificationHandler, TransportLimits
from toolcrib.upstream.masked_link import MaskedLink, masked_notifications
from toolcrib.upstream.sse import LegacySseLink
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.stdio import StdioLink
from toolcrib.upstream.streamable_http import StreamableHttpLink
from toolcrib.upstream.watchdog import Watchdog


class LinkOpener:
    """Opens links for a pool; holds what they share: the HTTP client, the watchdog, and what servers wrote to stderr.

    A link keeps the `limits` that hold when it is opened.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        logs_dir: Path,
        limits: Callable[[], TransportLimits],
        user_agent: str,
        from_keyring: FromKeyring = no_keyring,
    ) -> None:
        self._env = env
        self._from_keyring = from_keyring
        self._logs_dir = logs_dir
        self._limits = limits
        self._user_agent = user_agent
        self._watchdog = Watchdog()
        self._client: httpx2.AsyncClient | None = None
        self._making_client = asyncio.Lock()
        self.stderr: dict[str, StderrRing] = {}

    async def __call__(self, spec: ServerSpec, on_notification: NotificationHandler) -> Link:
        # In a thread: a keyring that is locked asks its owner first.
        ready = await asyncio.to_thread(ready_launch, spec, self._env, self._from_keyring)
        mask_in_logs(ready.masker)
        try:
            link = await self._open(spec, ready, masked_notifications(on_notification, ready.masker))
        except Exception as error:  # noqa: BLE001 - whatever it is goes on, without the secrets in it
            raise ready.masker.error(error) from error.__cause__
        return MaskedLink(link, ready.masker)

    async def _open(self, spec: ServerSpec, ready: ReadyLaunch, on_notification: NotificationHandler) -> Link:
        launch = ready.launch
        if isinstance(launch, StdioLaunch):
            return await self._start(spec, launch, ready, on_notification)
        return await self._connect(spec, launch, ready.given, on_notification)

    async def close(self) -> None:
        """Free what is shared; every link must be closed before."""
        self._watchdog.close()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _start(
        self, spec: ServerSpec, launch: StdioLaunch, ready: ReadyLaunch, on_notification: NotificationHandler
    ) -> Link:
        ring = self.stderr.setdefault(spec.name, StderrRing(file=self._logs_dir / f"{spec.name}.log"))
        ring.mask_with(ready.masker)
        limits = self._limits()
        return await StdioLink.open(
            spec.name,
            [launch.command, *launch.args],
            ready.given,
            launch.cwd,
            on_notification=on_notification,
            stderr=ring,
            watchdog=self._watchdog,
            max_line_bytes=limits.max_line_bytes,
            max_result_bytes=limits.max_result_line_bytes,
        )

    async def _connect(
        self,
        spec: ServerSpec,
        launch: RemoteLaunch,
        headers: Mapping[str, str],
        on_notification: NotificationHandler,
    ) -> Link:
        limits = self._limits()
        client = await self._http_client(limits.connect_seconds)
        if launch.transport == "sse":
            return await LegacySseLink.open(
                spec.name,
                launch.url,
                headers,
                client=client,
                on_notification=on_notification,
                max_body_bytes=limits.max_body_bytes,
                connect_seconds=limits.connect_seconds,
            )
        return await StreamableHttpLink.open(
            spec.name,
            launch.url,
            headers,
            client=client,
            on_notification=on_notification,
            max_body_bytes=limits.max_body_bytes,
        )

    async def _http_client(self, connect_seconds: float) -> httpx2.AsyncClient:
        # Made on first need, in a thread: loading certificates takes tens of milliseconds.
        async with self._making_client:
            if self._client is None:
                self._client = await asyncio.to_thread(
                    open_http_client, user_agent=self._user_agent, connect_seconds=connect_seconds
                )
        self._client.timeout = request_timeout(connect_seconds)
        return self._client
