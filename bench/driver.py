"""A client that adds next to nothing: raw JSON-RPC over the pipes of a process, with blocking reads and writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

Era = Literal["legacy", "modern"]

HERE = Path(__file__).resolve().parent
PROGRAM = Path(sys.executable).with_name("toolcrib")
CLIENT = {"name": "bench", "version": "1"}
MODERN_META = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_INFO_META_KEY: CLIENT,
    CLIENT_CAPABILITIES_META_KEY: {},
}
# As much as a pipe holds: asking for more makes every read allocate for it.
READ_BYTES = 1 << 16
LONGEST_LIFE_SECONDS = 240.0


class PeerGone(Exception):
    """The process under measurement ended, or outlived its time."""


class Peer:
    """One MCP server process and the client's end of its pipes."""

    def __init__(
        self,
        command: Sequence[str],
        era: Era,
        env: Mapping[str, str] | None = None,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        self.era = era
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=None if env is None else dict(env),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self._into, self._out_of = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._last_id = 0
        # A read that never ends is ended from outside, so that no timed read needs a deadline of its own.
        self._reaper = threading.Timer(LONGEST_LIFE_SECONDS, self._process.kill)
        self._reaper.daemon = True
        self._reaper.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reaper.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)

    def greet(self) -> dict[str, Any]:
        """The opening of the era: a handshake, or (modern) nothing but a question for who is there."""
        if self.era == "modern":
            return self.ask("server/discover", {})
        opening = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": CLIENT}
        answer = self.ask("initialize", opening)
        self._write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return answer

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The decoded result of any request."""
        answer = json.loads(self.exchange(self.request(method, params)))
        if "result" not in answer:
            raise PeerGone(f"{method} was refused: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The decoded result of a tool, which must not be an error."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise PeerGone(f"{tool} failed: {result['content']}")
        return result

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a request whose answer nobody waits for."""
        meta = {**(MODERN_META if self.era == "modern" else {}), **params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": "unawaited", "method": method, "params": {**params, "_meta": meta}}
        os.write(self._into, json.dumps(message).encode() + b"\n")

    def request(self, method: str, params: Mapping[str, Any]) -> bytes:
        """A request made ready to be sent as often as needed: all of it that follows the id."""
        dressed = {**params, "_meta": MODERN_META} if self.era == "modern" else dict(params)
        text = json.dumps({"method": method, "params": dressed}, separators=(",", ":"))
        return b",%b\n" % text[1:].encode()

    def exchange(self, request: bytes) -> bytes:
        """Send one request and wait for the line that answers it; the path that is timed."""
        self._last_id += 1
        wanted = b'"id":%d,' % self._last_id
        os.write(self._into, b'{"jsonrpc":"2.0",%b%b' % (wanted[:-1], request))
        while True:
            for line in self._read_lines():
                if wanted in line[:64]:
                    return line

    def burst(self, request: bytes, count: int) -> list[bytes]:
        """Send the same request `count` times at once and wait for as many answers."""
        first = self._last_id + 1
        self._last_id += count
        ids = range(first, self._last_id + 1)
        self._write(b"".join([b'{"jsonrpc":"2.0","id":%d%b' % (id, request) for id in ids]))
        answers: list[bytes] = []
        while len(answers) < count:
            answers += [line for line in self._read_lines() if b'"id":' in line[:64]]
        return answers

    def _read_lines(self) -> list[bytes]:
        parts: list[bytes] = []
        while not (parts and parts[-1].endswith(b"\n")):
            parts.append(os.read(self._out_of, READ_BYTES))
            if not parts[-1]:
                raise PeerGone(f"process {self.pid} ended with status {self._process.poll()}")
        return b"".join(parts).split(b"\n")[:-1]

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._into, view) :]


def synthetic(era: Era) -> list[str]:
    """The command line of the synthetic server."""
    return [sys.executable, "-I", "-S", str(HERE / "synthetic_server.py"), "--era", era]


def behind_pass_through(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", str(HERE / "pass_through.py"), *command]


def toolcrib(config: Path) -> list[str]:
    """A gateway in a process of its own."""
    return [sys.executable, "-m", "toolcrib", "--quiet", "--config", str(config), "serve", "--in-process"]


def connector(config: Path) -> list[str]:
    """What an AI client starts: it hands its pipes to the engine that all clients share."""
    return [str(PROGRAM), "--quiet", "--config", str(config), "serve"]


def toolcrib_environment(home: Path) -> dict[str, str]:
    """The person's environment, less their own settings, with all state under `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLCRIB_", "CCOS_MCP_"))}
    return {**kept, "TOOLCRIB_HOME": str(home)}
