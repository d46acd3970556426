"""What an engine has of the registries, loaded with its first use: most gateways never ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from toolcrib.clients.machine import is_there
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.registry_addresses import hint_registries
from toolcrib.limits.rate import RateLimiter

if TYPE_CHECKING:  # only names of types: what they stand for is loaded when it is used
    from toolcrib.engine.adapters.registry import ServiceRegistry
    from toolcrib.registry.hints import MirrorHints


class LateRegistry:
    """The registries as the discovery service asks them, and the hints for searches that find nothing."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths, limiter: RateLimiter) -> None:
        self._settings = settings
        self._paths = paths
        self._limiter = limiter
        self._service: ServiceRegistry | None = None
        self._hints: MirrorHints | None = None
        self._run_aside = partial(asyncio.get_running_loop().run_in_executor, None)
        self._hinting = hint_registries(settings())

    def configure(self, settings: Settings) -> None:
        """Take hints from the copies of other registries from now on."""
        self._hinting = hint_registries(settings)
        if self._hints is not None:
            self._hints.configure(self._hinting)

    def names(self, query: str) -> Sequence[str]:
        """Fulfils `RegistryHints`."""
        if not self._hinting:
            return ()
        if self._hints is None:
            if not is_there(self._paths.registry_mirror):
                return ()  # nobody has a copy yet, so that there is nothing to look into
            open_hints = import_module("toolcrib.engine.registry").open_hints
            self._hints = open_hints(self._hinting, self._paths, self._run_aside)
        return self._hints.names(query)

    @property
    def service(self) -> ServiceRegistry:
        if self._service is None:
            kind = import_module("toolcrib.engine.adapters.registry").ServiceRegistry
            self._service = kind(self._settings, self._paths, self._limiter)
        return self._service

    def close(self) -> None:
        for opened in (self._service, self._hints):
            if opened is not None:
                opened.close()
