"""The answers that stay the same for as long as a process serves: each is written as JSON once."""

from __future__ import annotations

from typing import Any

import msgspec

from toolcrib.model.asking import TASKS_EXTENSION
from toolcrib.server.definitions import META_TOOLS, TOOLS_TTL_MS
from toolcrib.server.identity import COMPLETE, SERVER_INFO, STAMP
from toolcrib.wire.protocol import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

CAPABILITIES = {"logging": {}, "tools": {"listChanged": False}}
NOTHING = b"{}"

_encode = msgspec.json.Encoder().encode


class FixedAnswers:
    """What we answer to the handshake, to `server/discover` and to `tools/list`."""

    def __init__(self, instructions: str) -> None:
        about = {"capabilities": CAPABILITIES, "instructions": instructions}
        self._handshake = {**about, "serverInfo": SERVER_INFO}
        tools = {"tools": META_TOOLS}
        versions = {"supportedVersions": MODERN_PROTOCOL_VERSIONS}
        self.legacy_tools = _encode(tools)
        self.modern_tools = _cacheable(tools, TOOLS_TTL_MS)
        capabilities = {**CAPABILITIES, "extensions": {TASKS_EXTENSION: {}}}
        self.discovered = _cacheable({**versions, **about, "capabilities": capabilities}, 0)

    def initialized(self, wanted_version: str) -> bytes:
        """Agrees to the client's revision where we know it, and offers the latest one otherwise."""
        known = wanted_version in HANDSHAKE_PROTOCOL_VERSIONS
        return _encode({"protocolVersion": wanted_version if known else LATEST_HANDSHAKE_VERSION, **self._handshake})


def _cacheable(result: dict[str, Any], ttl_ms: int) -> bytes:
    """A result of the modern era that clients may keep for so long and share."""
    return _encode({**result, "ttlMs": ttl_ms, "cacheScope": "public", "resultType": COMPLETE, "_meta": STAMP})
