"""How a request is dressed in each protocol era: its `_meta` and its HTTP headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcrib.model.asking import TASKS_EXTENSION, InputRound, declares_tasks
from toolcrib.model.call import ToolCall
from toolcrib.model.reading import Era
from toolcrib.upstream.asked_back import CAPABILITIES
from toolcrib.wire.mirrored_headers import argument_headers, header_value
from toolcrib.wire.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    PROTOCOL_VERSION_META_KEY,
    RESERVED_META_PREFIX,
)

_PROGRESS_TOKEN = "progressToken"  # noqa: S105 - a protocol field, not a secret


@dataclass(frozen=True, slots=True)
class RequestEnvelope:
    """The era and version of one connection, and what every request on it must carry."""

    era: Era
    version: str
    client_info: Mapping[str, str]

    def meta(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """What the era asks for on every request; empty in the handshake era."""
        if self.era != "modern":
            return {}
        return {
            PROTOCOL_VERSION_META_KEY: self.version,
            CLIENT_INFO_META_KEY: self.client_info,
            CLIENT_CAPABILITIES_META_KEY: capabilities,
        }

    def params(self, params: Mapping[str, Any]) -> bytes:
        """Parameters of anything but a call, with all our capabilities: a list read without them leaves tools out."""
        meta = self.meta(CAPABILITIES)
        return msgspec.json.encode({**params, "_meta": meta} if meta else dict(params))

    def call_params(self, call: ToolCall, members: bytes, request_id: int) -> bytes:
        """Parameters of a call: these members, in which the caller's arguments are exactly as they came, and `_meta`."""
        meta = _passed_on(call.meta) | self.meta(_capabilities(call))
        if call.wants_progress:
            meta[_PROGRESS_TOKEN] = request_id
        if self.era == "modern" and call.listener is not None and call.log_level is not None:
            meta[LOG_LEVEL_META_KEY] = call.log_level
        tail = b',"_meta":' + msgspec.json.encode(meta) if meta else b""
        if self.era == "modern" and call.round is not None:
            tail += _round_members(call.round)
        if self.era != "modern" and call.as_task:
            tail += b',"task":{}'
        return b"{%b%b}" % (members, tail)

    def task_params(self, call: ToolCall, params: Mapping[str, Any]) -> bytes:
        """Parameters of a request about the task that a call has become."""
        meta = self.meta(_capabilities(call.but(as_task=True)))
        return msgspec.json.encode({**params, "_meta": meta} if meta else dict(params))

    def headers(self, method: str, name: str = "") -> dict[str, str]:
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if self.era == "modern":
            headers[MCP_METHOD_HEADER] = method
            if name:
                headers[MCP_NAME_HEADER] = header_value(name)
        return headers

    def call_headers(self, call: ToolCall, method: str, name: str) -> dict[str, str]:
        headers = self.headers(method, name)
        if self.era == "modern" and call.target is not None and call.target.tool.kind == "tool":
            headers.update(argument_headers(call.target.tool.accepts, call.arguments))
        return headers


def _capabilities(call: ToolCall) -> Mapping[str, Any]:
    """What a server is told that it may use: what the client declared, and tasks only where we wait for them."""
    client = call.conversation
    declared = {} if client is None else client.capabilities
    takes_tasks = call.as_task or (client is not None and client.takes_tasks)
    if takes_tasks == declares_tasks(declared):
        return declared
    stated = declared.get("extensions")
    others = {
        name: value
        for name, value in (stated if isinstance(stated, Mapping) else {}).items()
        if name != TASKS_EXTENSION
    }
    return {**declared, "extensions": {**others, TASKS_EXTENSION: {}} if takes_tasks else others}


def _round_members(given: InputRound) -> bytes:
    """What a call that goes on after an interim result carries besides."""
    responses = b"" if given.responses is None else b',"inputResponses":' + given.responses
    state = b"" if given.state is None else b',"requestState":' + msgspec.json.encode(given.state)
    return responses + state


def _passed_on(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's `_meta` less what belongs to the hop between caller and us."""
    return {
        key: value for key, value in meta.items() if not key.startswith(RESERVED_META_PREFIX) and key != _PROGRESS_TOKEN
    }
