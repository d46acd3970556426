"""Two machines that meet over libp2p alone: neither ever learns where the other listens for HTTPS."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import LOOPBACK, Machine, machine
from tests.peers.test_meeting import both_trust, comes_to
from toolcrib.engine.peer_specs import stored_overlay
from toolcrib.model.asking import QuestionRefused
from toolcrib.model.peer import KnownPeer
from toolcrib.upstream.link import LinkEars, TransportLimits
from toolcrib.upstream.peer_https import PeerHttpLink
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND

pytestmark = [pytest.mark.timeout(150), pytest.mark.usefixtures("libp2p_python")]
# A node takes a few seconds to start, and longer on a busy machine.
NODE_SECONDS = 60.0


def notes_server(*names: str) -> FakeServer:
    names = names or ("add",)
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return FakeServer(
        "notes",
        [tool(name, f"{name.title()} a note.", inputSchema=schema) for name in names],
        tools={name: lambda _: text("done") for name in names},
    )


@asynccontextmanager
async def over_libp2p(folder: Path, name: str, *servers: FakeServer, **settings: Any) -> AsyncIterator[Machine]:
    """A machine whose node runs, and whose tools are known."""
    given = {"peers_libp2p": True, "peers_libp2p_port": 0, **settings}
    async with machine(folder / name, name, *servers, **given) as one:
        assert await one.gateway.ready(10)
        await eventually(lambda: one.multiaddresses, NODE_SECONDS)
        yield one


async def finds(one: Machine, name: str) -> KnownPeer:
    await eventually(lambda: name in one.peers(), NODE_SECONDS)
    return one.peers()[name]


async def test_the_same_journey_over_libp2p(tmp_path: Path) -> None:
    """Found by address; card, waiting, trust on both sides, search, execute, in both directions."""
    notes, lamps = notes_server(), FakeServer("lamps", [tool("dim")], tools={"dim": lambda _: text("dark")})
    async with over_libp2p(tmp_path, "kitchen", notes, peers_expose=("notes",)) as kitchen:
        written = {"peers_bootstrap": kitchen.multiaddresses, "peers_expose": ("lamps",)}
        async with over_libp2p(tmp_path, "study", lamps, **written) as study:
            found = await finds(study, "peer-kitchen")
            back = await finds(kitchen, "peer-study")
            assert (found.peer_id, found.by, found.addresses) == (kitchen.peer_id, "bootstrap", ())
            assert (back.peer_id, back.by, back.addresses) == (study.peer_id, "libp2p", ())
            await eventually(lambda: "peer-kitchen" in study.pending(), NODE_SECONDS)
            assert not study.gateway.knows("peer-kitchen")

            await both_trust(study, kitchen)
            await comes_to("", study, "peer-kitchen", "notes__add")
            (hit, *_) = (await study.gateway.search_tools("add a note")).hits
            done = await study.gateway.execute_tool(hit.server, hit.tool, {"text": "milk"})
            assert (hit.server, hit.tool, done.value) == ("peer-kitchen", "notes__add", "done")
            assert notes.calls == [("add", {}), ("add", {"text": "milk"})]

            await comes_to("", kitchen, "peer-study", "lamps__dim")
            assert study.peers()["peer-kitchen"].addresses == ()


async def test_a_peer_over_libp2p_answers_the_four_methods(tmp_path: Path) -> None:
    notes = notes_server()
    async with (
        over_libp2p(tmp_path, "kitchen", notes, peers_expose=("notes",)) as kitchen,
        over_libp2p(tmp_path, "study", peers_bootstrap=kitchen.multiaddresses) as study,
    ):
        await both_trust(study, kitchen)
        await comes_to("", study, "peer-kitchen", "notes__add")
        streams = study.engine.peer_routes.streams
        assert streams is not None
        link = await streams.open_link("peer-kitchen", study.peers()["peer-kitchen"])

        async def ask(method: str, **params: Any) -> Any:
            return json.loads(await link.request(1, method, json.dumps(params).encode(), {}))

        listed = await ask("tools/list")
        called = await ask("tools/call", name="notes__add", arguments={"text": "milk"})
        resources = await ask("resources/list")
        read = await ask("resources/read", uri="agent://card")

    assert [one["name"] for one in listed["tools"]] == ["notes__add"]
    assert (called, notes.calls[1:]) == (text("done"), [("add", {"text": "milk"})])
    assert [one["uri"] for one in resources["resources"]] == ["agent://card"]
    assert json.loads(read["contents"][0]["text"])["peerId"] == kitchen.peer_id


async def test_a_peer_known_both_ways_is_one_and_is_called_over_https_first(multicast: None, tmp_path: Path) -> None:
    async with (
        over_libp2p(tmp_path, "kitchen", notes_server(), peers_expose=("notes",), peers_mdns=True) as kitchen,
        over_libp2p(tmp_path, "study", peers_mdns=True) as study,
    ):
        await finds(study, "peer-kitchen")
        await eventually(lambda: _is_known_both_ways(study.peers()["peer-kitchen"]), NODE_SECONDS)
        assert [peer for peer in study.peers().values() if peer.peer_id == kitchen.peer_id] == [
            study.peers()["peer-kitchen"]
        ]
        await both_trust(study, kitchen)
        await comes_to("", study, "peer-kitchen", "notes__add")
        opened = await study.engine.peer_routes.open("peer-kitchen", kitchen.peer_id, _NOBODY, TransportLimits())
        assert isinstance(opened, PeerHttpLink)
        await opened.close()


def _is_known_both_ways(peer: KnownPeer) -> bool:
    return bool(peer.addresses and peer.multiaddrs and peer.certificate)


async def _refuse(*_: Any) -> bytes:
    raise QuestionRefused(METHOD_NOT_FOUND, "nobody is asked here")


_NOBODY = LinkEars(lambda *_: None, _refuse)


_KITCHEN = """
import asyncio, sys
from pathlib import Path
from tests.peers.test_over_libp2p import notes_server, over_libp2p
from toolcrib.lan import libp2p_process

libp2p_process.PYTHON = sys.argv[2]

async def main():
    notes = notes_server()
    written = {"peers_expose": ("notes",), "peers_bootstrap": (sys.argv[3],)}
    async with over_libp2p(Path(sys.argv[1]), "kitchen", notes, **written) as kitchen:
        print(kitchen.multiaddresses[0], flush=True)
        while True:
            if "peer-study" in kitchen.peers() and not kitchen.peers()["peer-study"].is_trusted:
                kitchen.trust("study")
            await asyncio.sleep(0.2)

asyncio.run(main())
"""


@asynccontextmanager
async def kitchen_process(
    folder: Path, python: str, study: str
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The kitchen as a process of its own, which trusts the study; where its libp2p listens, and the process."""
    root = Path(__file__).resolve().parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _KITCHEN,
        str(folder),
        python,
        study,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(NODE_SECONDS):
            address = (await process.stdout.readline()).decode().strip()
        yield address, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_killed_peer_is_noticed_over_libp2p_and_found_again_at_a_new_port(
    libp2p_python: str, tmp_path: Path
) -> None:
    async with over_libp2p(tmp_path, "study") as study:
        here = study.multiaddresses[0]
        async with kitchen_process(tmp_path, libp2p_python, here) as (old, kitchen):
            await finds(study, "peer-kitchen")
            study.trust("kitchen")
            await study.shows("peer-kitchen")
            await comes_to("", study, "peer-kitchen", "notes__add")
            peer_id = study.peers()["peer-kitchen"].peer_id

            os.kill(kitchen.pid, signal.SIGKILL)
            await eventually(lambda: study.peers()["peer-kitchen"].away_since is not None, NODE_SECONDS)
            answer = await study.gateway.execute_tool("peer-kitchen", "notes__add", {})
            assert answer.error is not None
            assert answer.error.code == "SERVER_CONNECTION_ERROR"

        async with kitchen_process(tmp_path, libp2p_python, here) as (new, _):
            assert (new != old, new.rpartition("/")[2]) == (True, peer_id)
            await eventually(lambda: study.peers()["peer-kitchen"].away_since is None, NODE_SECONDS)
            await comes_to("", study, "peer-kitchen", "notes__add")
            await eventually(lambda: new in study.peers()["peer-kitchen"].multiaddrs, NODE_SECONDS)
            assert list(study.peers()) == ["peer-kitchen"]


async def test_where_a_peer_is_reached_over_libp2p_is_known_after_a_restart(tmp_path: Path) -> None:
    async with over_libp2p(tmp_path, "kitchen", notes_server(), peers_expose=("notes",)) as kitchen:
        async with over_libp2p(tmp_path, "study", peers_bootstrap=kitchen.multiaddresses) as study:
            await both_trust(study, kitchen)
            await comes_to("", study, "peer-kitchen", "notes__add")
        kitchen.block("study")  # so that it is not the kitchen that comes to the study
        quiet = {"peers_advertise": False, "peers_libp2p": True, "peers_stale_after_seconds": 5.0}
        async with machine(tmp_path / "study", "study", **quiet) as study:
            before = study.peers()["peer-kitchen"]
            assert before.multiaddrs == kitchen.multiaddresses
            await eventually(lambda: (study.peers()["peer-kitchen"].seen_at or 0) > (before.seen_at or 0), NODE_SECONDS)


async def test_a_changed_card_is_sent_to_all_peers_over_libp2p_at_once(tmp_path: Path) -> None:
    rarely = {"peers_check_interval_seconds": 3600.0}
    notes = notes_server("add")
    async with (
        over_libp2p(tmp_path, "kitchen", notes, peers_expose=("notes",), on_change="warn", **rarely) as kitchen,
        over_libp2p(tmp_path, "study", peers_bootstrap=kitchen.multiaddresses, **rarely) as study,
    ):
        await finds(study, "peer-kitchen")
        await finds(kitchen, "peer-study")
        await eventually(lambda: kitchen.peers()["peer-study"].multiaddrs, NODE_SECONDS)
        assert _card_tools(study) == ["notes__add"]

        await kitchen.gateway.execute_tool("notes", "add", {})  # it is connected, and can tell of other tools
        notes.definitions.append(tool("list"))
        notes.notify("notifications/tools/list_changed")
        await eventually(lambda: _card_tools(study) == ["notes__add", "notes__list"], NODE_SECONDS)


def _card_tools(one: Machine) -> list[str]:
    card = one.peers()["peer-kitchen"].card
    return [str(definition["name"]) for definition in card.definitions] if card is not None else []


async def test_machines_meet_under_a_rendezvous_in_the_dht(tmp_path: Path) -> None:
    async with over_libp2p(tmp_path, "tower", peers_dht=True, peers_rendezvous="elsewhere") as tower:
        meets = {"peers_dht": True, "peers_bootstrap": tower.multiaddresses, "peers_rendezvous": "praxis-agents"}
        async with (
            over_libp2p(tmp_path, "kitchen", **meets) as kitchen,
            over_libp2p(tmp_path, "study", **meets) as study,
        ):
            found = await finds(study, "peer-kitchen")
            back = await finds(kitchen, "peer-study")

            assert (found.peer_id, back.peer_id) == (kitchen.peer_id, study.peer_id)
            assert "dht" in {found.by, back.by}  # of the other one it was heard when it came


async def test_libp2p_comes_and_goes_with_its_settings(tmp_path: Path) -> None:
    async with over_libp2p(tmp_path, "kitchen") as kitchen:
        (first,) = kitchen.multiaddresses
        https = kitchen.port
        kitchen.settings = replace(kitchen.settings, peers_libp2p=False)
        await eventually(lambda: not kitchen.multiaddresses, NODE_SECONDS)

        kitchen.settings = replace(kitchen.settings, peers_libp2p=True, peers_libp2p_port=_port_of(first))
        await eventually(lambda: kitchen.multiaddresses == (first,), NODE_SECONDS)
        kitchen.settings = replace(kitchen.settings, peers_libp2p_port=0)
        await eventually(lambda: kitchen.multiaddresses not in ((), (first,)), NODE_SECONDS)
        assert kitchen.port == https  # nobody who came over HTTPS noticed


def _port_of(multiaddress: str) -> int:
    return int(multiaddress.split("/")[4])


async def test_whoever_does_not_let_others_find_it_does_not_listen_and_can_call_over_libp2p(tmp_path: Path) -> None:
    async with over_libp2p(tmp_path, "kitchen", notes_server(), peers_expose=("notes",)) as kitchen:
        quiet = {"peers_advertise": False, "peers_libp2p": True, "peers_bootstrap": kitchen.multiaddresses}
        async with machine(tmp_path / "study", "study", **quiet) as study:
            await finds(study, "peer-kitchen")
            await finds(kitchen, "peer-study")
            study.trust("kitchen")
            kitchen.trust("study")
            await study.shows("peer-kitchen")
            await comes_to("", study, "peer-kitchen", "notes__add")

            assert study.multiaddresses == ()
            # It is trusted as a caller; there is nothing of it that could be called.
            assert not kitchen.gateway.knows("peer-study")
            assert stored_overlay(kitchen.settings, kitchen.paths).specs == ()


async def test_a_process_without_libp2p_says_which_one_speaks_it(tmp_path: Path) -> None:
    async with (
        over_libp2p(tmp_path, "kitchen", notes_server(), peers_expose=("notes",)) as kitchen,
        over_libp2p(tmp_path, "study", peers_bootstrap=kitchen.multiaddresses) as study,
    ):
        await both_trust(study, kitchen)
        async with machine(tmp_path / "study", "study", is_first=False, peers_libp2p=True) as beside:
            await beside.shows("peer-kitchen")
            answer = await beside.gateway.execute_tool("peer-kitchen", "notes__add", {})

    assert answer.error is not None
    assert "over libp2p only" in answer.error.message
    assert "engine" in answer.error.hint


async def test_a_port_that_is_taken_is_told_and_https_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        on = {"peers_libp2p": True, "peers_libp2p_port": port}
        async with (
            machine(tmp_path / "kitchen", "kitchen", **on) as kitchen,
            machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study,
        ):
            await study.knows("peer-kitchen")
            await eventually(lambda: f"{LOOPBACK} port {port}: " in caplog.text, NODE_SECONDS)
            assert "can't be listened for" in caplog.text
            await eventually(lambda: "started again in 1 s" in caplog.text, NODE_SECONDS)
