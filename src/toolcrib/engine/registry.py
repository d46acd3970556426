"""The registries as the settings name them, wired as far as that needs no network."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib import import_module
from urllib.parse import urlsplit

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.limits.rate import RateLimiter
from toolcrib.registry.answers import Answers
from toolcrib.registry.hints import MirrorHints
from toolcrib.registry.lookup import RegistryLookup
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.registries import Registries

log = logging.getLogger(__name__)


def registry_addresses(settings: Settings) -> tuple[str, ...]:
    """The base addresses in order, each once; ConfigurationError for one that is no web address."""
    addresses = tuple(dict.fromkeys(url.strip().rstrip("/") for url in settings.registry_urls))
    problems = [
        Problem(
            "registry.urls", "expected http or https addresses without a user name in them", str(settings.file or "")
        )
        for address in addresses
        if not _is_usable(address)
    ]
    if problems:
        raise ConfigurationError(problems[:1])
    return addresses


def open_mirror(settings: Settings, paths: Paths) -> Mirror:
    """The copy on disk; nothing is written before it is used."""
    return Mirror(paths.registry_mirror, now=time.time, fresh_seconds=settings.registry_cache_ttl_seconds)


def live_registries(
    settings: Settings, answers: Answers, limiter: RateLimiter | None = None
) -> AbstractAsyncContextManager[Registries]:
    """The registries over the network. Loaded only here: asking needs the HTTP stack, looking into the copy does not."""
    live = import_module("toolcrib.engine.live_registry")
    opened: AbstractAsyncContextManager[Registries] = live.open_registries(settings, answers, limiter)
    return opened


def open_lookup(
    settings: Settings, mirror: Mirror, *, is_live: bool, limiter: RateLimiter | None = None
) -> RegistryLookup:
    """Looks in the mirror first, unless it is switched off or the live registries are asked for."""
    used = mirror if settings.registry_mirror and not is_live else None
    live = partial(live_registries, settings, mirror, limiter)
    return RegistryLookup(registry_addresses(settings), used, live, now=time.time)


def open_hints(settings: Settings, paths: Paths, run_aside: Callable[[Callable[[], None]], object]) -> MirrorHints:
    """Hints for searches that find nothing."""
    # Only the servers in the copy are looked at, never the answers that are kept for a time.
    mirror = Mirror(paths.registry_mirror, now=time.time, fresh_seconds=0)
    return MirrorHints(mirror, hint_registries(settings), now=time.monotonic, run_aside=run_aside)


def hint_registries(settings: Settings) -> tuple[str, ...]:
    """The registries whose copies give hints; none where the copies or the registries are switched off."""
    if not settings.registry_mirror:
        return ()
    try:
        return registry_addresses(settings)
    except ConfigurationError as error:
        log.warning("no hints from the registries: %s", error.message)
        return ()


def _is_usable(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    return is_web and parts.username is None and not parts.query and not parts.fragment
