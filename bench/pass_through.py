"""The bare pass-through: what a gateway costs that does nothing but pass on.

    python -I -S bench/pass_through.py COMMAND [ARGUMENT ...]

Standard library only, no SDK. A line from the client is parsed, its id is replaced by one of our own, and it is written
to the server; the answer is parsed and gets the client's id back. One thread and one `select` over both pipes, since a
gateway has to serve many pipes at once. Measured beside it: the same on asyncio is 1.10 times as slow, the same with a
blocking thread for each direction 0.95 times.
It is a program that nobody imports.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Relay:
    """The ids under way, and the change each line gets in either direction."""

    def __init__(self) -> None:
        self.client_ids: dict[int, Any] = {}
        self.last_id = 0

    def to_server(self, line: bytes) -> bytes:
        message = json.loads(line)
        if "id" in message:
            self.last_id += 1
            self.client_ids[self.last_id] = message["id"]
            message["id"] = self.last_id
        return encode(message)

    def to_client(self, line: bytes) -> bytes:
        message = json.loads(line)
        if "id" in message:
            message["id"] = self.client_ids.pop(message["id"])
        return encode(message)


class Direction:
    """Lines from one descriptor to another."""

    def __init__(self, source: int, target: int, change: Callable[[bytes], bytes]) -> None:
        self.source = source
        self.target = target
        self.change = change
        self.parts: list[bytes] = []

    def move(self) -> bool:
        """Pass on what is there now; False at the end of input."""
        chunk = os.read(self.source, 1 << 16)
        if b"\n" in chunk:
            *lines, rest = b"".join([*self.parts, chunk]).split(b"\n")
            self.parts = [rest]
            write_all(self.target, b"".join([self.change(line) for line in lines if line]))
        else:
            self.parts.append(chunk)
        return bool(chunk)


def encode(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def pump(into_child: int, out_of_child: int) -> None:
    relay = Relay()
    directions = {
        0: Direction(0, into_child, relay.to_server),
        out_of_child: Direction(out_of_child, 1, relay.to_client),
    }
    while all(directions[ready].move() for ready in select.select([*directions], [], [])[0]):
        pass


with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
    assert child.stdin is not None
    assert child.stdout is not None
    pump(child.stdin.fileno(), child.stdout.fileno())
