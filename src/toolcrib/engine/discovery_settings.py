"""The discovery service, made from the settings in force."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.discovery.cache import MCPCache
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.limits.rate import RateLimitConfig
from toolcrib.limits.retry import RetryPolicy
from toolcrib.model.server import ServerSpec
from toolcrib.storage.cache_files import FolderCache


def discovery_options(settings: Settings) -> DiscoveryOptions:
    """What the configuration says about readings; the gateway and the commands use the cache, the library asks for it."""
    return DiscoveryOptions(
        retry_policy=retry_policy(settings),
        rate_limit=RateLimitConfig(settings.discovery_rate, settings.discovery_burst),
        max_parallel_discoveries=settings.max_parallel_discoveries,
    )


def retry_policy(settings: Settings) -> RetryPolicy:
    return RetryPolicy(
        max_retries=settings.max_retries,
        initial_delay_ms=round(settings.retry_delay_seconds * 1000),
        max_delay_ms=round(settings.retry_max_delay_seconds * 1000),
        backoff_multiplier=settings.retry_multiplier,
        jitter_factor=settings.retry_jitter,
        max_trying_ms=round(settings.retry_within_seconds * 1000),
    )


def call_limit(settings: Settings, spec: ServerSpec | None = None) -> RateLimitConfig | None:
    """The limit on calls to one server: its entry's own, or that of all; at once as many as a second allows."""
    rate = settings.call_rate if spec is None or spec.call_rate is None else spec.call_rate
    return None if rate is None else RateLimitConfig(rate, max(1, math.ceil(rate)))


def open_cache(settings: Settings, paths: Paths, now: Callable[[], float] = time.time) -> MCPCache:
    """The service's cache in the cache folder; nothing is written by opening it."""
    return MCPCache(
        FolderCache(paths.cache_dir),
        now=now,
        tool_ttl_seconds=settings.tool_cache_ttl_seconds,
        registry_ttl_seconds=settings.registry_cache_ttl_seconds,
    )
