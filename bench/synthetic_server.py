"""A small MCP server on standard streams, for measuring what stands in front of it.

    python -I -S bench/synthetic_server.py [--era legacy|modern]

Standard library only, so that it starts in a few hundredths of a second. One thread and one `select`: calls that sleep
wait in a heap of deadlines, so any number of them overlap. Results are built once per size and then only written.
It is a program that nobody imports.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INFO = {"name": "synthetic", "version": "1"}
MODERN_VERSION = "2026-07-28"
METHOD_NOT_FOUND, UNSUPPORTED_VERSION = -32601, -32022
ONE_NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}
ONE_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "description": "Give back the text it was given.", "inputSchema": ONE_TEXT},
    {"name": "sleep_ms", "description": "Answer after n milliseconds.", "inputSchema": ONE_NUMBER},
    {"name": "blob", "description": "Give n bytes of plain text.", "inputSchema": ONE_NUMBER},
    {"name": "json_blob", "description": "Give about n bytes of JSON as text.", "inputSchema": ONE_NUMBER},
]


class Server:
    """Answers one client; `modern` decides the era, and the other era is refused."""

    def __init__(self, *, modern: bool) -> None:
        self.modern = modern
        self.built: dict[tuple[str, int], bytes] = {}
        self.sleeping: list[tuple[float, bytes]] = []

    def answer(self, line: bytes) -> bytes:
        """The bytes to write for one message; nothing for a notification or a call that sleeps."""
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            return b""
        handler = {
            "tools/call": self.call,
            "tools/list": self.list_tools,
            "ping": self.ping,
            "server/discover" if self.modern else "initialize": self.introduce,
        }.get(message["method"], self.refuse)
        return handler(json.dumps(message["id"]).encode(), message.get("params", {}))

    def call(self, id: bytes, params: dict[str, Any]) -> bytes:
        name, arguments = params["name"], params.get("arguments", {})
        if name == "sleep_ms":
            heapq.heappush(self.sleeping, (time.monotonic() + arguments["n"] / 1000, id))
            return b""
        if name == "echo":
            return self.response(id, self.text(arguments["text"]))
        key = (name, arguments["n"])
        if key not in self.built:
            self.built[key] = self.text(plain(key[1]) if name == "blob" else records(key[1]))
        return self.response(id, self.built[key])

    def due(self) -> bytes:
        """Answers to the sleepers whose time has come."""
        answers = []
        while self.sleeping and self.sleeping[0][0] <= time.monotonic():
            answers.append(self.response(heapq.heappop(self.sleeping)[1], self.text("slept")))
        return b"".join(answers)

    def patience(self) -> float | None:
        return max(0.0, self.sleeping[0][0] - time.monotonic()) if self.sleeping else None

    def list_tools(self, id: bytes, _: dict[str, Any]) -> bytes:
        return self.response(id, self.stamped({"tools": TOOLS}))

    def ping(self, id: bytes, _: dict[str, Any]) -> bytes:
        return self.response(id, b"{}")

    def introduce(self, id: bytes, params: dict[str, Any]) -> bytes:
        if self.modern:
            return self.response(
                id, self.stamped({"supportedVersions": [MODERN_VERSION], "capabilities": {"tools": {}}})
            )
        version = params["protocolVersion"]
        return self.response(
            id, self.stamped({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO})
        )

    def refuse(self, id: bytes, params: dict[str, Any]) -> bytes:
        error = {"code": METHOD_NOT_FOUND, "message": "not served here"}
        if self.modern:
            error = {
                "code": UNSUPPORTED_VERSION,
                "message": "another era",
                "data": {"supported": [MODERN_VERSION], "requested": params.get("protocolVersion", "")},
            }
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (id, json.dumps(error).encode())

    def text(self, text: str) -> bytes:
        return self.stamped({"content": [{"type": "text", "text": text}]})

    def stamped(self, result: dict[str, Any]) -> bytes:
        if self.modern:
            meta = {"io.modelcontextprotocol/serverInfo": INFO}
            result = {**result, "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public", "_meta": meta}
        return json.dumps(result, separators=(",", ":")).encode()

    @staticmethod
    def response(id: bytes, result: bytes) -> bytes:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id, result)


def plain(size: int) -> str:
    words = "the quick brown fox jumps over the lazy dog; "
    return (words * (size // len(words) + 1))[:size]


def records(size: int) -> str:
    one = {"id": 1000, "name": "a record", "tags": ["red", "green"], "score": 0.25, "active": True}
    count = max(1, size // (len(json.dumps(one, separators=(",", ":"))) + 1))
    return json.dumps([{**one, "id": 1000 + number} for number in range(count)], separators=(",", ":"))


def write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def serve(server: Server) -> None:
    rest = b""
    while True:
        readable, _, _ = select.select([0], [], [], server.patience())
        answers = server.due()
        if readable:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            answers += b"".join([server.answer(line) for line in lines if line])
        write_all(answers)


serve(Server(modern="modern" in sys.argv))
