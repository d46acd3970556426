"""The answers that stay the same for as long as a process serves: each is written as JSON once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from toolcrib.model.asking import TASKS_EXTENSION
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.model.reading import Era
from toolcrib.server.definitions import META_TOOLS, TOOLS_TTL_MS
from toolcrib.server.identity import COMPLETE, SERVER_INFO, STAMP
from toolcrib.wire.protocol import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

CAPABILITIES = {"logging": {}, "tools": {"listChanged": False}}
NOTHING = b"{}"

_encode = msgspec.json.Encoder().encode


class Native(Protocol):
    """Whoever answers the methods for prompts and resources."""

    def capabilities(self, rights: Rights, /) -> dict[str, Any]: ...

    def methods(self, era: Era, rights: Rights, /) -> frozenset[str]: ...


class FixedAnswers:
    """What we answer to the handshake, to `server/discover` and to `tools/list`.

    Only what else is offered depends on when a client comes, and on its rights; `native` says it.
    """

    def __init__(
        self,
        instructions: str,
        native: Native | None = None,
        tools: Sequence[Mapping[str, Any]] = META_TOOLS,
        *,
        rights: Callable[[], Rights] = lambda: EVERYTHING,
    ) -> None:
        self._rights = rights
        self._instructions = instructions
        self._native = native
        listed = {"tools": tools}
        self.legacy_tools = _encode(listed)
        self.modern_tools = _cacheable(listed, TOOLS_TTL_MS)

    @property
    def discovered(self) -> bytes:
        about = self._about()
        capabilities = {**about["capabilities"], "extensions": {TASKS_EXTENSION: {}}}
        return _cacheable({"supportedVersions": MODERN_PROTOCOL_VERSIONS, **about, "capabilities": capabilities}, 0)

    def methods(self, era: Era) -> frozenset[str]:
        """The methods that are answered besides those of every connection."""
        return frozenset() if self._native is None else self._native.methods(era, self._rights())

    def _about(self) -> dict[str, Any]:
        more = {} if self._native is None else self._native.capabilities(self._rights())
        return {"capabilities": {**CAPABILITIES, **more}, "instructions": self._instructions}

    def initialized(self, wanted_version: str) -> bytes:
        """Agrees to the client's revision where we know it, and offers the latest one otherwise."""
        known = wanted_version in HANDSHAKE_PROTOCOL_VERSIONS
        version = wanted_version if known else LATEST_HANDSHAKE_VERSION
        return _encode({"protocolVersion": version, **self._about(), "serverInfo": SERVER_INFO})


def _cacheable(result: dict[str, Any], ttl_ms: int) -> bytes:
    """A result of the modern era that clients may keep for so long and share."""
    return _encode({**result, "ttlMs": ttl_ms, "cacheScope": "public", "resultType": COMPLETE, "_meta": STAMP})
