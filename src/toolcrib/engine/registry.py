"""The registries as the settings name them, wired as far as that needs no network."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib import import_module

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.registry_addresses import registry_addresses
from toolcrib.limits.rate import RateLimiter
from toolcrib.registry.answers import Answers
from toolcrib.registry.hints import MirrorHints
from toolcrib.registry.lookup import RegistryLookup
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.registries import Registries


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


def open_hints(
    registries: Sequence[str], paths: Paths, run_aside: Callable[[Callable[[], None]], object]
) -> MirrorHints:
    """Hints for searches that find nothing."""
    # Only the servers in the copy are looked at, never the answers that are kept for a time.
    mirror = Mirror(paths.registry_mirror, now=time.time, fresh_seconds=0)
    return MirrorHints(mirror, registries, now=time.monotonic, run_aside=run_aside)
