"""Lets a conformance suite call the tools of the server behind a gateway by their names.

The suites call tools, prompts and completions of fixed names. Here a named tool becomes `execute_tool`, a prompt gets
the name that the gateway gives it, and lists show what the server has. Everything else passes as it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.gateway import Gateway

SERVER = "everything"
PREFIX = f"{SERVER}__"
NAME_HEADER = b"mcp-name"

Change = Callable[[dict[str, Any]], None]


class Adapter:
    """An application in front of the gateway's own."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        message = _decoded(body)
        params = message.get("params")
        if isinstance(params, dict) and (names := _renamed(message.get("method", ""), params)) is not None:
            body = json.dumps(message).encode()
            scope = {**scope, "headers": _headers(scope["headers"], body, *names)}
        change = self._changes().get(message.get("method", ""))
        out = send if change is None else _Changed(send, change).send
        await self._app(scope, _first(body, receive), out)

    def _changes(self) -> Mapping[str, Change]:
        """What becomes of the answers to some methods."""

        def tools(result: dict[str, Any]) -> None:
            result["tools"] = [
                visible.tool.definition for visible in self._gateway.workspace.view.tools(SERVER).values()
            ]

        def prompts(result: dict[str, Any]) -> None:
            for prompt in result["prompts"]:
                prompt["name"] = prompt["name"].removeprefix(PREFIX)

        return {"tools/list": tools, "prompts/list": prompts}


def _renamed(method: str, params: dict[str, Any]) -> tuple[str, str] | None:
    """Change the parameters to what the gateway takes; the name that was changed and what became of it, if one was."""
    reference = params.get("ref")
    if method == "tools/call" and isinstance(given := params.get("name"), str):
        asked = {"server": SERVER, "tool": given, "arguments": params.get("arguments") or {}}
        params.update(name="execute_tool", arguments=asked)
        return given, "execute_tool"
    if method == "prompts/get" and isinstance(given := params.get("name"), str):
        params["name"] = PREFIX + given
        return given, PREFIX + given
    if method == "completion/complete" and isinstance(reference, dict) and "name" in reference:
        reference["name"] = f"{PREFIX}{reference['name']}"
        return "", ""
    return None


def _headers(headers: list[tuple[bytes, bytes]], body: bytes, given: str, name: str) -> list[tuple[bytes, bytes]]:
    """A header that named something else, or in an odd way, stays wrong."""
    fresh = {b"content-length": str(len(body)).encode()}
    return [
        (key, name.encode() if (key, value) == (NAME_HEADER, given.encode()) else fresh.get(key, value))
        for key, value in headers
    ]


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        event = await receive()
        parts.append(event.get("body", b""))
        if not event.get("more_body"):
            return b"".join(parts)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _first(body: bytes, receive: Receive) -> Receive:
    """Gives the body again, then whatever comes."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return again


class _Changed:
    """Sends an answer once it is whole, with its result changed; it may be plain JSON or events."""

    def __init__(self, send: Send, change: Change) -> None:
        self._send = send
        self._change = change
        self._start: Message = {}
        self._body = b""

    async def send(self, event: Message) -> None:
        if event["type"] == "http.response.start":
            self._start = event
            return
        self._body += event.get("body", b"")
        if event.get("more_body"):
            return
        body = b"\n".join(self._line(line) for line in self._body.split(b"\n"))
        kept = [(key, value) for key, value in self._start["headers"] if key != b"content-length"]
        await self._send({**self._start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})

    def _line(self, line: bytes) -> bytes:
        lead = b"data: " if line.startswith(b"data: ") else b""
        message = _decoded(line.removeprefix(lead))
        if "result" not in message:
            return line
        self._change(message["result"])
        return lead + json.dumps(message).encode()
