"""A small MCP server whose list of tools is meant to hurt whoever reads it.

    python -I -S bench/hostile_server.py KIND [--bytes N] [--http]

Standard library only. Over HTTP it takes a free port and says which on its first line. It is a program that nobody imports.

KIND is one of
    plain      one ordinary tool
    worthless  `{"tools":[1,1,...]}`
    empty      `{"tools":[{},{},...]}`, which takes far more memory decoded than as text
    heavy      1,000 tools of 60 KB each, 16 on a page
    heavy-line the same in one message
    many       100,000 ordinary tools in one message
"""

from __future__ import annotations

import json
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

KIND = sys.argv[1]
BYTES = int(sys.argv[sys.argv.index("--bytes") + 1]) if "--bytes" in sys.argv else 14_000_000
PAGE = 16


def tool(number: int, description: str) -> bytes:
    definition = {"name": f"tool_{number}", "description": description, "inputSchema": {"type": "object"}}
    return json.dumps(definition, separators=(",", ":")).encode()


def heavy(numbers: Iterable[int]) -> bytes:
    return b",".join([tool(number, f"Does thing {number}. " + "word " * 12_000) for number in numbers])


@cache
def entries(cursor: int) -> bytes:
    """What stands between the brackets of one page."""
    if KIND == "worthless":
        return b"1" + b",1" * (BYTES // 2)
    if KIND == "empty":
        return b"{}" + b",{}" * (BYTES // 3)
    if KIND == "heavy":
        return heavy(range(cursor, min(1_000, cursor + PAGE)))
    if KIND == "heavy-line":
        return heavy(range(1_000))
    if KIND == "many":
        return b",".join([tool(number, f"Does thing {number}.") for number in range(100_000)])
    return tool(0, "Does one thing.")


def page(params: dict[str, Any]) -> bytes:
    cursor = int(params.get("cursor", 0))
    more = b',"nextCursor":"%d"' % (cursor + PAGE) if KIND == "heavy" and cursor + PAGE < 1_000 else b""
    return b'{"tools":[%b]%b}' % (entries(cursor), more)


def answer(line: bytes) -> bytes:
    """The answer to one message; nothing for a notification."""
    message = json.loads(line)
    if "id" not in message:
        return b""
    id, params = json.dumps(message["id"]).encode(), message.get("params") or {}
    if message["method"] == "tools/list":
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, page(params))
    if message["method"] == "initialize":
        info = {"capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "1"}}
        result = json.dumps({"protocolVersion": params["protocolVersion"], **info}).encode()
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"not served here"}}' % id


class Handler(BaseHTTPRequestHandler):
    """Answers a POST with one JSON message."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        said = answer(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200 if said else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


if "--http" in sys.argv:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
else:
    for line in sys.stdin.buffer:
        if said := answer(line):
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()
