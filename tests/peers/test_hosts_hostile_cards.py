"""A neighbour with hostile cards: nothing of them reaches a person, the terminal or the agent."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stdio_gateway import ask
from tests.peers.hand_made import OK_HEAD, HandMadePeer, looked_at, speaking
from tests.peers.host_machines import HostMachine, Neighbourhood, wait_until
from toolcrib.peers.identity import Identity

pytestmark = pytest.mark.timeout(150)
POISON = "poison"
TOOL = {"name": POISON, "description": POISON, "parameters": {"type": "object"}}
MOST_BYTES = 256 * 1024


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def unsigned(peer: HandMadePeer) -> bytes:
    return json.dumps(peer.document(TOOL)).encode()


def changed_after_it_was_signed(peer: HandMadePeer) -> bytes:
    return peer.card(TOOL).replace(b'"description":"poison"', b'"description":"poisom"')


# What each serves as its card; all but the last of them can't be believed.
BODIES: dict[str, Callable[[HandMadePeer], bytes]] = {
    "oversize": lambda peer: peer.card({**TOOL, "description": POISON * MOST_BYTES}),
    "unsigned": unsigned,
    "signed-by-another": lambda peer: peer.signed(peer.document(TOOL), Identity(b"x" * 32)),
    "of-another": lambda peer: peer.signed(peer.document(TOOL, peerId=Identity(b"x" * 32).peer_id)),
    "changed": changed_after_it_was_signed,
    "stale": lambda peer: peer.card(TOOL, now=time.time() - 400),
    "of-tomorrow": lambda peer: peer.card(TOOL, now=time.time() + 86_400),
    "many": lambda peer: peer.card(*({"name": f"{POISON}{number}"} for number in range(10_000))),
    "deep": lambda peer: peer.card({**TOOL, "parameters": deep(100)}),
    "other-certificate": lambda peer: peer.card(TOOL, tls="sha256-abc"),
    "nameless": lambda peer: peer.card(TOOL, name=""),
    "not-json": lambda _: b"\x1b[31m" + POISON.encode(),
    "nested": lambda _: b'{"a":' * 40_000,
}


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(OK_HEAD + b"\r\n")
    await _on_and_on(writer, POISON.encode() * 1000, 0.001)


async def slow(writer: asyncio.StreamWriter) -> None:
    writer.write(OK_HEAD + b"content-length: 1000\r\n\r\n")
    await _on_and_on(writer, b" ", 0.1)


async def never_head(writer: asyncio.StreamWriter) -> None:
    await _on_and_on(writer, b"HTTP/1.1 100 Continue\r\n\r\n" * 10, 0.01)


async def _on_and_on(writer: asyncio.StreamWriter, words: bytes, pause_seconds: float) -> None:
    """Say the same for longer than anybody listens."""
    ends = time.monotonic() + 8
    while time.monotonic() < ends and not writer.is_closing():
        writer.write(words)
        await writer.drain()
        await asyncio.sleep(pause_seconds)


async def bomb(writer: asyncio.StreamWriter) -> None:
    """A lot in very little."""
    writer.write(OK_HEAD + b"content-encoding: gzip\r\n\r\n" + _packed(256))


@cache
def _packed(megabytes: int) -> bytes:
    return gzip.compress(b" " * megabytes * 1024 * 1024)


async def elsewhere(writer: asyncio.StreamWriter) -> None:
    place = b"location: https://127.0.0.1:8665/peers\r\n"
    writer.write(b"HTTP/1.1 302 Found\r\nconnection: close\r\n" + place + b"content-length: 0\r\n\r\n")


ANSWERS = {"endless": endless, "slow": slow, "bomb": bomb, "elsewhere": elsewhere, "never-head": never_head}


def hostile_peer(kind: str, folder: Path, more: str = "") -> HandMadePeer:
    peer = HandMadePeer(f"{POISON}-{kind}{more}", folder)
    if kind in BODIES:
        peer.body = lambda: BODIES[kind](peer)
    else:
        peer.answer = ANSWERS[kind]
    return peer


def said_by(machine: HostMachine) -> dict[str, str]:
    """All that a person can read there, by the command."""
    commands = (
        ("peers", "list", "--all"),
        ("peers", "list", "--all", "--json"),
        ("approvals", "list", "--all", "--json"),
        ("list", "--json"),
    )
    return {" ".join(words): machine.toolcrib(*words) for words in commands} | {"the log": machine.log}


async def test_hostile_cards_reach_nobody_and_an_honest_peer_among_them_is_found(
    network: Neighbourhood, tmp_path: Path
) -> None:
    study, place = network.machine("study"), network.host()
    study.wait_until_it_listens()
    folder = tmp_path / "neighbour"
    honest = HandMadePeer("honest", folder)
    hostile = [hostile_peer(kind, folder) for kind in (*BODIES, *ANSWERS)]
    hostile += [hostile_peer("unsigned", folder, f"-{number}") for number in range(20)]
    before = study.most_memory_bytes
    with place.entered():
        async with AsyncExitStack() as opened:
            for peer in (*hostile, honest):
                await opened.enter_async_context(peer.listening(place.address))
            speaker = await opened.enter_async_context(speaking(place.address))
            await speaker.announce(*(peer.announcement() for peer in (*hostile, honest)))
            await looked_at([*hostile, honest], 2, lambda: study.log, 60, speaker)
            await asyncio.to_thread(study.comes_to, honest="waiting")

    # What a person sees of the hostile ones is their ids, and that they are refused or did not answer.
    assert {where for where, text in said_by(study).items() if POISON in text} == set()
    assert {peer.server for peer in study.peers().values() if peer.card is not None} == {"peer-honest"}
    assert 1 < study.log.count("is refused") <= 20
    assert study.most_memory_bytes - before < 48 * 1024 * 1024
    async with study.agent() as agent:
        for question in ("list_mcp_servers", "search_tools"):
            given = {"query": POISON} if question == "search_tools" else {}
            assert "peer-" not in json.dumps(await ask(agent, question, **given))


async def test_an_older_card_does_not_replace_a_newer_one(network: Neighbourhood, tmp_path: Path) -> None:
    study, place = network.machine("study"), network.host()
    study.wait_until_it_listens()
    peer = HandMadePeer("kitchen", tmp_path / "neighbour")
    made = time.time()
    peer.body = lambda: peer.card({**TOOL, "name": "good"}, now=made)
    with place.entered():
        async with peer.listening(place.address), speaking(place.address) as speaker:
            await speaker.announce(peer.announcement())
            await looked_at([peer], 1, lambda: study.log, speaker=speaker)
            await asyncio.to_thread(study.comes_to, kitchen="waiting")

            peer.body = lambda: peer.card(TOOL, now=made - 60)
            await asyncio.to_thread(study.comes_to, kitchen="refused")

    assert study.tools_of("kitchen") == {"good"}
    assert "older than the one it sent before" in study.peers()["peer-kitchen"].trouble
    assert re.search(r"WARNING .*peer-kitchen .*is refused", study.log)
    assert POISON not in "".join(said_by(study).values())


CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066\U000e0041]")
NASTY = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200b\U000e0041\r\nname: trusted"


async def test_poisoned_tools_steer_no_terminal_and_no_agent(network: Neighbourhood, tmp_path: Path) -> None:
    study, place = network.machine("study"), network.host()
    study.wait_until_it_listens()
    peer = HandMadePeer("kitchen", tmp_path / "neighbour")
    schema = {"type": "object", "properties": {f"a{NASTY}": {"type": "string", "description": NASTY}}}
    tools = [
        {"name": "plain", "description": f"Boil water. {NASTY}", "parameters": schema, "title": NASTY},
        {"name": f"odd{NASTY}", "description": "Boil water.", "parameters": {}},
        {"name": "long", "description": f"Boil water. {'x' * 200_000}", "parameters": {}},
    ]
    peer.body = lambda: peer.card(*tools, name=f"kitchen{NASTY}", version=NASTY[:60])
    with place.entered():
        async with peer.listening(place.address), speaking(place.address) as speaker:
            await speaker.announce(peer.announcement())
            await looked_at([peer], 1, lambda: study.log, speaker=speaker)
            await asyncio.to_thread(wait_until, study.states, lambda: study.log)
            (name,) = study.peers()
            shown = [await asyncio.to_thread(study.toolcrib, *words) for words in _commands_about(name)]
            await asyncio.to_thread(wait_until, lambda: study.states()[name] == "trusted", lambda: study.log)
            shown += (await asyncio.to_thread(said_by, study)).values()

    assert CONTROLS.search(name) is None
    assert [CONTROLS.findall(text) for text in shown] == [[]] * len(shown)
    async with study.agent() as agent:
        await _is_listed(agent, name, study)
        answers = [
            await agent.call_tool("list_mcp_servers", {}),
            await agent.call_tool("search_tools", {"query": "boil water"}),
            await agent.call_tool("list_tools", {"server": name}),
            await agent.call_tool("get_tool_details", {"server": name, "tool": "plain"}),
        ]
    texts = [block.text for answer in answers for block in answer.content if block.type == "text"]
    assert [CONTROLS.findall(str(json.loads(text))) for text in texts] == [[]] * 4
    assert max(map(len, texts)) < 20_000


def _commands_about(name: str) -> list[tuple[str, ...]]:
    return [
        ("peers", "show", name),
        ("peers", "show", name, "--json"),
        ("approvals", "show", name),
        ("peers", "trust", name, "-y"),
    ]


async def _is_listed(agent: Any, name: str, machine: HostMachine) -> None:
    deadline = time.monotonic() + 20
    while name not in json.dumps(await ask(agent, "list_mcp_servers")):
        assert time.monotonic() < deadline, machine.log
        await asyncio.sleep(0.2)
