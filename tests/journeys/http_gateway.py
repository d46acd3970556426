"""The gateway as HTTP clients meet it: a process of its own on a free port, and the official client beside it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from toolcrib.upstream.watchdog_process import read_processes

# "auto" asks for the newest revision first; a test looks at what it found.
MODES = ("legacy", "auto")
BOUND_SECONDS = 20.0
_URL = re.compile(r"serves MCP at (http://\S+)")


def eventually(found: Callable[[], Any], seconds: float = BOUND_SECONDS) -> Any:
    """The first true answer of `found`; fails when there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.02)
    return answer


class HttpGateway(Protocol):
    """Whoever serves MCP over HTTP."""

    @property
    def url(self) -> str: ...

    @property
    def token(self) -> str: ...


@dataclass(frozen=True)
class RunningGateway:
    """A `toolcrib serve --http` that accepts connections."""

    process: subprocess.Popen[bytes]
    url: str
    home: Path
    files: tuple[Path, Path]

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def token(self) -> str:
        return (self.home / "token").read_text(encoding="ascii").strip()

    @property
    def stdout(self) -> str:
        return self.files[0].read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return self.files[1].read_text(encoding="utf-8")

    def stop(self) -> int:
        """Ask it to end, as a service manager would; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(BOUND_SECONDS)

    def descendants(self) -> set[int]:
        """Every process it has started that is still running, and those that these have started."""
        processes = read_processes()
        family = {self.process.pid}
        while more := {pid for pid, process in processes.items() if process.parent in family} - family:
            family |= more
        return family - {self.process.pid}


def still_running(pids: set[int]) -> set[int]:
    return pids & read_processes().keys()


def command_line(config: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "toolcrib", "--config", str(config), "serve", "--http", *options]


def write_config(folder: Path, servers: Mapping[str, Any], **discovery: Any) -> Path:
    """A configuration file with these servers and settings."""
    file = folder / "toolcrib.json"
    file.write_text(json.dumps({"discovery": {"servers": servers, **discovery}}), encoding="utf-8")
    return file


@contextmanager
def gateway_process(
    folder: Path, config: Path, environment: Mapping[str, str], *options: str, home: Path | None = None
) -> Iterator[RunningGateway]:
    """Start the gateway on a free port and wait until it says where; it is gone at the end, whatever happened."""
    home, out, err = home or folder / "home", folder / "stdout.txt", folder / "stderr.txt"
    env = {**environment, "TOOLCRIB_HOME": str(home)}
    with out.open("wb") as stdout, err.open("wb") as stderr:
        command = command_line(config, "--port", "0", *options)
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=env)
    try:
        eventually(lambda: process.poll() is not None or _URL.search(out.read_text(encoding="utf-8")))
        said = _URL.search(out.read_text(encoding="utf-8"))
        assert said is not None, err.read_text(encoding="utf-8")
        yield RunningGateway(process, said[1], home, (out, err))
    finally:
        process.terminate()
        try:
            process.wait(BOUND_SECONDS)
        finally:
            process.kill()


@asynccontextmanager
async def gateway_beside(folder: Path, config: Path, environment: Mapping[str, str]) -> AsyncIterator[RunningGateway]:
    """The same where the test's own loop serves an upstream: starting and stopping must not hold that loop up."""
    process = gateway_process(folder, config, environment)
    running = await asyncio.to_thread(process.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(process.__exit__, None, None, None)


class SharedGateway:
    """One gateway for the tests of a file, started by the first that needs it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._running: RunningGateway | None = None

    def start(self, environment: Mapping[str, str], servers: Mapping[str, Any], **discovery: Any) -> RunningGateway:
        if self._running is None:
            config = write_config(self._folder, servers, **discovery)
            self._running = self._stack.enter_context(gateway_process(self._folder, config, environment))
        return self._running


@asynccontextmanager
async def connect(gateway: HttpGateway, mode: str, *, name: str = "journey", **options: Any) -> AsyncIterator[Client]:
    """The official SDK's client, connected in the era that `mode` names."""
    headers = {"Authorization": f"Bearer {gateway.token}"}
    info = Implementation(name=name, version="1")
    async with httpx2.AsyncClient(headers=headers, timeout=BOUND_SECONDS) as http:
        transport = streamable_http_client(gateway.url, http_client=http)
        async with Client(
            transport, mode=mode, client_info=info, read_timeout_seconds=BOUND_SECONDS, **options
        ) as client:
            yield client
