"""Everything a person can set, each scalar described once; docs, `--help` and tests read the same table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from toolcrib.config.profiles import Profile
from toolcrib.config.setting_field import Scalar, choice, count, flag, scalar, seconds, size
from toolcrib.errors import Problem
from toolcrib.model.data_flow import ON_MIXES, OnMix
from toolcrib.model.effect import CONFIRMS, Confirm
from toolcrib.model.query import MAX_QUERY_CHARACTERS
from toolcrib.model.server import ON_CHANGES, SAMPLINGS, OnChange, Sampling, ServerSpec
from toolcrib.model.tool_rule import ToolRule

KIB = 1024
MIB = 1024 * KIB
OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io"

RulePrecedence = Literal["deny", "first", "last"]
ResultShape = Literal["auto", "envelope", "passthrough"]
SignInPlace = Literal["auto", "keyring", "file"]
Native = Literal["auto", "on", "off"]
OnAuditFailure = Literal["warn", "refuse"]
SecretsInResults = Literal["pass", "mask"]
PeerTrust = Literal["ask", "pinned", "tofu"]


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


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A file with servers, or with settings of ours, that came with a folder and that nobody has agreed to, as it is now."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, read once and frozen; a reload makes a new one."""

    # What is offered.
    enabled: bool = flag(
        "enabled", True, "Offer the configured servers. With false the five tools are served, but they find nothing."
    )
    # Entries may hold secrets in plain text.
    servers: tuple[ServerSpec, ...] = field(default=(), repr=False)
    sources: tuple[Source, ...] = ()
    tool_rules: tuple[ToolRule, ...] = ()
    rule_precedence: RulePrecedence = choice(
        "rulePrecedence",
        ("deny", "first", "last"),
        "Which rule decides where several match a tool: one that disables it (deny), the first one, or the last one.",
    )

    # What is trusted.
    on_change: OnChange = choice(
        "trust.onChange",
        ON_CHANGES,
        "What happens when a server changes a tool or offers a new one: you review it first, but for changes without meaning of "
        "your own servers (review), or it is used and you are warned (warn).",
    )
    scan_definitions: bool = flag(
        "trust.scan",
        True,
        "Look through what servers offer for hidden or hostile instructions, and keep away what has any until you reviewed it.",
    )
    scan_results: bool = flag(
        "trust.scanResults",
        False,
        "Look through what tools return, too: each result names its source, and one that looks hostile begins with a warning "
        "to the agent. Nothing is left out of it.",
    )
    on_mix: OnMix = choice(
        "trust.onMix",
        ON_MIXES,
        "What happens when a session has read private data and text from outside, and then calls a tool that can send data "
        "away: a warning in the log and the audit log (warn), a question to you before the call (confirm), or nothing (ignore).",
    )

    # Who may use what.
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    profile: str = scalar(
        "profile",
        "text",
        "",
        "The profile that holds for every client of this configuration, besides the one that its entry names.",
    )

    # Caches.
    cache_enabled: bool = flag(
        "cache.enabled",
        True,
        "Use the tool lists that are stored. With false every gateway reads a server again before it first needs it.",
    )
    cache_ttl_seconds: float = seconds(
        "cache.ttl",
        3600.0,
        "How long stored lists are used from memory before they are loaded from disk again. With 0 they are loaded about "
        "once a second. What other gateways change is taken over within a second in any case.",
        0,
    )
    tool_cache_ttl_seconds: float = seconds(
        "toolCacheTtl",
        86_400.0,
        "How long the tools that a server listed count as fresh. After that it is read again; with 0 it is read every time.",
        0,
        alias_variable="CCOS_MCP_CACHE_TTL",
    )
    registry_cache_ttl_seconds: float = seconds(
        "registryCacheTtl", 3600.0, "How long an answer of a registry is used again; with 0 it is not.", 0
    )

    # Registries of servers.
    registry_urls: tuple[str, ...] = scalar(
        "registry.urls",
        "texts",
        (OFFICIAL_REGISTRY,),
        "Registries of MCP servers. Where two list the same name, the first one counts. An empty list switches them off.",
    )
    registry_mirror: bool = flag(
        "registry.mirror",
        True,
        "Search the copy that `toolcrib registry sync` made, and suggest servers from it when a tool search finds nothing.",
    )
    registry_rate: float = scalar(
        "registry.rate",
        "number",
        2.0,
        "How many requests a registry gets per second at most.",
        unit="per second",
        minimum=0.001,
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
        "Which results are put into an envelope: only JSON (auto), all (envelope), or none (passthrough).",
    )
    max_result_bytes: int = size(
        "maxResultBytes",
        64 * KIB,
        "A text or structured result that is larger becomes a preview, with a handle to read the rest.",
    )
    fit_clients: bool = flag(
        "fitClients",
        True,
        "Fit results to what the AI client is known to show: a handle where it would cut the text, and the text in the "
        "field it shows. With false all clients are treated alike.",
    )
    result_ttl_seconds: float = seconds(
        "resultTtl", 3600.0, "How long a large result can be read again through its handle."
    )
    max_stored_result_bytes: int = size(
        "maxStoredResultBytes",
        256 * MIB,
        "How much disk space large results may take together; the oldest are removed first.",
    )

    # Meeting servers.
    client_name: str = scalar(
        "clientName", "text", "toolcrib", "The name by which Toolcrib introduces itself to servers."
    )

    stateful_servers: tuple[str, ...] = scalar(
        "statefulServers",
        "texts",
        (),
        "More servers that keep something for a session, by name or package; globs are fine. Each client session gets a "
        "process of its own, as with those that are known to.",
    )

    # Waiting.
    call_timeout_seconds: float = seconds(
        "callTimeout", 300.0, "How long a tool may take to answer. Each progress message from it starts the time anew."
    )
    max_call_seconds: float = seconds(
        "maxCallTime",
        3600.0,
        "How long a call may take in all, however much progress the server reports. A longer `callTimeout` counts instead.",
    )
    question_seconds: float = seconds(
        "questions.timeout",
        600.0,
        "How long a question that a server asks in the middle of a call may wait for its answer. The time of the call stands "
        "meanwhile.",
    )
    sampling: Sampling = choice(
        "sampling",
        SAMPLINGS,
        "Whether servers may use your client's model: after asking you (ask), without asking (allow), or not at all (deny).",
    )
    confirm: Confirm = choice(
        "confirm",
        CONFIRMS,
        "Which calls a person confirms first: none (never), those that destroy something (destructive), or all that change "
        "something (writes). The hints of its server and its name say what a tool does.",
    )
    read_only_tool: bool = flag(
        "readOnlyTool",
        False,
        "Offer execute_read_only besides the five tools: it runs only tools that change nothing, for clients that allow tools "
        "by name.",
    )
    question_rounds: int = count(
        "questions.rounds",
        10,
        "How often a server may come back with further questions in one call, for clients that can't do the rounds themselves.",
    )
    max_parked_calls: int = count(
        "questions.maxParked",
        64,
        "How many calls may wait at once for answers of clients of the newest revision, at most 8 of one client.",
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
        "probeTimeout", 3.0, "How long it may take to find out which protocol revision a server speaks."
    )
    idle_stop_seconds: float = seconds(
        "idleStop", 300.0, "A server that was not called for this long is stopped; the next call starts it again."
    )
    shutdown_grace_seconds: float = seconds(
        "shutdownGrace", 2.0, "How long running calls may go on when the gateway stops.", 0
    )
    reload_interval_seconds: float = seconds(
        "reloadInterval", 1.0, "How long to wait between two looks at the configuration files for edits."
    )

    # How much at once.
    max_parallel_discoveries: int = count("maxParallelDiscoveries", 5, "How many servers are read at the same time.")
    max_calls_per_server: int = count(
        "maxCallsPerServer", 32, "How many calls run on one server at the same time; further ones wait."
    )
    max_calls: int = count(
        "maxCalls", 256, "How many calls run on all servers at the same time; further ones are refused."
    )
    max_starts_per_minute: int = count(
        "maxStartsPerMinute",
        5,
        "How often a server that keeps crashing is started within a minute; further calls are refused.",
    )
    call_rate: float | None = scalar(
        "callRate",
        "number",
        None,
        "How many calls a server gets per second. Further ones are refused and told how long to wait; requests about tasks, "
        "and to hear of resources, wait their turn at the same rate, apart from calls. null is no limit.",
        unit="per second",
        minimum=0.001,
        optional=True,
    )
    discovery_rate: float = scalar(
        "discoveryRate",
        "number",
        10.0,
        "How often a server may be read per second; a reading that comes too soon waits.",
        unit="per second",
        minimum=0.001,
    )
    discovery_burst: int = count(
        "discoveryBurst", 20, "How many readings of a server may follow each other at once after a quiet time."
    )

    # Trying again. Calls are not among it: one that is safe to repeat is repeated once, at once.
    max_retries: int = count(
        "maxRetries", 3, "How often reading a server is tried again after a failure that may pass.", minimum=0
    )
    retry_delay_seconds: float = seconds(
        "retryDelay", 1.0, "How long to wait before reading a server is tried again for the first time."
    )
    retry_multiplier: float = scalar(
        "retryMultiplier", "number", 2.0, "Each further wait is this many times as long as the one before.", minimum=1
    )
    retry_max_delay_seconds: float = seconds("retryMaxDelay", 30.0, "The longest wait between two attempts.")
    retry_within_seconds: float = seconds(
        "retryWithin", 30.0, "Reading a server is not tried again once the attempts have taken this long together.", 0
    )
    broken_retry_max_delay_seconds: float = seconds(
        "brokenRetryMaxDelay",
        600.0,
        "The longest wait before a server that can't be read is tried again in the background; the first wait is 30 s.",
    )
    retry_jitter: float = scalar(
        "retryJitter",
        "number",
        0.1,
        "By which share a wait is made longer or shorter at random: 0.1 is up to 10 %.",
        minimum=0,
        maximum=1,
    )

    # How much in all.
    max_servers: int = count(
        "maxServers", 1000, "How many servers are taken from the configuration; the rest is left out and reported."
    )
    max_tools_per_server: int = count(
        "maxToolsPerServer",
        1000,
        "How many entries of a server's tool list are looked at; the rest is left out and reported.",
    )
    native: Native = choice(
        "native",
        ("auto", "on", "off"),
        "Offer prompts and resources to AI clients as such, too: where there are some (auto), always (on), or only through the "
        "five tools (off).",
    )
    max_items_per_server: int = count(
        "maxItemsPerServer",
        1000,
        "How many prompts, how many resources and how many templates of a server are looked at; the rest is left out and "
        "reported.",
    )
    max_tool_list_bytes: int = size(
        "maxToolListBytes",
        4 * MIB,
        "How many bytes of tool definitions are taken from one server; the rest is left out and reported.",
    )
    max_tools: int = count("maxTools", 10_000, "With more enabled tools than this a warning is logged.")
    max_indexed_tools: int = count(
        "maxIndexedTools", 100_000, "How many tools can be searched; further ones are not found."
    )
    max_definition_bytes: int = size(
        "maxDefinitionBytes",
        64 * KIB,
        "The largest tool definition that is taken from a server; a larger one is left out and reported.",
    )
    max_nesting: int = count(
        "maxNesting", 64, "How deep tool definitions and arguments of calls may be nested.", unit="levels"
    )
    max_query_characters: int = count(
        "maxQueryCharacters",
        MAX_QUERY_CHARACTERS,
        "The longest search query that is accepted.",
        unit="characters",
        maximum=MAX_QUERY_CHARACTERS,
    )
    max_stdio_line_bytes: int = size(
        "maxStdioLineBytes", 4 * MIB, "The longest message taken on a pipe, from a client or from a server process."
    )
    max_stdio_result_bytes: int = size(
        "maxStdioResultBytes",
        16 * MIB,
        "The longest message taken from a server process while the result of a call is awaited.",
    )
    max_http_body_bytes: int = size(
        "maxHttpBodyBytes", 10 * MIB, "The largest HTTP request taken from a client, and answer taken from a server."
    )

    # The HTTP face.
    http_host: str = scalar(
        "http.host", "text", "127.0.0.1", "The address on which `toolcrib serve --http` listens.", reloads=False
    )
    http_port: int = scalar(
        "http.port",
        "integer",
        8665,
        "The port on which it listens; 0 takes a free one.",
        minimum=0,
        maximum=65_535,
        reloads=False,
    )
    http_path: str = scalar("http.path", "text", "/mcp", "The path of the MCP endpoint.", reloads=False)
    http_max_connections: int = count(
        "http.maxConnections",
        512,
        "How many HTTP connections are served at the same time, at most a third of the files the process may open; "
        "further ones get 503.",
    )
    http_max_sessions: int = count(
        "http.maxSessions",
        1000,
        "How many sessions HTTP clients may have at the same time; opening another one gets 503.",
        reloads=False,
    )
    http_session_idle_seconds: float = seconds(
        "http.sessionIdle",
        1800.0,
        "A session of an HTTP client that sent no request for this long is ended.",
        reloads=False,
    )
    http_event_bytes: int = size(
        "http.eventBytes",
        16 * MIB,
        "How many bytes of messages to HTTP clients of older protocol revisions are kept, so that they can take up a stream "
        "that broke. The oldest messages go first.",
    )
    http_event_ttl_seconds: float = seconds(
        "http.eventTtl", 300.0, "How long these messages are kept after the answer to a request."
    )
    http_request_timeout_seconds: float = seconds(
        "http.requestTimeout",
        10.0,
        "How long the head of an HTTP request may take to arrive; its body may take six times as long.",
    )
    http_allowed_hosts: tuple[str, ...] = scalar(
        "http.allowedHosts",
        "texts",
        (),
        "Host names that HTTP clients may ask for, besides the address it listens on and those of this machine.",
        reloads=False,
    )
    http_allowed_origins: tuple[str, ...] = scalar(
        "http.allowedOrigins",
        "texts",
        (),
        "More web origins whose pages may call; by default only the gateway's own.",
        reloads=False,
    )

    http_caller_rate: float | None = scalar(
        "http.callerRate",
        "number",
        None,
        "How many calls of tools one HTTP client may make per second. Further ones are refused and say how long to wait. null "
        "is no limit.",
        unit="per second",
        minimum=0.001,
        optional=True,
    )
    http_caller_calls: int = count(
        "http.callerCalls", 64, "How many calls of one HTTP client run at the same time; further ones are refused."
    )
    http_sse: bool = flag(
        "http.sse", True, "Serve clients that know only the oldest HTTP transport of MCP, at `/sse` and `/messages`."
    )
    http_metrics: bool = flag(
        "http.metrics", False, "Offer what is counted of calls and servers at `/metrics`, for Prometheus."
    )
    http_auth_issuer: str = scalar(
        "http.auth.issuer",
        "text",
        "",
        "The issuer whose access tokens HTTP clients have to show, instead of the token in the state folder.",
        reloads=False,
    )
    http_auth_audience: str = scalar(
        "http.auth.audience",
        "text",
        "",
        "For whom these tokens have to be made; the address of the MCP endpoint if none is given.",
        reloads=False,
    )
    http_auth_scopes: tuple[str, ...] = scalar(
        "http.auth.scopes", "texts", (), "Scopes that these tokens have to have, all of them.", reloads=False
    )
    http_auth_jwks_url: str = scalar(
        "http.auth.jwksUrl",
        "text",
        "",
        "Where the keys of the issuer are; where its metadata says if none is given.",
        reloads=False,
    )
    http_auth_jwks_ttl_seconds: float = seconds(
        "http.auth.jwksTtl", 600.0, "How long these keys are used before they are fetched again.", reloads=False
    )

    # The engine that all clients of a person share.
    engine_enabled: bool = flag(
        "engine.enabled",
        True,
        "Let clients on standard input and output share one engine; with false (or `engine: false`) each has a gateway of "
        "its own. Every client notices at its next start.",
    )
    engine_http: bool = flag(
        "engine.http", False, "Let the shared engine serve HTTP too, as `toolcrib serve --http` does."
    )
    engine_idle_stop_seconds: float = seconds(
        "engine.idleStop",
        600.0,
        "A shared engine that had no client for this long ends; the next client starts one.",
        0,
    )

    # Peers: other agents around.
    peers_enabled: bool = flag(
        "peers.enabled",
        False,
        "Look for other agents nearby, and offer the tools of those you trust (`peers: true` is the same). In your own file "
        "it switches the looking on; in the configuration of a workspace it decides whether their tools are shown there.",
    )
    peers_advertise: bool = flag("peers.advertise", False, "Let other agents find this machine, and listen for them.")
    peers_expose: tuple[str, ...] = scalar(
        "peers.expose",
        "texts",
        (),
        "What trusted peers may use: `SERVER`, `SERVER:TOOL` (globs are fine) or `tag:NAME`. Nothing by default.",
    )
    peers_trust: PeerTrust = choice(
        "peers.trust",
        ("ask", "pinned", "tofu"),
        "What happens to a peer that was never seen before: it waits in `toolcrib approvals` (ask), it is ignored (pinned), "
        "or the first one under a name is trusted (tofu).",
    )
    peers_name: str = scalar(
        "peers.name",
        "text",
        "",
        "The name by which peers know this machine; the first word of the host name if none is given.",
    )
    peers_host: str = scalar(
        "peers.host",
        "text",
        "",
        "The address on which peers are listened for; the addresses of `peers.interfaces` if none is given, and all of this "
        "machine if neither is.",
    )
    peers_port: int = scalar(
        "peers.port",
        "integer",
        8666,
        "The port on which peers are listened for; 0 takes a free one.",
        minimum=0,
        maximum=65_535,
    )
    peers_interfaces: tuple[str, ...] = scalar(
        "peers.interfaces",
        "texts",
        (),
        "Network interfaces to use for peers, by name or address; all but loopback if none is given.",
    )
    peers_mdns: bool = flag("peers.mdns", True, "Look for peers by multicast, and with `peers.advertise` announce.")
    peers_static: tuple[str, ...] = scalar(
        "peers.static",
        "texts",
        (),
        "Peers to reach by address where multicast does not: `HOST:PORT`, or `PEERID@HOST:PORT` for exactly that one.",
    )
    peers_bootstrap: tuple[str, ...] = scalar(
        "peers.bootstrap",
        "texts",
        (),
        "Peers that are asked for other peers too: `HOST:PORT`, or a multiaddress for libp2p.",
    )
    peers_introduce: bool = flag("peers.introduce", False, "Tell peers that ask which other peers are known here.")
    peers_scan: tuple[str, ...] = scalar(
        "peers.scan",
        "texts",
        (),
        "Addresses to look for MCP servers and peers at, once: `192.0.2.10:8080-8090`. What is found there waits for approval. "
        "Needs `peers.enabled`.",
    )
    peers_check_interval_seconds: float = seconds(
        "peers.checkInterval", 10.0, "How long to wait between two checks whether a peer is there.", 1
    )
    peers_stale_after_seconds: float = seconds(
        "peers.staleAfter", 300.0, "The tools of a peer that did not answer for this long are no longer offered.", 1
    )
    peers_connect_timeout_seconds: float = seconds(
        "peers.connectTimeout", 30.0, "How long connecting to a peer may take when one of its tools is called."
    )
    peers_call_rate: float = scalar(
        "peers.callRate",
        "number",
        5.0,
        "How many calls a peer may make here per second; twice as many may come at once after a quiet time.",
        unit="per second",
        minimum=0.001,
    )
    peers_max_calls: int = count("peers.maxCalls", 8, "How many calls of one peer run here at the same time.")
    peers_max_peers: int = count(
        "peers.maxPeers", 256, "How many peers are remembered; those that nobody trusts make room first."
    )
    peers_max_card_bytes: int = size("peers.maxCardBytes", 256 * KIB, "The largest card that is taken from a peer.")
    peers_libp2p: bool = flag("peers.libp2p", False, "Reach peers over libp2p too; needs the extra `toolcrib[libp2p]`.")
    peers_libp2p_port: int = scalar(
        "peers.libp2pPort",
        "integer",
        4001,
        "The port on which libp2p listens; 0 takes a free one.",
        minimum=0,
        maximum=65_535,
    )
    peers_dht: bool = flag("peers.dht", False, "Look for peers in the distributed hash table of libp2p too.")
    peers_rendezvous: str = scalar(
        "peers.rendezvous", "text", "praxis-agents", "The word under which peers meet in the distributed hash table."
    )
    peers_tag: str = scalar(
        "peers.tag", "text", "praxis-p2p-mcp", "The name of the service under which peers announce."
    )

    # Signing in to servers.
    oauth_store: SignInPlace = choice(
        "oauth.store",
        ("auto", "keyring", "file"),
        "Where tokens of a new sign-in are kept: in the keyring if there is one (auto), only there, or in a file that only "
        "you can read.",
    )
    oauth_login_timeout_seconds: float = seconds(
        "oauth.loginTimeout", 300.0, "How long a sign-in waits for you to come back from the browser."
    )
    oauth_callback_port: int = scalar(
        "oauth.callbackPort",
        "integer",
        0,
        "The port on this machine to which the browser comes back after a sign-in; 0 takes a free one.",
        minimum=0,
        maximum=65_535,
    )
    oauth_client_name: str = scalar(
        "oauth.clientName", "text", "Toolcrib", "The name that services show when you sign in."
    )
    oauth_client_metadata_url: str = scalar(
        "oauth.clientMetadataUrl",
        "text",
        "",
        "The https address of a client ID metadata document of your own, for services that take one instead of a "
        "registration.",
    )

    # What servers were given.
    secrets_in_results: SecretsInResults = choice(
        "secrets.inResults",
        ("pass", "mask"),
        "What happens to values that a server was given when a tool of it returns them: they are passed on (pass), or covered "
        "(mask).",
    )

    # The audit log.
    audit_max_bytes: int = size("audit.maxBytes", 10_000_000, "At this size the audit log is rotated.")
    audit_files: int = count(
        "audit.files", 5, "How many audit log files are kept, including the current one.", minimum=2
    )
    audit_on_failure: OnAuditFailure = choice(
        "audit.onFailure",
        ("warn", "refuse"),
        "What happens to calls while the audit log can't be written: they run and the log says so (warn), or they are "
        "refused, and each call is written down before it runs too (refuse).",
    )

    # How it was read.
    file: Path | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    source_states: tuple[SourceState, ...] = ()
    untrusted_files: tuple[UntrustedFile, ...] = ()
    watched_files: tuple[Path, ...] = ()


def _scalars() -> tuple[Scalar, ...]:
    described = (entry for entry in fields(Settings) if entry.metadata)
    return tuple(Scalar(name=entry.name, default=entry.default, **entry.metadata) for entry in described)


SCALARS: tuple[Scalar, ...] = _scalars()
SCALARS_BY_KEY: Mapping[str, Scalar] = {described.key: described for described in SCALARS}
