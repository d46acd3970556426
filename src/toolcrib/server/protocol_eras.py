"""What the two eras of the protocol answer to everything but calls, as the SDK's server does it.

A client's first request decides which era its connection has: one that carries the envelope of the modern era in its
`_meta`, or any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from toolcrib.model.reading import Era
from toolcrib.server.fixed_answers import NOTHING, FixedAnswers
from toolcrib.server.relayed_tasks import TASK_METHODS
from toolcrib.server.request_params import (
    RequestParams,
    is_cursor,
    is_implementation,
    is_level,
    is_progress_token,
    require,
)
from toolcrib.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from toolcrib.wire.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    MODERN_PROTOCOL_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)

CALL = "tools/call"
_ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)


class ProtocolEra(Protocol):
    """How a connection of one era answers."""

    @property
    def era(self) -> Era: ...

    @property
    def log_level(self) -> str | None: ...

    def capabilities_of(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the client declared that it can do, for a call with this `_meta`."""

    def admit(self, method: str, params: RequestParams) -> None:
        """Raise RpcError where a request may not be made here, or not yet."""

    def result(self, method: str, params: RequestParams) -> bytes:
        """The result of an admitted request that is not a call."""

    def client_of(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the client says of itself, as far as it matters for a call with this `_meta`."""

    @property
    def state(self) -> dict[str, Any]:
        """What another engine has to know to go on with this connection, as plain JSON."""


def opened_by(method: str, params: RequestParams, answers: FixedAnswers) -> ProtocolEra:
    """The era of a connection whose first request this is."""
    if method != "initialize" and PROTOCOL_VERSION_META_KEY in params.meta_object:
        return ModernEra(answers, _client_in(params.meta_object))
    return HandshakeEra(answers)


def resumed_era(state: Mapping[str, Any], answers: FixedAnswers) -> ProtocolEra:
    """The era of a connection that another engine has begun."""
    if state["era"] == ModernEra.era:
        return ModernEra(answers, state["client"])
    resumed = HandshakeEra(answers)
    resumed.client, resumed.log_level = state["client"], state["level"]
    resumed.capabilities = state.get("capabilities", {})  # an engine of a former version has kept none
    return resumed


class HandshakeEra:
    """Revisions up to 2025-11-25: `initialize` comes first, and says who the client is."""

    era: Era = "legacy"
    _methods = frozenset({"initialize", "ping", "tools/list", CALL, "logging/setLevel"})

    def __init__(self, answers: FixedAnswers) -> None:
        self._answers = answers
        self.client: Mapping[str, Any] | None = None
        self.capabilities: Mapping[str, Any] = {}
        self.log_level: str | None = None

    def admit(self, method: str, params: RequestParams) -> None:
        if method != "initialize" and PROTOCOL_VERSION_META_KEY in params.meta_object:
            advice = "send requests without the _meta of 2026-07-28, or open another connection"
            raise RpcError(INVALID_REQUEST, f"this connection was opened with initialize: {advice}")
        if method not in self._methods:
            _require_method(method, self._answers.methods(self.era))
        require(method in ("initialize", "ping") or self.client is not None)

    def result(self, method: str, params: RequestParams) -> bytes:
        require(params.meta is None or isinstance(params.meta, dict))
        require(is_progress_token(params.meta_object.get("progressToken")))
        if method == "initialize":
            return self._initialized(params)
        if method == "tools/list":
            require(is_cursor(params.cursor))
            return self._answers.legacy_tools
        if method == "logging/setLevel":
            require(is_level(params.level))
            self.log_level = params.level
        return NOTHING

    def client_of(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.client or {}

    def capabilities_of(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.capabilities

    @property
    def state(self) -> dict[str, Any]:
        known = {"client": self.client, "level": self.log_level, "capabilities": self.capabilities}
        return {"era": self.era, **known}

    def _initialized(self, params: RequestParams) -> bytes:
        require(isinstance(params.protocol_version, str), isinstance(params.capabilities, dict))
        require(is_implementation(params.client_info))
        self.client, self.capabilities = params.client_info, params.capabilities
        return self._answers.initialized(params.protocol_version)


class ModernEra:
    """Revision 2026-07-28: no handshake; each request says in its envelope what it needs to be understood."""

    era: Era = "modern"
    log_level = None
    _methods = frozenset({"server/discover", "tools/list", CALL}) | TASK_METHODS

    def __init__(self, answers: FixedAnswers, first_client: Mapping[str, Any]) -> None:
        self._answers = answers
        self._first_client = first_client

    def admit(self, method: str, params: RequestParams) -> None:
        if method == "initialize":
            raise _no_handshake(params.protocol_version)
        _check_envelope(params.meta)
        if method not in self._methods:
            _require_method(method, self._answers.methods(self.era))

    def result(self, method: str, params: RequestParams) -> bytes:
        meta = params.meta_object
        client, level = meta.get(CLIENT_INFO_META_KEY), meta.get(LOG_LEVEL_META_KEY)
        require(isinstance(meta[CLIENT_CAPABILITIES_META_KEY], dict), client is None or is_implementation(client))
        require(level is None or is_level(level), is_progress_token(meta.get("progressToken")))
        if method == "server/discover":
            return self._answers.discovered
        require(is_cursor(params.cursor))
        return self._answers.modern_tools

    def client_of(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        return _client_in(meta) or self._first_client  # who is on a pipe does not change

    def capabilities_of(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        return capabilities_in(meta)

    @property
    def state(self) -> dict[str, Any]:
        return {"era": self.era, "client": self._first_client}


def capabilities_in(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the client says in the envelope of a request that it can do."""
    declared = meta.get(CLIENT_CAPABILITIES_META_KEY)
    return declared if isinstance(declared, dict) else {}


def _client_in(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    info = meta.get(CLIENT_INFO_META_KEY)
    return info if isinstance(info, dict) else {}


def _require_method(method: str, known: frozenset[str]) -> None:
    if method not in known:
        raise RpcError(METHOD_NOT_FOUND, "Method not found", method)


def _check_envelope(meta: Any) -> None:
    if not isinstance(meta, dict):
        raise RpcError(
            INVALID_PARAMS, f"every request needs an object _meta in its params, with {', '.join(_ENVELOPE)}"
        )
    if missing := [key for key in _ENVELOPE if key not in meta]:
        raise RpcError(INVALID_PARAMS, f"_meta lacks {', '.join(missing)}")
    version = meta[PROTOCOL_VERSION_META_KEY]
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"{PROTOCOL_VERSION_META_KEY} in _meta is not a text")
    if version not in MODERN_PROTOCOL_VERSIONS:
        raise RpcError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", _supported(version))


def _no_handshake(wanted_version: Any) -> RpcError:
    reason = "this connection speaks 2026-07-28, which has no initialize: send the request itself"
    return RpcError(UNSUPPORTED_PROTOCOL_VERSION, reason, _supported(wanted_version))


def _supported(wanted_version: Any) -> dict[str, Any]:
    supported: dict[str, Any] = {"supported": MODERN_PROTOCOL_VERSIONS}
    return {**supported, "requested": wanted_version} if isinstance(wanted_version, str) else supported
