"""Finding out which protocol era a server speaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from toolcrib.model.reading import Identity
from toolcrib.upstream.asked_back import CAPABILITIES
from toolcrib.upstream.envelopes import RequestEnvelope
from toolcrib.upstream.link import Link
from toolcrib.wire.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, Json, RpcError
from toolcrib.wire.protocol import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)

log = logging.getLogger(__name__)

_SLOW_PROBE = (
    "%s did not answer server/discover within %g s, so the older handshake is tried beside it. "
    "If the server is only slow to start, raise probeTimeout."
)
NEWEST_MODERN = MODERN_PROTOCOL_VERSIONS[-1]
# An introduction is kept in the catalog and read at every start.
MOST_INTRODUCTION_BYTES = 256 * 1024


class Negotiation:
    """One connect. A server known to want the handshake costs one trip; any other is asked for its era first.

    The era is always settled by requests that run no tool, so that no answer of a tool ever casts doubt on it.
    """

    def __init__(self, server: str, link: Link, next_id: Callable[[], int], client_info: Mapping[str, str]) -> None:
        self._server = server
        self._link = link
        self._next_id = next_id
        self._client_info = client_info

    async def run(self, known: Identity | None, probe_seconds: float) -> Identity:
        if known is not None and known.era == "legacy" and not known.is_guess:
            try:
                return await self._handshake_or_discover()
            except RpcError as refusal:
                if refusal.code != METHOD_NOT_FOUND:
                    raise
                # It has outgrown the handshake since: find out anew.
        # Whoever was too slow for the probe once is asked both at once: its own calls never wait for the probe again.
        patience = 0.0 if known is not None and known.is_guess else probe_seconds
        return await self._probe(patience, probe_seconds)

    async def _probe(self, patience: float, probe_seconds: float) -> Identity:
        """Ask for the era; a server that does not answer in time gets the handshake beside it, and the first yes decides."""
        asking = asyncio.create_task(self._discover(NEWEST_MODERN))
        try:
            await asyncio.wait({asking}, timeout=patience)
            if asking.done():
                return await self._after_answer(asking)
            if patience:
                log.warning(_SLOW_PROBE, self._server, patience)
            return await self._handshake_beside(asking, probe_seconds)
        finally:
            await _abandon(asking)

    async def _handshake_beside(self, asking: asyncio.Task[Identity | None], probe_seconds: float) -> Identity:
        shaking = asyncio.create_task(self._handshake_or_discover())
        try:
            await asyncio.wait({asking, shaking}, return_when=asyncio.FIRST_COMPLETED)
            if (found := _found(asking)) is not None:
                return found
            identity = await shaking
            return replace(identity, is_guess=identity.era == "legacy" and not asking.done())
        except RpcError:
            await asyncio.wait({asking}, timeout=probe_seconds)
            if (found := _found(asking)) is None:
                raise
            return found
        finally:
            await _abandon(shaking)

    async def _after_answer(self, asking: asyncio.Task[Identity | None]) -> Identity:
        try:
            found = asking.result()
        except RpcError as refusal:
            return await self._after_refusal(refusal)
        return found or await self._handshake_or_discover()

    async def _after_refusal(self, refusal: RpcError) -> Identity:
        shared = _shared_modern(refusal)
        if shared is not None:
            found = await self._discover(shared)
            if found is not None:
                return found
        if refusal.code == UNSUPPORTED_PROTOCOL_VERSION and not _offers_handshake(refusal):
            raise refusal
        return await self._handshake_or_discover()

    async def _handshake_or_discover(self) -> Identity:
        """The handshake; a server that answers it with its modern versions is asked once more in that era."""
        try:
            return await self._handshake()
        except RpcError as refusal:
            shared = _shared_modern(refusal)
            found = await self._discover(shared) if shared is not None else None
            if found is None:
                raise
            return found

    async def _discover(self, version: str) -> Identity | None:
        envelope = RequestEnvelope("modern", version, self._client_info)
        raw = await self._link.request(
            self._next_id(), "server/discover", envelope.params({}), envelope.headers("server/discover")
        )
        return _modern_identity(_decoded(raw))

    async def _handshake(self) -> Identity:
        envelope = RequestEnvelope("legacy", LATEST_HANDSHAKE_VERSION, self._client_info)
        params = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": CAPABILITIES,
            "clientInfo": dict(self._client_info),
        }
        raw = await self._link.request(self._next_id(), "initialize", envelope.params(params), {})
        identity = _legacy_identity(_decoded(raw))
        settled = RequestEnvelope("legacy", identity.protocol_version, self._client_info)
        await self._link.notify("notifications/initialized", b"{}", settled.headers("notifications/initialized"))
        return identity


def _found(asking: asyncio.Task[Identity | None]) -> Identity | None:
    """What the probe brought, if it was answered and not refused."""
    return asking.result() if asking.done() and asking.exception() is None else None


async def _abandon(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _decoded(raw: Json) -> Any:
    if len(raw) > MOST_INTRODUCTION_BYTES:
        raise RpcError(
            INVALID_REQUEST, f"the server's answer to the handshake is larger than {MOST_INTRODUCTION_BYTES} bytes"
        )
    return msgspec.json.decode(raw)


def _modern_identity(result: Any) -> Identity | None:
    """The identity in a discover result, or None where it names no modern version we speak."""
    if not isinstance(result, dict):
        return None
    offered = result.get("supportedVersions")
    shared = [v for v in MODERN_PROTOCOL_VERSIONS if isinstance(offered, list) and v in offered]
    if not shared:
        return None
    meta = _mapping(result.get("_meta"))
    return Identity(
        era="modern",
        protocol_version=shared[-1],
        server_info=_mapping(meta.get(SERVER_INFO_META_KEY)),
        capabilities=_mapping(result.get("capabilities")),
        instructions=str(result.get("instructions") or ""),
    )


def _legacy_identity(result: Any) -> Identity:
    answer = _mapping(result)
    return Identity(
        era="legacy",
        protocol_version=str(answer.get("protocolVersion") or LATEST_HANDSHAKE_VERSION),
        server_info=_mapping(answer.get("serverInfo")),
        capabilities=_mapping(answer.get("capabilities")),
        instructions=str(answer.get("instructions") or ""),
    )


def _shared_modern(refusal: RpcError) -> str | None:
    shared = [version for version in MODERN_PROTOCOL_VERSIONS if version in _supported(refusal)]
    return shared[-1] if shared else None


def _offers_handshake(refusal: RpcError) -> bool:
    supported = _supported(refusal)
    return not supported or any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in supported)


def _supported(refusal: RpcError) -> list[Any]:
    if refusal.code != UNSUPPORTED_PROTOCOL_VERSION:
        return []
    supported = _mapping(refusal.data).get("supported")
    return supported if isinstance(supported, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
