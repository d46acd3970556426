"""Calls on stdio: tools/call answered without passing through the SDK's layers.

The SDK settles the era of a connection and serves everything else. Once its first answer has gone out, calls are
taken here: one decode of the envelope, one task, one write. Anything out of the ordinary is left to the SDK.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import UNSET, Raw, UnsetType

from toolcrib.model.call import CallEvent, Listener, LogMessage
from toolcrib.model.caller import Caller
from toolcrib.model.reading import Era
from toolcrib.server.events import passes, wanted_level
from toolcrib.server.meta_tools import MetaTools, Request
from toolcrib.server.results import Members
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import Json, Message, RequestId, RpcError

log = logging.getLogger(__name__)


class _CallParams(msgspec.Struct):
    name: str
    arguments: Raw | UnsetType = UNSET
    meta: dict[str, Any] | UnsetType = msgspec.field(name="_meta", default=UNSET)


_call_params = msgspec.json.Decoder(_CallParams).decode
_encode = msgspec.json.Encoder().encode


class WriteLine(Protocol):
    """Writes one line to the client, given in pieces."""

    def __call__(self, *parts: Json) -> None: ...


class Lane:
    """Runs calls of one stdio connection, each in its own task, and answers each exactly once unless cancelled."""

    def __init__(self, meta_tools: MetaTools, write: WriteLine, server_info: Mapping[str, Any]) -> None:
        self._meta_tools = meta_tools
        self._write = write
        self._server_meta = {SERVER_INFO_META_KEY: dict(server_info)}
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._era: Era | None = None
        self._client: Mapping[str, Any] = {}
        self.log_level: str | None = None

    def open(self, era: Era, client: Mapping[str, Any]) -> None:
        """The SDK has settled the era: calls may pass here from now on; `client` is what the client says of itself."""
        self._era = era
        self._client = client

    def take(self, message: Message) -> bool:
        """Start a call if it is an ordinary one of this connection's era; False leaves it to the SDK."""
        if self._era is None or not isinstance(message.id, int | str) or message.id in self._running:
            return False
        try:
            params = _call_params(message.params_json)
        except (msgspec.DecodeError, RecursionError):
            return False
        meta = {} if params.meta is UNSET else params.meta
        if _is_modern(meta) != (self._era == "modern"):
            return False
        arguments = b"null" if params.arguments is UNSET else bytes(params.arguments)
        arguments = b"{}" if arguments == b"null" else arguments
        task = asyncio.create_task(self._run(message.id, params.name, arguments, meta))
        self._running[message.id] = task
        return True

    def cancel(self, request_id: object) -> bool:
        """Cancel a call of ours; a cancelled call is never answered."""
        task = self._running.get(request_id) if isinstance(request_id, int | str) else None
        if task is None:
            return False
        task.cancel()
        return True

    async def finish(self, grace_seconds: float) -> None:
        """Let running calls end within the grace, then cancel them."""
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=grace_seconds)
        left = set(self._running.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _run(self, id: RequestId, name: str, arguments: bytes, meta: dict[str, Any]) -> None:
        modern = self._era == "modern"
        level = wanted_level(meta, self.log_level, modern=modern)
        request = Request(self._caller(meta), self._listener(meta.get("progressToken"), level), level, meta)
        try:
            members = await self._meta_tools.call(name, arguments, request)
            self._write(*jsonrpc.response_parts(id, self._stamped(members) if modern else members))
        except RpcError as error:
            self._write(jsonrpc.error_response(id, error.code, error.message, error.data))
        finally:
            self._running.pop(id, None)

    def _stamped(self, members: Members) -> dict[str, Json]:
        """What the modern era wants on every result besides the result."""
        given = members.get("_meta")
        meta = msgspec.json.decode(given) if given is not None else {}
        stamped = {**meta, **self._server_meta} if isinstance(meta, dict) else self._server_meta
        return {**members, "_meta": _encode(stamped), "resultType": b'"complete"'}

    def _caller(self, meta: Mapping[str, Any]) -> Caller:
        given = meta.get(CLIENT_INFO_META_KEY)
        info = given if isinstance(given, dict) else self._client
        name = str(info.get("name") or "unknown")
        return Caller(name=name, face="stdio", key=f"stdio:{name}", version=str(info.get("version") or ""))

    def _listener(self, token: object, level: str | None) -> Listener:
        def hear(event: CallEvent) -> None:
            if isinstance(event, LogMessage):
                if passes(event, level):
                    self._write(jsonrpc.notification("notifications/message", _encode(event.params)))
            elif isinstance(token, int | str):
                params = {"progressToken": token, **event.params}
                self._write(jsonrpc.notification("notifications/progress", _encode(params)))

        return hear


def _is_modern(meta: Mapping[str, Any]) -> bool:
    return meta.get(PROTOCOL_VERSION_META_KEY) in MODERN_PROTOCOL_VERSIONS and CLIENT_CAPABILITIES_META_KEY in meta
