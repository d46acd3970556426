"""The gateway as HTTP clients meet it: a process of its own on a free port, and the official client beside it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation

from toolcrib.upstream.watchdog_process import read_processes

# The newest revision is what "auto" finds; see the test of the handshake.
MODES = ("legacy", "auto")
BOUND_SECONDS = 30.0
_URL = re.compile(r"serves MCP at (http://\S+)")


def eventually(found: Callable[[], Any], seconds: float = BOUND_SECONDS) -> Any:
    """The first true answer of `found`; fails when there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.02)
    return answer


@dataclass(frozen=True)
class RunningGateway:
    """A `toolcrib serve --http` that accepts connections."""

    process: subprocess.Popen[bytes]
    url: str
    home: Path
    said: Path
    complained: Path

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def token(self) -> str:
        return (self.home / "token").read_text(encoding="ascii").strip()

    @property
    def stderr(self) -> str:
        return self.complained.read_text(encoding="utf-8")

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


def command_line(config: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "toolcrib", "--config", str(config), "serve", "--http", *options]


def write_config(folder: Path, servers: Mapping[str, Any], **discovery: Any) -> Path:
    """A configuration file with these servers and settings."""
    file = folder / "toolcrib.json"
    file.write_text(json.dumps({"discovery": {"servers": servers, **discovery}}), encoding="utf-8")
    return file


@contextmanager
def gateway_process(folder: Path, config: Path, environment: Mapping[str, str]) -> Iterator[RunningGateway]:
    """Start the gateway on a free port and wait until it says where; it is stopped at the end, whatever happened."""
    home, said, complained = folder / "home", folder / "stdout.txt", folder / "stderr.txt"
    env = {**environment, "TOOLCRIB_HOME": str(home)}
    with said.open("wb") as out, complained.open("wb") as err:
        process = subprocess.Popen(command_line(config, "--port", "0"), stdout=out, stderr=err, env=env)
    try:
        url = eventually(lambda: process.poll() is not None or _URL.search(said.read_text(encoding="utf-8")))
        assert process.poll() is None, complained.read_text(encoding="utf-8")
        yield RunningGateway(process, url[1], home, said, complained)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(BOUND_SECONDS)
            finally:
                process.kill()


@asynccontextmanager
async def gateway_beside(
    folder: Path, config: Path, environment: Mapping[str, str]
) -> AsyncIterator[RunningGateway]:
    """The same for a test whose own loop serves the upstream: starting and stopping must not hold that loop up."""
    process = gateway_process(folder, config, environment)
    running = await asyncio.to_thread(process.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(process.__exit__, None, None, None)


@asynccontextmanager
async def connect(gateway: RunningGateway, mode: str, *, name: str = "journey", **options: Any) -> AsyncIterator[Client]:
    """The official SDK's client, connected in the era that `mode` names."""
    headers = {"Authorization": f"Bearer {gateway.token}"}
    info = Implementation(name=name, version="1")
    async with httpx2.AsyncClient(headers=headers, timeout=BOUND_SECONDS) as http:
        transport = streamable_http_client(gateway.url, http_client=http)
        async with Client(
            transport, mode=mode, client_info=info, read_timeout_seconds=BOUND_SECONDS, **options
        ) as client:
            yield client


async def execute(client: Client, server: str, tool: str, **arguments: Any) -> CallToolResult:
    """`execute_tool`, as it came back."""
    asked = {"server": server, "tool": tool, "arguments": arguments}
    return await client.call_tool("execute_tool", asked)


async def ask(client: Client, meta_tool: str, **arguments: Any) -> Any:
    """The JSON that a meta-tool answered."""
    return answer(await client.call_tool(meta_tool, arguments))


def answer(result: CallToolResult) -> Any:
    """The JSON in the only block of an answer."""
    (block,) = result.content
    return json.loads(block.text)


def failure(result: CallToolResult) -> Any:
    """The error of an answer that must be a failure."""
    assert result.is_error
    body = answer(result)
    assert body["success"] is False
    return body["error"]


def is_running(pid: int) -> bool:
    return pid in read_processes()


def plain_environment() -> dict[str, str]:
    """For a gateway that several tests share, which is started outside of any one test's environment."""
    wanted = ("HOME", "PATH", "COVERAGE_PROCESS_CONFIG")
    return {name: os.environ[name] for name in wanted if name in os.environ}
