"""Everything a person can set, each scalar described once; docs, `--help` and tests read the same table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from toolcrib.config.setting_field import Scalar, choice, count, flag, scalar, seconds, size
from toolcrib.errors import Problem
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_rule import ToolRule

KIB = 1024
MIB = 1024 * KIB
OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io"

RulePrecedence = Literal["deny", "first", "last"]
ResultShape = Literal["auto", "envelope", "passthrough"]


@dataclass(frozen=True, slots=True)
class Source:
    """A foreign file to read servers from; without a path, wherever that client keeps its file."""

    type: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class SourceState:
    """What became of one source: whether its file was there and readable, and how many servers it gave."""

    type: str
    path: str
    state: Literal["found", "missing", "broken", "untrusted"]
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, read once and frozen; a reload makes a new one."""

    # What is behind the counter.
    enabled: bool = flag(
        "enabled", True, "Offer the configured servers; false serves the five tools with nothing behind them."
    )
    # Entries may hold secrets in plain text.
    servers: tuple[ServerSpec, ...] = field(default=(), repr=False)
    sources: tuple[Source, ...] = ()
    tool_rules: tuple[ToolRule, ...] = ()
    rule_precedence: RulePrecedence = choice(
        "rulePrecedence",
        ("deny", "first", "last"),
        "Which matching rule decides: a refusal always (deny), the first one, or the last one.",
    )

    # Caches.
    cache_enabled: bool = flag(
        "cache.enabled", True, "Keep server and tool lists; false reads a server again at each first need."
    )
    cache_ttl_seconds: float = seconds(
        "cache.ttl", 3600.0, "How long a list of servers or tools counts as fresh; 0 is never.", 0
    )
    tool_cache_ttl_seconds: float = seconds(
        "toolCacheTtl",
        86_400.0,
        "How long discovered tool definitions are kept before a server is read again; 0 is never.",
        0,
        alias_variable="CCOS_MCP_CACHE_TTL",
    )
    registry_cache_ttl_seconds: float = seconds(
        "registryCacheTtl", 3600.0, "How long an answer of the registry is kept; 0 is not at all.", 0
    )

    # Registries of servers.
    registry_urls: tuple[str, ...] = scalar(
        "registry.urls",
        "texts",
        (OFFICIAL_REGISTRY,),
        "Registries of MCP servers, the first one winning on the same name; none switches them off.",
    )
    registry_mirror: bool = flag(
        "registry.mirror",
        True,
        "Search the copy made by `toolcrib registry sync`, also where a tool search finds nothing.",
    )
    registry_rate: float = scalar(
        "registry.rate", "number", 2.0, "Requests to a registry per second.", unit="per second", minimum=0.001
    )
    # What is found out about tools.
    learn_shapes: bool = flag(
        "learnShapes",
        True,
        "Learn what tools return from the first results of real calls: names and types, never values.",
    )
    # Arguments a person chose for trial calls, by tool name or server:tool.
    introspection_inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    # Results.
    results: ResultShape = choice(
        "results",
        ("auto", "envelope", "passthrough"),
        "How results are handed on: only JSON in an envelope (auto), all of them (envelope), or none (passthrough).",
    )
    max_result_bytes: int = size(
        "maxResultBytes", 64 * KIB, "A larger text or structured result becomes a preview and a handle."
    )
    fit_clients: bool = flag(
        "fitClients",
        True,
        "Fit results to known AI clients: a handle before the client would cut, and all text where it is shown; "
        "false treats all clients alike.",
    )
    result_ttl_seconds: float = seconds(
        "resultTtl", 3600.0, "How long a large result can be read again through its handle."
    )
    max_stored_result_bytes: int = size("maxStoredResultBytes", 256 * MIB, "Room for all large results kept on disk.")

    # Meeting servers.
    client_name: str = scalar("clientName", "text", "toolcrib", "The name we give servers for ourselves.")

    # Waiting.
    call_timeout_seconds: float = seconds(
        "callTimeout", 300.0, "How long a tool may take to answer; progress it reports starts the time anew."
    )
    list_timeout_seconds: float = seconds(
        "listTimeout",
        30.0,
        "How long a server may take to list all its tools, from the first page to the last, or a registry to answer.",
    )
    connect_timeout_seconds: float = seconds(
        "connectTimeout", 10.0, "How long connecting to an HTTP server may take, and after that the handshake."
    )
    startup_timeout_seconds: float = seconds(
        "startupTimeout",
        60.0,
        "How long a server process may take to start; a first npx or uvx run downloads its package.",
    )
    probe_timeout_seconds: float = seconds(
        "probeTimeout", 3.0, "How long finding out a server's protocol revision may take."
    )
    idle_stop_seconds: float = seconds("idleStop", 300.0, "A server nobody called for this long is stopped.")
    shutdown_grace_seconds: float = seconds(
        "shutdownGrace", 2.0, "How long running calls may finish when the gateway stops.", 0
    )
    reload_interval_seconds: float = seconds(
        "reloadInterval", 1.0, "How often the configuration files are looked at for edits."
    )

    # How much at once.
    max_parallel_discoveries: int = count("maxParallelDiscoveries", 5, "Servers being read at the same time.")
    max_calls_per_server: int = count("maxCallsPerServer", 32, "Calls running on one server at the same time.")
    max_calls: int = count("maxCalls", 256, "Calls running on all servers at the same time.")
    max_starts_per_minute: int = count(
        "maxStartsPerMinute", 5, "Starts of one crashing server before it is left alone."
    )
    call_rate: float | None = scalar(
        "callRate",
        "number",
        None,
        "Calls allowed per server and second, the rest is refused with the time to wait; null is no limit.",
        unit="per second",
        minimum=0.001,
        optional=True,
    )
    discovery_rate: float = scalar(
        "discoveryRate",
        "number",
        10.0,
        "Readings allowed per server and second; one that comes too soon waits.",
        unit="per second",
        minimum=0.001,
    )
    discovery_burst: int = count("discoveryBurst", 20, "Readings of a server allowed at once after a quiet time.")

    # Trying again. Calls are not among it: one that is safe to repeat is repeated once, at once.
    max_retries: int = count(
        "maxRetries", 3, "Further attempts to read a server after a failure that may pass.", minimum=0
    )
    retry_delay_seconds: float = seconds("retryDelay", 1.0, "Wait before the first further attempt.")
    retry_multiplier: float = scalar(
        "retryMultiplier", "number", 2.0, "Each wait is this many times the one before.", minimum=1
    )
    retry_max_delay_seconds: float = seconds("retryMaxDelay", 30.0, "The longest wait between two attempts.")
    retry_within_seconds: float = seconds(
        "retryWithin", 30.0, "Attempts to read a server that took so long together are not followed by another one.", 0
    )
    broken_retry_max_delay_seconds: float = seconds(
        "brokenRetryMaxDelay",
        600.0,
        "The longest wait before a server that can't be read is tried anew in the background; the waits begin at 30 s.",
    )
    retry_jitter: float = scalar(
        "retryJitter", "number", 0.1, "Share by which a wait is varied at random, up or down.", minimum=0, maximum=1
    )

    # How much in all.
    max_servers: int = count("maxServers", 1000, "Servers taken from the configuration; the rest is reported.")
    max_tools_per_server: int = count(
        "maxToolsPerServer", 1000, "Entries of a server's list of tools that are looked at; the rest is reported."
    )
    max_tool_list_bytes: int = size(
        "maxToolListBytes", 4 * MIB, "Tool definitions taken from one server, in bytes; the rest is reported."
    )
    max_tools: int = count("maxTools", 10_000, "Enabled tools above which a warning is given.")
    max_indexed_tools: int = count("maxIndexedTools", 100_000, "Tools that can be searched.")
    max_definition_bytes: int = size("maxDefinitionBytes", 64 * KIB, "The largest tool definition taken from a server.")
    max_nesting: int = count("maxNesting", 64, "The deepest nesting of a schema or of arguments.", unit="levels")
    max_query_characters: int = count("maxQueryCharacters", 4096, "The longest search query.", unit="characters")
    max_stdio_line_bytes: int = size("maxStdioLineBytes", 4 * MIB, "The longest message on standard input and output.")
    max_stdio_result_bytes: int = size(
        "maxStdioResultBytes", 16 * MIB, "The longest message while a result is being relayed."
    )
    max_http_body_bytes: int = size("maxHttpBodyBytes", 10 * MIB, "The largest HTTP request or answer.")

    # The HTTP face.
    http_host: str = scalar("http.host", "text", "127.0.0.1", "Address the HTTP face listens on.")
    http_port: int = scalar(
        "http.port", "integer", 8665, "Port the HTTP face listens on; 0 takes a free one.", minimum=0, maximum=65_535
    )
    http_path: str = scalar("http.path", "text", "/mcp", "Path of the MCP endpoint.")
    http_max_connections: int = count(
        "http.maxConnections",
        512,
        "Connections to the HTTP face at the same time, no more than a third of the open files allowed; the rest gets 503.",
    )
    http_max_sessions: int = count(
        "http.maxSessions", 1000, "Sessions of HTTP clients at the same time; opening another one gets 503."
    )
    http_session_idle_seconds: float = seconds(
        "http.sessionIdle", 1800.0, "A session of an HTTP client without a request for this long is ended."
    )
    http_request_timeout_seconds: float = seconds(
        "http.requestTimeout",
        10.0,
        "How long the head of an HTTP request may take to arrive; its body may take six times as long.",
    )
    http_allowed_hosts: tuple[str, ...] = scalar(
        "http.allowedHosts", "texts", (), "Further Host headers to accept, besides our own address."
    )
    http_allowed_origins: tuple[str, ...] = scalar(
        "http.allowedOrigins", "texts", (), "Web origins that may call; none by default."
    )

    # The audit log.
    audit_max_bytes: int = size("audit.maxBytes", 10_000_000, "Size at which the audit log is rotated.")
    audit_files: int = count("audit.files", 5, "Audit log files kept, the current one included.", minimum=2)

    # How it was read.
    file: Path | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    source_states: tuple[SourceState, ...] = ()
    watched_files: tuple[Path, ...] = ()


def _scalars() -> tuple[Scalar, ...]:
    described = (entry for entry in fields(Settings) if entry.metadata)
    return tuple(Scalar(name=entry.name, default=entry.default, **entry.metadata) for entry in described)


SCALARS: tuple[Scalar, ...] = _scalars()
SCALARS_BY_KEY: Mapping[str, Scalar] = {described.key: described for described in SCALARS}
