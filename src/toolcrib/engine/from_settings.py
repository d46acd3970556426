"""Parts of the engine as the settings ask for them."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.catalog.freshness import Freshness
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.discovery.cache import ConfiguredTools, MCPCache
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.engine.own_places import own_places
from toolcrib.limits.rate import RateLimitConfig
from toolcrib.limits.retry import RetryPolicy
from toolcrib.model.server import ServerSpec
from toolcrib.storage.audit_file import AuditFile
from toolcrib.storage.cache_files import FolderCache
from toolcrib.storage.result_files import ResultFiles
from toolcrib.upstream.connection import ConnectionPolicy
from toolcrib.upstream.link import TransportLimits
from toolcrib.upstream.opener import LinkOpener, PeerRoutes
from toolcrib.upstream.tool_list import ListLimits
from toolcrib.version import VERSION

if TYPE_CHECKING:
    from toolcrib.signin.record import SignIn
    from toolcrib.signin.store import SignInStore

log = logging.getLogger(__name__)


def connection_policy(settings: Settings) -> ConnectionPolicy:
    """How patient we are with servers, and how much they may tell."""
    return ConnectionPolicy(
        client_info={"name": settings.client_name, "version": VERSION},
        startup_seconds=settings.startup_timeout_seconds,
        connect_seconds=settings.connect_timeout_seconds,
        probe_seconds=settings.probe_timeout_seconds,
        call_seconds=settings.call_timeout_seconds,
        longest_call_seconds=settings.max_call_seconds,
        list_seconds=settings.list_timeout_seconds,
        idle_seconds=settings.idle_stop_seconds,
        max_concurrent=settings.max_calls_per_server,
        max_starts_per_minute=settings.max_starts_per_minute,
        limits=ListLimits(
            settings.max_tools_per_server,
            settings.max_definition_bytes,
            settings.max_nesting,
            settings.max_tool_list_bytes,
            settings.max_items_per_server,
        ),
        transport=transport_limits(settings),
    )


def transport_limits(settings: Settings) -> TransportLimits:
    """How large a message of a server may be, and how long connecting to one may take."""
    return TransportLimits(
        connect_seconds=settings.connect_timeout_seconds,
        max_line_bytes=settings.max_stdio_line_bytes,
        max_result_line_bytes=settings.max_stdio_result_bytes,
        max_body_bytes=settings.max_http_body_bytes,
    )


def link_opener(
    settings: Callable[[], Settings],
    paths: Paths,
    env: Mapping[str, str],
    routes: PeerRoutes | None = None,
    configuration: Callable[[], Iterable[Path]] | None = None,
) -> LinkOpener:
    """Our own transports, under the settings in force when a link is opened; `configuration` names the files of all of them."""

    async def sign_in_alone(spec: ServerSpec) -> SignIn:
        # Loaded now: hardly anybody signs in without a person.
        code = await asyncio.to_thread(import_module, "toolcrib.engine.sign_ins")
        record: SignIn = await code.SignIns(settings(), paths, env).sign_in(spec, None)
        return record

    return LinkOpener(
        env=env,
        logs_dir=paths.logs_dir,
        limits=lambda: transport_limits(settings()),
        user_agent=f"toolcrib/{VERSION}",
        from_keyring=OsKeyring().get,
        routes=routes,
        sign_ins=lambda: sign_in_files(paths),
        sign_in_alone=sign_in_alone,
        covers_results=lambda: settings().secrets_in_results == "mask",
        own_places=lambda: own_places(paths, env, configuration() if configuration else settings().watched_files),
    )


def sign_in_files(paths: Paths) -> SignInStore:
    """Where sign-ins are kept; loaded with the first server that is reached by address."""
    store: SignInStore = import_module("toolcrib.storage.sign_in_files").SignInFiles(paths.sign_ins_dir, OsKeyring())
    return store


def audit_file(settings: Settings, paths: Paths) -> AuditFile:
    """The log of all calls."""
    return AuditFile(
        paths.audit_log,
        max_bytes=settings.audit_max_bytes,
        files=settings.audit_files,
        on_trouble=lambda trouble: log.warning("audit log: %s", trouble),
    )


def result_files(settings: Settings, paths: Paths) -> ResultFiles:
    """Where large results are kept."""
    return ResultFiles(
        paths.results_dir,
        keep_seconds=settings.result_ttl_seconds,
        max_total_bytes=settings.max_stored_result_bytes,
        now=time.time,
        new_id=lambda: secrets.token_hex(16),
    )


def freshness(settings: Settings) -> Freshness:
    """When what is known of a server is too old, and when a broken one is tried again."""
    return Freshness(settings.tool_cache_ttl_seconds, settings.broken_retry_max_delay_seconds)


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


def caller_limit(settings: Settings) -> RateLimitConfig | None:
    """The limit on calls of one HTTP client; at once as many as a second allows."""
    rate = settings.http_caller_rate
    return None if rate is None else RateLimitConfig(rate, max(1, math.ceil(rate)))


def call_limit(settings: Settings, spec: ServerSpec | None = None) -> RateLimitConfig | None:
    """The limit on calls to one server: its entry's own, or that of all; at once as many as a second allows."""
    rate = settings.call_rate if spec is None or spec.call_rate is None else spec.call_rate
    return None if rate is None else RateLimitConfig(rate, max(1, math.ceil(rate)))


def open_cache(
    settings: Settings,
    paths: Paths,
    configured: ConfiguredTools | None = None,
    now: Callable[[], float] = time.time,
) -> MCPCache:
    """The service's cache in the cache folder; nothing is written by opening it."""
    return MCPCache(
        FolderCache(paths.cache_dir),
        now=now,
        tool_ttl_seconds=settings.tool_cache_ttl_seconds,
        registry_ttl_seconds=settings.registry_cache_ttl_seconds,
        configured=configured,
    )
