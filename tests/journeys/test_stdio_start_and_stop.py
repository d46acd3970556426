"""How the gateway starts, with good, bad and no configuration, and how it ends, leaving nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stdio_gateway import HELLO, MODES, Workshop, eventually, execution, line_failure, run

PYTHON_M = (sys.executable, "-m", "toolcrib")


def said(answer: dict[str, Any]) -> Any:
    return json.loads(answer["result"]["content"][0]["text"])


# -- starting


async def test_with_no_configuration_at_all_it_starts_and_says_so(workshop: Workshop):
    async with workshop.lines(*PYTHON_M, "serve") as client:
        hello = await client.initialize()
        assert "No server is configured yet" in hello["result"]["instructions"]
        listed = said(await client.call(1, "list_mcp_servers"))
        assert listed["servers"] == []
        assert "No server is configured" in listed["note"]
        assert "toolcrib adopt" in said(await client.call(2, "search_tools", query="send a mail"))["note"]
        nothing = await client.execute(3, "mail", "send")
        assert line_failure(nothing)["code"] == "SERVER_NOT_FOUND"
        assert await client.leave() == 0


async def test_with_no_configuration_the_servers_of_an_ai_client_are_found(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    entry = {"command": scripted.launch.command, "args": list(scripted.launch.args)}
    home = Path(workshop.environment["HOME"])
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"from-client": entry}}))

    async with workshop.lines(*PYTHON_M, "serve") as client:
        await client.initialize()
        answer = await client.execute(1, "from-client", "echo", text="found you")

    assert answer["content"][0]["text"] == "found you"


@pytest.mark.parametrize("command", [PYTHON_M, (shutil.which("toolcrib", path=Path(sys.executable).parent),)])
async def test_plain_toolcrib_with_a_pipe_on_its_input_serves(workshop: Workshop, command: tuple[str, ...]):
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.lines(*command, TOOLCRIB_CONFIG=str(workshop.config)) as client:
        await client.initialize()
        assert (await client.execute(1, "scripted", "echo", text="hi"))["content"][0]["text"] == "hi"
        assert await client.leave() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals there")
def test_plain_toolcrib_on_a_terminal_shows_help(workshop: Workshop):
    ours, terminal = os.openpty()
    try:
        ended = subprocess.run(
            PYTHON_M, stdin=terminal, env=workshop.environment, capture_output=True, text=True, timeout=20, check=True
        )
    finally:
        os.close(ours)
        os.close(terminal)

    assert ended.stdout.startswith("usage: toolcrib")


def test_a_bad_configuration_ends_the_start_with_file_path_and_reason(tmp_path: Path, workshop: Workshop):
    workshop.config.write_text('{"discovery": {"callTimeout": "soon", "cache": {"ttl": -5}, "servers": 7}}')

    ended = subprocess.run(workshop.command, env=workshop.environment, capture_output=True, timeout=20, check=False)

    assert ended.returncode == 2
    assert ended.stdout == b""
    complaint = ended.stderr.decode()
    for place in ("discovery.callTimeout", "discovery.cache.ttl", "discovery.servers"):
        assert f"{workshop.config}: {place}: " in complaint
    assert "Traceback" not in complaint


def test_a_file_that_can_not_be_read_as_json_is_named_with_its_line(workshop: Workshop):
    workshop.config.write_text('{"discovery": {\n  "servers": {"a" "b"}\n}}')

    ended = subprocess.run(workshop.command, env=workshop.environment, capture_output=True, timeout=20, check=False)

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert str(workshop.config) in ended.stderr.decode()
    assert "line 2" in ended.stderr.decode()


async def test_a_bad_entry_is_reported_and_the_rest_works(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    document = json.loads(workshop.config.read_text())
    document["discovery"]["servers"]["broken"] = {"args": ["no command"]}
    workshop.config.write_text(json.dumps(document))

    async with workshop.lines() as client:
        await client.initialize()
        assert (await client.execute(1, "scripted", "echo", text="hi"))["content"][0]["text"] == "hi"

    assert "discovery.servers.broken" in workshop.complaints


# -- ending


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_leaves_ends_the_gateway_and_all_it_started(workshop: Workshop, mode: str):
    workshop.configure({"one": workshop.scripted("one"), "two": workshop.scripted("two", "modern")})

    async with workshop.client(mode) as client:
        assert await run(client, "one", "echo", text="1") == "1"
        assert await run(client, "two", "echo", text="2") == "2"
        assert len(workshop.upstreams()) == 2
        watched = workshop.processes()

    await eventually(lambda: not workshop.processes(), 10)
    assert len(watched) == 4  # the gateway, its watchdog, two servers


async def test_what_was_asked_before_the_end_of_input_is_still_answered(workshop: Workshop):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    asked = [*HELLO, {"id": 1, "method": "tools/list"}, execution(2, "scripted", "echo", text="last words")]
    # The last line lacks its end, as it does when a person pipes a text in.
    lines = b"\n".join(json.dumps({"jsonrpc": "2.0", **message}).encode() for message in asked)

    ended = await asyncio.to_thread(
        subprocess.run, workshop.command, input=lines, env=workshop.environment, capture_output=True, timeout=20
    )

    assert ended.returncode == 0
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, ended.stdout.splitlines())}
    assert set(answers) == {"hello", 1, 2}
    assert answers[2]["content"][0]["text"] == "last words"


async def test_input_from_nowhere_is_the_end_of_input(workshop: Workshop):
    workshop.configure({})

    ended = await asyncio.to_thread(
        subprocess.run,
        workshop.command,
        stdin=subprocess.DEVNULL,
        env=workshop.environment,
        capture_output=True,
        timeout=20,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


async def test_input_and_output_may_be_files(workshop: Workshop, tmp_path: Path):
    workshop.configure({"scripted": workshop.scripted("scripted")})
    asked, answered = tmp_path / "asked.jsonl", tmp_path / "answered.jsonl"
    messages = [*HELLO, execution(1, "scripted", "echo", text="from a file")]
    asked.write_text("\n".join(json.dumps({"jsonrpc": "2.0", **message}) for message in messages))

    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        ended = await asyncio.to_thread(
            subprocess.run, workshop.command, stdin=stdin, stdout=stdout, env=workshop.environment, timeout=20
        )

    assert ended.returncode == 0
    last = json.loads(answered.read_text().splitlines()[-1])
    assert last["result"]["content"][0]["text"] == "from a file"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, None])
async def test_a_call_in_flight_does_not_hold_up_the_end(workshop: Workshop, number: signal.Signals | None):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted}, shutdownGrace=0.5)

    async with workshop.lines() as client:
        await client.initialize()
        client.send(execution(1, "scripted", "hang"))
        await eventually(lambda: scripted.received("tools/call"))
        if number is not None:
            client.signal(number)
            assert await client.ended(seconds=10) == 0
        else:
            assert await client.leave(seconds=10) == 0
        assert not workshop.processes()
    assert [message["id"] for message in client.messages] == ["hello"]
    (cancelled,) = scripted.received("notifications/cancelled")
    assert cancelled["params"]["requestId"] == scripted.received("tools/call")[0]["id"]
    assert "Traceback" not in workshop.complaints


async def test_a_call_that_ends_within_the_grace_is_answered(workshop: Workshop):
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted}, shutdownGrace=5)

    async with workshop.lines() as client:
        await client.initialize()
        client.send(execution(1, "scripted", "wait"))
        await eventually(lambda: scripted.received("tools/call"))
        client.signal(signal.SIGTERM)
        scripted.let_go()

        assert await client.ended(seconds=10) == 0
    assert (await client.answer(1))["result"]["content"][0]["text"] == "waited"


@pytest.mark.parametrize("ending", ["leave", "terminate", "kill"])
async def test_nothing_is_left_of_a_server_that_ignores_every_request_to_end(workshop: Workshop, ending: str):
    workshop.configure({"stubborn": workshop.scripted("stubborn", manner="stubborn")}, shutdownGrace=0.2)

    async with workshop.lines() as client:
        await client.initialize()
        assert (await client.execute(1, "stubborn", "echo", text="x"))["content"]
        assert len(workshop.children("stubborn")) == 3  # itself and two children
        if ending == "leave":
            assert await client.leave() == 0
        elif ending == "terminate":
            client.signal(signal.SIGTERM)
            assert await client.ended() == 0
        else:
            client.signal(signal.SIGKILL)
        await eventually(lambda: not workshop.processes(), 10)


async def test_a_killed_gateway_leaves_no_process_and_does_not_trouble_the_next_one(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers)

    async with workshop.lines() as client:
        await client.initialize()
        await client.execute(1, "modern", "echo", text="x")
        client.send(execution(2, "legacy", "hang"))
        await eventually(lambda: servers["legacy"].received("tools/call"))
        client.signal(signal.SIGKILL)
        await eventually(lambda: not workshop.processes(), 10)

    async with workshop.client() as client:
        assert await run(client, "legacy", "echo", text="again") == "again"
        assert await run(client, "modern", "echo", text="again") == "again"
