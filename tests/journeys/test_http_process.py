"""`toolcrib serve --http` as a process: how it starts, what it tells, whom it serves at once, how it ends."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.journeys.http_gateway import (
    BOUND_SECONDS,
    MODES,
    RunningGateway,
    command_line,
    connect,
    eventually,
    gateway_process,
    still_running,
    write_config,
)
from tests.journeys.stdio_gateway import ask, run, text
from tests.peers.cards import KITCHEN, known_peer
from tests.servers.launch import Launch
from toolcrib.storage.sqlite_peers import SqlitePeers

if sys.platform != "win32":
    import resource

CLIENTS, CALLS = 20, 10
# The gateway has the process for itself, or is the engine that clients on pipes would share.
WAYS = ("alone", "engine") if sys.platform != "win32" else ("alone",)

Serve = Callable[[Path], AbstractContextManager[RunningGateway]]


@pytest.fixture(params=WAYS)
def serve(request: pytest.FixtureRequest, tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Serve]:
    """`toolcrib serve --http` with a configuration, in each way that there is."""
    if request.param == "alone":
        yield lambda config: gateway_process(tmp_path, config, process_environment)
        return
    shared = {name: value for name, value in process_environment.items() if name != "TOOLCRIB_ENGINE_ENABLED"}
    # The path of a socket must be short, and those of pytest are not.
    with tempfile.TemporaryDirectory(prefix="tc") as home:
        yield lambda config: gateway_process(tmp_path, config, shared, home=Path(home))


async def test_many_clients_of_both_eras_are_each_answered_right(
    tmp_path: Path, serve: Serve, everything_server: Launch
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()})

    async def work(number: int) -> list[str]:
        async with connect(gateway, MODES[number % 2], name=f"client {number}") as client:
            calls = [run(client, "everything", "echo", message=f"{number}/{call}") for call in range(CALLS)]
            return await asyncio.gather(*calls)

    with serve(config) as gateway:
        answers = await asyncio.gather(*map(work, range(CLIENTS)))
        assert answers == [[f"Echo: {number}/{call}" for call in range(CALLS)] for number in range(CLIENTS)]
        assert gateway.stop() == 0
        assert gateway.stderr == ""
    callers = [json.loads(line)["caller"] for line in (gateway.home / "audit.jsonl").read_text().splitlines()]
    assert sorted(callers) == sorted([f"client {number}" for number in range(CLIENTS)] * CALLS)


@pytest.mark.parametrize("mode", MODES)
async def test_sigterm_ends_it_and_its_children_while_a_call_runs(
    tmp_path: Path, serve: Serve, everything_server: Launch, mode: str
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()}, shutdownGrace=0.5)
    progressed = asyncio.Event()

    async def hear(*_: object) -> None:
        progressed.set()

    operation = long_operation(duration=60, steps=600)
    with serve(config) as gateway:
        async with connect(gateway, mode) as client, asyncio.timeout(BOUND_SECONDS):
            call = asyncio.create_task(client.call_tool("execute_tool", operation, progress_callback=hear))
            await progressed.wait()
            family = gateway.descendants()
            assert family
            assert await asyncio.to_thread(gateway.stop) == 0
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        eventually(lambda: not still_running(family), seconds=5)
        assert gateway.stderr == ""


@pytest.mark.parametrize("mode", MODES)
async def test_a_short_call_is_still_answered_after_sigterm(
    tmp_path: Path, serve: Serve, everything_server: Launch, mode: str
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()}, shutdownGrace=10)
    progressed = asyncio.Event()

    async def hear(*_: object) -> None:
        progressed.set()

    operation = long_operation(duration=1, steps=10)
    with serve(config) as gateway:
        async with connect(gateway, mode) as client, asyncio.timeout(BOUND_SECONDS):
            await client.list_tools()  # or the client would ask for it after the call, of a gateway that is gone
            call = asyncio.create_task(client.call_tool("execute_tool", operation, progress_callback=hear))
            await progressed.wait()
            stopped = asyncio.create_task(asyncio.to_thread(gateway.stop))
            assert "operation completed" in text(await call)
            assert await stopped == 0


def long_operation(**arguments: float) -> dict[str, object]:
    return {"server": "everything", "tool": "trigger-long-running-operation", "arguments": arguments}


def test_health_is_told_without_a_token_and_nothing_else_is(
    tmp_path: Path, process_environment: dict[str, str]
) -> None:
    with gateway_process(tmp_path, write_config(tmp_path, {}), process_environment) as gateway:
        health = httpx2.get(f"{gateway.origin}/health")
        assert (health.status_code, health.json()) == (200, {"status": "ok"})
        for path in ("/mcp", "/", "/token", "/health/", "/docs"):
            assert httpx2.get(gateway.origin + path).status_code == 401


def test_the_token_is_kept_between_starts_and_shown_nowhere(tmp_path: Path, serve: Serve) -> None:
    tokens, config = [], write_config(tmp_path, {})
    for _ in range(2):
        with serve(config) as gateway:
            tokens.append(gateway.token)
            assert stat.S_IMODE((gateway.home / "token").stat().st_mode) == 0o600
            assert gateway.token not in gateway.stdout + gateway.stderr
            assert str(gateway.home / "token") in gateway.stdout
    assert len(tokens[0]) >= 32
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize("options", [(), ("--demo",)])
def test_the_greeting_has_an_entry_with_which_a_client_can_start_it(
    options: tuple[str, ...], tmp_path: Path, process_environment: dict[str, str]
) -> None:
    """Somebody who ran `make run` has no `toolcrib` on the path of a client."""
    config = write_config(tmp_path, {})
    with gateway_process(tmp_path, config, process_environment, *options) as gateway:
        greeting = gateway.stdout
    over_http, started = (
        json.JSONDecoder().raw_decode(part)[0]["mcpServers"]["toolcrib"]
        for part in re.split(r"\n  (?={)", greeting)[1:]
    )
    assert over_http["url"] == gateway.url
    entry = started
    told = ["--config", str(config), "serve", *options]
    assert entry["args"][-len(told) :] == told
    version = [entry["command"], *entry["args"][: -len(told)], "--version"]
    ran = subprocess.run(version, env={}, capture_output=True, text=True, timeout=BOUND_SECONDS, check=True)
    assert ran.stdout.startswith("toolcrib ")


@pytest.mark.skipif(sys.platform == "win32", reason="open files have no limit there")
def test_hundreds_of_half_open_connections_neither_deafen_it_nor_keep_it_from_ending(
    tmp_path: Path, process_environment: dict[str, str]
) -> None:
    with ExitStack() as stack:
        with few_open_files(256):
            config = write_config(tmp_path, {})
            gateway = stack.enter_context(gateway_process(tmp_path, config, process_environment))
        address = ("127.0.0.1", httpx2.URL(gateway.url).port)
        for _ in range(300):
            line = stack.enter_context(socket.create_connection(address, timeout=BOUND_SECONDS))
            line.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0")
        assert httpx2.get(f"{gateway.origin}/health", timeout=BOUND_SECONDS).status_code == 200
        assert gateway.stop() == 0
        assert gateway.stderr == ""


@contextmanager
def few_open_files(most: int) -> Iterator[None]:
    """Processes started here may open only so many files and connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_sessions_are_limited_and_one_that_ends_makes_room(tmp_path: Path, serve: Serve) -> None:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "many", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info}
    config = write_config(tmp_path, {}, http={"maxSessions": 2})
    with serve(config) as gateway:
        headers = {"Authorization": f"Bearer {gateway.token}", "Accept": "application/json, text/event-stream"}
        with httpx2.Client(headers=headers, timeout=BOUND_SECONDS) as client:
            opened = [client.post(gateway.url, json=hello) for _ in range(3)]
            assert [answer.status_code for answer in opened] == [200, 200, 503]
            client.delete(gateway.url, headers={"mcp-session-id": opened[0].headers["mcp-session-id"]})
            assert client.post(gateway.url, json=hello).status_code == 200


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path, serve: Serve) -> None:
    with serve(write_config(tmp_path, {})) as gateway:
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.process.wait(BOUND_SECONDS) == 0
        assert gateway.stderr == ""


async def test_with_nothing_configured_it_starts_and_says_so(
    tmp_path: Path, process_environment: dict[str, str]
) -> None:
    with gateway_process(tmp_path, write_config(tmp_path, {}), process_environment) as gateway:
        async with connect(gateway, "auto") as client:
            listed = await ask(client, "list_mcp_servers")

    assert listed["servers"] == []
    assert listed["note"].startswith("No server is configured yet.")


def test_a_port_in_use_is_said_plainly_and_ends_the_start(tmp_path: Path, process_environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = write_config(tmp_path, {}, http={"port": port})
        ended = start_and_end(command_line(config), process_environment)
    assert ended.returncode == 2
    assert "http.port" in ended.stderr
    assert f"port {port} can't be used: Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("options", [("--host", "203.0.113.7"), ("--host", "no such host"), ("--port", "70000")])
def test_an_address_of_no_use_is_said_plainly(
    tmp_path: Path, process_environment: dict[str, str], options: tuple[str, str]
) -> None:
    ended = start_and_end(command_line(write_config(tmp_path, {}), "--port", "0", *options), process_environment)
    assert ended.returncode in (1, 2)
    assert options[1] in ended.stderr
    assert "Traceback" not in ended.stderr


def start_and_end(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)


def test_the_peer_pages_need_the_token(tmp_path: Path, process_environment: dict[str, str]) -> None:
    config = write_config(tmp_path, {}, peers={"enabled": True, "mdns": False})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        with closing(SqlitePeers(gateway.home / "catalogue.db")) as store:
            store.save_peers([known_peer()])
        allowed = {"authorization": f"Bearer {gateway.token}"}
        for path in ("/peers", "/p2p/cards", "/p2p/info", "/agent/card", "/.well-known/agent-card.json"):
            assert httpx2.get(gateway.origin + path).status_code == 401
            assert httpx2.get(gateway.origin + path, headers={**allowed, "host": "evil.example"}).status_code == 421
            assert httpx2.get(gateway.origin + path, headers={**allowed, "origin": "null"}).status_code == 403
        assert httpx2.post(f"{gateway.origin}/p2p/tool", json={}).status_code == 401
        (peer,) = httpx2.get(f"{gateway.origin}/peers", headers=allowed).json()
        assert peer["id"] == KITCHEN.peer_id
        assert list(httpx2.get(f"{gateway.origin}/p2p/cards", headers=allowed).json()) == [KITCHEN.peer_id]
