"""A small MCP server whose one tool never comes to an end, or says far too much meanwhile.

    python -I -S bench/hostile_calls_server.py KIND [--http]

Standard library only. Over HTTP it takes a free port and says which on its first line. It is a program that nobody imports.

KIND is what the server does from the first call on:
    progress   reports progress of the call, without end
    logs       sends log messages without end
    changed    says without end that its tools have changed
    questions  asks the client something, without end
    answers    answers requests that nobody made, without end
    blanks     sends blank lines, over HTTP comments, without end
    endless    sends one message that has no end
    drip       sends its answer byte by byte, and never the last one
    deep       answers with a result that is nested 200,000 levels deep
    structure  answers with a text and structured content of five million empty objects
    keys       the same with a million keys
    blocks     answers with half a million empty texts
    block      answers with one text that has millions of empty objects beside it
    meta       answers with a text and `_meta` of millions of empty objects
    members    answers with a result that has a million members
    interim    answers with millions of empty objects in place of questions
    stderr     writes to its standard error without end, and does not answer
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

KIND = sys.argv[1]
IS_HTTP = "--http" in sys.argv
# Many at once: one by one, the system calls would be the slowest part.
AT_ONCE = 200
AT_ONCE_AND_WHOLE = frozenset({"deep", "structure", "keys", "blocks", "block", "meta", "members", "interim"})
TEXT = b'{"type":"text","text":"a"}'
MOST_RESULT_BYTES = 9_000_000 if IS_HTTP else 15_000_000


def message(method: str, params: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()


def repeated(number: int, token: Any) -> bytes:
    if KIND == "progress":
        return message("notifications/progress", {"progressToken": token, "progress": number, "message": "x" * 200})
    if KIND == "logs":
        return message("notifications/message", {"level": "error", "data": f"{number} " + "x" * 200})
    if KIND == "changed":
        return message("notifications/tools/list_changed", {})
    if KIND == "questions":
        asked = {"message": "x" * 200, "requestedSchema": {"type": "object", "properties": {}}}
        return message("elicitation/create", asked, id=f"q{number}")
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": []}}).encode()


def result(id: bytes) -> bytes:
    """A whole answer that is meant to hurt."""
    contents = {
        "deep": lambda: b'"content":[],"structuredContent":{"a":%b}' % (b"[" * 200_000 + b"]" * 200_000),
        "keys": lambda: b'"content":[%b],"structuredContent":{%b}' % (TEXT, keys()),
        "blocks": lambda: b'"content":[%b]' % many(b'{"type":"text","text":""}'),
        "block": lambda: b'"content":[{"type":"text","text":"a","annotations":[%b]}]' % many(b"{}"),
        "meta": lambda: b'"content":[%b],"_meta":{"a":[%b]}' % (TEXT, many(b"{}")),
        "members": lambda: b'"content":[%b],%b' % (TEXT, keys()),
        "interim": lambda: b'"resultType":"input_required","inputRequests":{"a":[%b]}' % many(b"{}"),
    }
    inside = (
        contents[KIND]() if KIND in contents else b'"content":[%b],"structuredContent":{"a":[%b]}' % (TEXT, many(b"{}"))
    )
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}' % (id, inside)


def many(value: bytes) -> bytes:
    return b",".join(repeat(value, MOST_RESULT_BYTES // (len(value) + 1)))


def keys() -> bytes:
    return b",".join(b'"%x":0' % number for number in range(MOST_RESULT_BYTES // 11))


def pieces(id: bytes, token: Any) -> Iterator[bytes]:
    """What is sent in place of an answer, piece by piece; complete messages end with a line end."""
    if KIND in AT_ONCE_AND_WHOLE:
        yield result(id) + b"\n"
    elif KIND == "blanks":
        yield from repeat(b"\n" * 10_000)
    elif KIND == "endless":
        yield b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"' % id
        yield from repeat(b"x" * 65_536)
    elif KIND == "drip":
        yield from slowly(result(id)[:-1])
    elif KIND == "stderr":
        while True:
            sys.stderr.write("x" * 99 + "\n")
    else:
        for begin in count(1_000, AT_ONCE):
            yield b"".join(repeated(number, token) + b"\n" for number in range(begin, begin + AT_ONCE))


def slowly(text: bytes) -> Iterator[bytes]:
    for byte in text:
        yield bytes([byte])
        time.sleep(0.01)


def answer(asked: dict[str, Any]) -> bytes:
    id, params = json.dumps(asked["id"]).encode(), asked.get("params") or {}
    if asked["method"] == "tools/list":
        found: Any = {"tools": [{"name": "tool_0", "description": "Does a thing.", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "initialize":
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        info = {"capabilities": capabilities, "serverInfo": {"name": "hostile", "version": "1"}}
        found = {"protocolVersion": params["protocolVersion"], **info}
    elif asked["method"] == "logging/setLevel":
        found = {}
    else:
        return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"not served here"}}' % id
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, json.dumps(found).encode())


def said_to_call(asked: dict[str, Any]) -> Iterator[bytes]:
    token = ((asked.get("params") or {}).get("_meta") or {}).get("progressToken")
    return pieces(json.dumps(asked["id"]).encode(), token)


class Handler(BaseHTTPRequestHandler):
    """Answers a POST with one JSON message, and a call with whatever its kind is."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("method") == "tools/call":
            with suppress(ConnectionError):  # who asked has seen enough
                self.misbehave(asked)
            return
        said = answer(asked) if "id" in asked and "method" in asked else b""
        self.send_response(200 if said else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def misbehave(self, asked: dict[str, Any]) -> None:
        is_stream = KIND not in {*AT_ONCE_AND_WHOLE, "drip", "endless"}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for piece in said_to_call(asked):
            if KIND == "blanks":
                self.wfile.write(b": nothing\n" * 1_000)
            elif is_stream:
                self.wfile.write(b"".join(b"data: %b\n\n" % line for line in piece.splitlines()))
            else:
                self.wfile.write(piece.rstrip(b"\n"))

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


if IS_HTTP:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
else:
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if asked.get("method") == "tools/call":
            for piece in said_to_call(asked):
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
        elif "id" in asked and "method" in asked:
            sys.stdout.buffer.write(answer(asked) + b"\n")
            sys.stdout.buffer.flush()
