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
    dense      1,000 tools whose schemas are full of empty objects, as many as are still taken
    wordy      60 tools of 60 KB each, every word another one
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KIND = sys.argv[1]
BYTES = int(sys.argv[sys.argv.index("--bytes") + 1]) if "--bytes" in sys.argv else 14_000_000
PAGE = 16


def tool(number: int, description: str) -> bytes:
    definition = {"name": f"tool_{number}", "description": description, "inputSchema": {"type": "object"}}
    return json.dumps(definition, separators=(",", ":")).encode()


def ordinary(number: int) -> bytes:
    return tool(number, f"Does thing {number}.")


def heavy(number: int) -> bytes:
    return tool(number, f"Does thing {number}. " + "word " * 12_000)


def dense(number: int) -> bytes:
    return b'{"name":"tool_%d","inputSchema":{"type":"object","enum":[{}%b]}}' % (number, b",{}" * 500)


def wordy(number: int) -> bytes:
    return tool(number, " ".join(f"w{number}x{word}" for word in range(6_500)))


WORTHLESS = {"worthless": b"1", "empty": b"{}"}
COUNTS = {"plain": 1, "heavy": 1_000, "heavy-line": 1_000, "many": 100_000, "dense": 1_000, "wordy": 60}
MAKERS = {"heavy": heavy, "heavy-line": heavy, "dense": dense, "wordy": wordy}


@cache
def entries(cursor: int) -> bytes:
    """What stands between the brackets of one page."""
    if KIND in WORTHLESS:
        return WORTHLESS[KIND] + b",%b" % WORTHLESS[KIND] * (BYTES // (len(WORTHLESS[KIND]) + 1))
    last = cursor + PAGE if KIND == "heavy" else COUNTS[KIND]
    return b",".join([MAKERS.get(KIND, ordinary)(number) for number in range(cursor, min(last, COUNTS[KIND]))])


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
        with suppress(ConnectionError):  # who asked has seen enough
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
