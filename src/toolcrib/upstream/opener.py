"""From a server's entry to an open link: variables resolved, environment made, transport chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from toolcrib.config.launching import ReadyLaunch, may_sign_in, ready_launch
from toolcrib.config.references import FromKeyring, no_keyring
from toolcrib.errors import ServerConnectionError
from toolcrib.model.peer import peer_id_of
from toolcrib.model.secret import revealed
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.telemetry.logs import mask_in_logs
from toolcrib.upstream.link import Link, LinkEars, TransportLimits
from toolcrib.upstream.masked_link import MaskedLink, masked_ears
from toolcrib.upstream.own_places import OwnPlaces
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.stdio import StdioLink
from toolcrib.upstream.watchdog import Watchdog

if TYPE_CHECKING:
    from toolcrib.signin.record import SignIn
    from toolcrib.signin.store import SignInStore
    from toolcrib.upstream.http_links import HttpLinks


class PeerRoutes(Protocol):
    """Reaches peers wherever they are now, by whichever transport."""

    async def open(self, server: str, peer_id: str, ears: LinkEars, limits: TransportLimits) -> Link:
        """A link to a trusted peer; raises ServerConnectionError that says when it was last seen, or PeerRefused."""


class LinkOpener:
    """Opens links for a pool; holds what they share: the HTTP stack and the watchdog.

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
        routes: PeerRoutes | None = None,
        sign_ins: Callable[[], SignInStore] | None = None,
        sign_in_alone: Callable[[ServerSpec], Awaitable[SignIn]] | None = None,
        covers_results: Callable[[], bool] = lambda: False,
        own_places: Callable[[], OwnPlaces] = OwnPlaces,
    ) -> None:
        self._env = env
        self._from_keyring = from_keyring
        self._logs_dir = logs_dir
        self._limits = limits
        self._user_agent = user_agent
        self._routes = routes
        self._sign_ins = sign_ins
        self._sign_in_alone = sign_in_alone
        self._covers_results = covers_results
        self._own_places = own_places
        self._watchdog = Watchdog()
        self._http: HttpLinks | None = None

    async def __call__(self, spec: ServerSpec, ears: LinkEars) -> Link:
        # In a thread: a keyring that is locked asks its owner first.
        ready = await asyncio.to_thread(ready_launch, spec, self._env, self._from_keyring)
        mask_in_logs(ready.masker)
        try:
            link = await self._open(spec, ready, masked_ears(ears, ready.masker))
        except Exception as error:  # noqa: BLE001 - whatever it is goes on, without the secrets in it
            raise ready.masker.error(error) from error.__cause__
        return MaskedLink(link, ready.masker, self._covers_results)

    async def _open(self, spec: ServerSpec, ready: ReadyLaunch, ears: LinkEars) -> Link:
        launch = ready.launch
        if isinstance(launch, StdioLaunch):
            return await self._start(spec, launch, ready, ears)
        if (peer_id := peer_id_of(launch.url)) is not None:
            return await self._reach(spec.name, peer_id, ears)
        http = await self._http_links()
        limits = self._limits()
        bearer = None
        if may_sign_in(spec, ready.given):
            bearer = await http.bearer(spec, launch, limits, ready.masker, self._sign_in_alone)
        return await http.open(spec.name, launch, revealed(ready.given), ears, limits, bearer)

    async def _reach(self, server: str, peer_id: str, ears: LinkEars) -> Link:
        if self._routes is None:
            raise ServerConnectionError(
                "peers are not reached from this process",
                server=server,
                hint="Set peers.enabled in your own configuration.",
            )
        return await self._routes.open(server, peer_id, ears, self._limits())

    async def close(self) -> None:
        """Free what is shared; every link must be closed before."""
        self._watchdog.close()
        if self._http is not None:
            await self._http.close()

    async def _start(self, spec: ServerSpec, launch: StdioLaunch, ready: ReadyLaunch, ears: LinkEars) -> Link:
        # One for each process: what one was given is unknown to the masker of another, and one may be another client's.
        ring = StderrRing(file=self._logs_dir / f"{spec.name}.log")
        ring.mask_with(ready.masker)
        limits = self._limits()
        argv, given, folder = [launch.command, *launch.args], revealed(ready.given), ready.folder
        open_link = partial(
            StdioLink.open,
            spec.name,
            ears=ears,
            stderr=ring,
            watchdog=self._watchdog,
            max_line_bytes=limits.max_line_bytes,
            max_result_bytes=limits.max_result_line_bytes,
        )
        if launch.sandbox is None:
            return await open_link(argv, given, folder)
        # Loaded now: few servers have one.
        code = await asyncio.to_thread(import_module, "toolcrib.upstream.sandboxed_link")
        link: Link = await code.open_sandboxed(
            open_link, spec.name, argv, launch.sandbox, given, folder, self._own_places()
        )
        return link

    async def _http_links(self) -> HttpLinks:
        # In a thread, as it takes a tenth of a second; whoever comes meanwhile waits for the same import.
        module = await asyncio.to_thread(import_module, "toolcrib.upstream.http_links")
        if self._http is None:
            self._http = module.HttpLinks(self._user_agent, self._sign_ins() if self._sign_ins is not None else None)
        return self._http
