"""The gateway as stdio clients meet it: a process of its own, driven by the official client or line by line."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Implementation

from tests.servers.launch import Launch
from toolcrib.upstream.watchdog_process import read_process

MODES = ("legacy", "2026-07-28")
ERAS = ("legacy", "modern")
BOUND_SECONDS = 20.0
TAG, SERVER = "JOURNEY_TAG", "JOURNEY_SERVER"
SCRIPTED_SERVER = Path(__file__).with_name("programs") / "scripted_server.py"


async def eventually(predicate: Callable[[], Any], seconds: float = BOUND_SECONDS) -> Any:
    """The first true answer of `predicate`; fails when there is none within `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not (answer := predicate()):
        assert asyncio.get_running_loop().time() < deadline, f"still not so after {seconds} s"
        await asyncio.sleep(0.02)
    return answer


class Scripted:
    """One of our small servers, and what it has written down."""

    def __init__(self, log: Path, era: str = "legacy", manner: str = "plain", **settings: Any) -> None:
        self.log = log
        self.settings = settings
        self.launch = Launch(sys.executable, ("-I", "-S", str(SCRIPTED_SERVER), str(log), era, manner))

    def entry(self) -> dict[str, Any]:
        return {**self.launch.entry(), **self.settings}

    @property
    def facts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def starts(self) -> list[int]:
        """The process id of each start so far."""
        return [fact["pid"] for fact in self.facts if "start" in fact]

    @property
    def methods(self) -> list[str]:
        """The methods of all messages, in the order they came."""
        return [fact["line"]["method"] for fact in self.facts if "line" in fact]

    def speak(self, era: str) -> None:
        """Let a server whose era is `file` speak this one from its next start on."""
        self.log.with_name(f"{self.log.name}.era").write_text(era)

    def let_go(self) -> None:
        """Let its tool `wait` answer."""
        self.log.with_name(f"{self.log.name}.go").touch()

    def received(self, method: str) -> list[dict[str, Any]]:
        """The messages with this method, in the order they came."""
        return [fact["line"] for fact in self.facts if fact.get("line", {}).get("method") == method]


class Workshop:
    """A home, a configuration and the gateways started with them; every process of them carries one tag."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.config = folder / "toolcrib.json"
        self.home = Path(environment["TOOLCRIB_HOME"])
        self.tag = secrets.token_hex(8)
        self.environment = {**environment, TAG: self.tag}
        self.stderr = folder / "stderr.txt"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "toolcrib", "--config", str(self.config), "serve"]

    @property
    def complaints(self) -> str:
        return self.stderr.read_text(encoding="utf-8")

    def scripted(self, name: str, era: str = "legacy", manner: str = "plain", **settings: Any) -> Scripted:
        """One of our small servers; `settings` are for its entry in the configuration."""
        return Scripted(self.folder / f"{name}.jsonl", era, manner, **settings)

    def both_eras(self) -> dict[str, Scripted]:
        """A server of each era, named after it."""
        return {era: self.scripted(era, era) for era in ERAS}

    def configure(self, servers: Mapping[str, Launch | Scripted | dict[str, Any]], **discovery: Any) -> None:
        """Write the configuration file; a file that is there is replaced as an editor would."""
        entries = {name: self._entry(name, server) for name, server in servers.items()}
        fresh = self.config.with_suffix(".new")
        fresh.write_text(json.dumps({"discovery": {"servers": entries, **discovery}}), encoding="utf-8")
        fresh.replace(self.config)

    def _entry(self, name: str, server: Launch | Scripted | dict[str, Any]) -> dict[str, Any]:
        entry = server if isinstance(server, dict) else server.entry()
        if "url" in entry:
            return entry
        return {**entry, "env": {**entry.get("env", {}), TAG: self.tag, SERVER: name}}

    # -- clients

    @asynccontextmanager
    async def client(self, mode: str = MODES[0], *, name: str = "journey", **options: Any) -> AsyncIterator[Client]:
        """The official SDK's client, connected to a gateway that it started."""
        server = StdioServerParameters(command=self.command[0], args=self.command[1:], env=self.environment)
        info = Implementation(name=name, version="1")
        with self.stderr.open("a", encoding="utf-8") as errlog:
            transport = stdio_client(server, errlog=errlog)
            async with Client(
                transport, mode=mode, client_info=info, read_timeout_seconds=BOUND_SECONDS, **options
            ) as client:
                yield client

    @asynccontextmanager
    async def lines(self, *command: str, cwd: Path | None = None, **environment: str) -> AsyncIterator[LineClient]:
        """A gateway on bare pipes; it is killed at the end where it still runs."""
        with self.stderr.open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(command or self.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**self.environment, **environment},
                cwd=cwd,
                limit=32 * 1024 * 1024,
            )
        client = LineClient(process)
        try:
            yield client
        finally:
            await client.close()

    # -- processes

    def processes(self, **variables: str) -> set[int]:
        """The living processes that carry the tag and these variables, started directly or not."""
        wanted = {f"{name}={value}".encode() for name, value in {TAG: self.tag, **variables}.items()}
        return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if wanted <= _environment(pid)}

    def children(self, server: str) -> set[int]:
        return self.processes(**{SERVER: server})

    def upstreams(self) -> set[int]:
        """Every process of every server."""
        return {pid for pid in self.processes() if any(e.startswith(SERVER.encode()) for e in _environment(pid))}

    def gateway(self) -> int:
        """The one gateway that runs."""
        (pid,) = (pid for pid in self.processes() if b"toolcrib\0" in _command_line(pid))
        return pid


def _environment(pid: int) -> set[bytes]:
    if read_process(pid) is None:  # gone, or a zombie
        return set()
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class LineClient:
    """Speaks to a gateway in lines, right or wrong ones, and keeps every line it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.messages: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            while line := await self.process.stdout.readline():
                self.messages.append(json.loads(line))  # whatever is no JSON fails the test here
                self._news.set()
        finally:
            self._news.set()

    def send(self, *messages: Any) -> None:
        """Write messages at once; bytes go out as they are, with a line end."""
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(line + b"\n")

    async def until(self, found: Callable[[], Any]) -> Any:
        """The first true answer of `found`, asked after each line the gateway says."""
        async with asyncio.timeout(BOUND_SECONDS):
            while not (answer := found()):
                assert not self._reading.done(), f"it ended, having said {self.messages}"
                self._news.clear()
                await self._news.wait()
        return answer

    async def answer(self, id: int | str | None) -> dict[str, Any]:
        """The answer to one request."""
        return await self.until(lambda: next((m for m in self.messages if "method" not in m and m["id"] == id), None))

    async def ask(self, id: int | str, method: str, /, **params: Any) -> dict[str, Any]:
        self.send({"id": id, "method": method, "params": params})
        return await self.answer(id)

    async def call(self, id: int | str, meta_tool: str, /, **arguments: Any) -> dict[str, Any]:
        return await self.ask(id, "tools/call", name=meta_tool, arguments=arguments)

    async def execute(self, id: int | str, server: str, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of `execute_tool`."""
        answered = await self.call(id, "execute_tool", server=server, tool=tool, arguments=arguments)
        return answered["result"]

    async def initialize(self) -> dict[str, Any]:
        self.send(*HELLO)
        return await self.answer("hello")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = BOUND_SECONDS) -> int:
        """The exit code, once it has ended and all it said was read."""
        async with asyncio.timeout(seconds):
            await self._reading
            return await self.process.wait()

    async def leave(self, seconds: float = BOUND_SECONDS) -> int:
        """Close our side, as a client that is done does; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.ended(seconds)

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.ended()


HELLO: tuple[dict[str, Any], ...] = (
    {
        "id": "hello",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "lines", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
)


def execution(id: int | str, server: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """The request that runs a tool."""
    asked = {"server": server, "tool": tool, "arguments": arguments}
    return {"id": id, "method": "tools/call", "params": {"name": "execute_tool", "arguments": asked}}


async def ask(client: Client, meta_tool: str, **arguments: Any) -> Any:
    """The JSON that a meta-tool answered."""
    return body(await client.call_tool(meta_tool, arguments))


async def execute(client: Client, server: str, tool: str, **arguments: Any) -> CallToolResult:
    """`execute_tool`, as it came back."""
    return await client.call_tool("execute_tool", {"server": server, "tool": tool, "arguments": arguments})


async def run(client: Client, server: str, tool: str, **arguments: Any) -> str:
    """The text of a tool's answer that must be a success."""
    result = await execute(client, server, tool, **arguments)
    assert not result.is_error, result.content
    return text(result)


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


def body(result: CallToolResult) -> Any:
    return json.loads(text(result))


def failure(result: CallToolResult) -> dict[str, Any]:
    """The error in an answer that must be a failure."""
    assert result.is_error, result.content
    answered = body(result)
    assert answered["success"] is False
    return answered["error"]


def line_failure(result: Mapping[str, Any]) -> dict[str, Any]:
    """The same for an answer that came as a line."""
    assert result["isError"], result
    return json.loads(result["content"][0]["text"])["error"]
