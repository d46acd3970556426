"""A peer of another make, js-libp2p: what it and a machine of ours can do together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import text
from tests.peers.test_over_libp2p import NODE_SECONDS, finds, notes_server, over_libp2p
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL

pytestmark = [pytest.mark.timeout(150), pytest.mark.usefixtures("libp2p_python")]


class JsPeer:
    """A program in JavaScript, which asks one machine what it is told to ask."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def told(self) -> Any:
        assert self._process.stdout is not None
        async with asyncio.timeout(NODE_SECONDS):
            return json.loads(await self._process.stdout.readline())

    async def ask(self, protocol: str, question: Any = None) -> Any:
        """The machine's answer to a question, or to its own card."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"protocol": protocol, "question": question}).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.told()

    async def ask_for(self, method: str, **params: Any) -> Any:
        return await self.ask(MCP_PROTOCOL, {"id": 1, "method": method, "params": params})


@asynccontextmanager
async def js_peer(folder: Path, packages: Path, machine: str) -> AsyncIterator[JsPeer]:
    folder.mkdir()
    (folder / "node_modules").symlink_to(packages)
    script = folder / "js_peer.mjs"
    script.write_bytes(Path(__file__).with_name("js_peer.mjs").read_bytes())
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("node", str(script), machine, stdin=pipe, stdout=pipe)
    try:
        yield JsPeer(process)
    finally:
        process.kill()
        await process.wait()


async def test_a_javascript_peer_is_reached(libp2p_packages: Path, tmp_path: Path) -> None:
    notes = notes_server()
    async with (
        over_libp2p(tmp_path, "kitchen", notes, peers_expose=("notes",)) as kitchen,
        js_peer(tmp_path / "js", libp2p_packages, kitchen.multiaddresses[0]) as other,
    ):
        address = await other.told()
        ours = await other.ask(CARD_PROTOCOL)
        found = await finds(kitchen, "peer-js")
        assert ours["peerId"] == kitchen.peer_id
        assert (found.peer_id, found.by) == (address.rpartition("/")[2], "libp2p")
        # Noise and its signature proved who it is; that is no reason to trust it.
        refused = await other.ask_for("tools/list")
        assert "PEER_NOT_TRUSTED" in refused["error"]["message"]

        kitchen.settings = replace(kitchen.settings, peers_bootstrap=(address,))
        kitchen.trust("js")
        await kitchen.shows("peer-js")
        shouted = await kitchen.gateway.execute_tool("peer-js", "shout", {"text": "milk"})
        listed = await other.ask_for("tools/list")
        called = await other.ask_for("tools/call", name="notes__add", arguments={"text": "milk"})

    assert shouted.value == "MILK"
    assert [one["name"] for one in listed["result"]["tools"]] == ["notes__add"]
    assert (called["result"], notes.calls) == (text("done"), [("add", {"text": "milk"})])
