"""How machines keep up with each other: moves, new tools, impostors, other certificates, and peers that are broken."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import BOUND_SECONDS, Machine, machine
from tests.peers.strangers import answering, stranger
from toolcrib.peers.identity import Identity


def notes_server(*names: str) -> FakeServer:
    names = names or ("add",)
    return FakeServer("notes", [tool(name) for name in names], tools={name: lambda _: text("done") for name in names})


async def both_trust(one: Machine, other: Machine) -> None:
    """The persons at both machines trust the other one."""
    for ours, theirs in ((one, other), (other, one)):
        await ours.knows(f"peer-{theirs.settings.peers_name}")
        ours.trust(theirs.settings.peers_name)
        await ours.shows(f"peer-{theirs.settings.peers_name}")


async def outcome(machine: Machine, peer: str, tool: str) -> str:
    """The code of the error of a call, or nothing."""
    result = await machine.gateway.execute_tool(peer, tool, {})
    return result.error.code if result.error is not None else ""


async def comes_to(expected: str, machine: Machine, peer: str, tool: str) -> None:
    """Wait until a call has this outcome."""
    seen: list[str] = []
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            while not seen or seen[-1] != expected:
                seen.append(await outcome(machine, peer, tool))
                # A server that can't be had is tried only five times a minute.
                await asyncio.sleep(0 if seen[-1] == expected else 1)
    except TimeoutError:
        raise AssertionError(f"it came to {dict.fromkeys(seen)}") from None


@pytest.mark.usefixtures("multicast")
async def test_a_peer_that_moved_is_reached_under_its_old_name(tmp_path: Path) -> None:
    # All tests of this machine share its loopback network, so that the names must be nobody else's.
    name = f"kitchen-{secrets.token_hex(4)}"
    given = {"peers_mdns": True, "peers_expose": ("notes",)}
    async with machine(tmp_path / "study", f"study-{secrets.token_hex(4)}", peers_mdns=True) as study:
        async with machine(tmp_path / "kitchen", name, notes_server(), **given) as kitchen:
            await both_trust(study, kitchen)
            await comes_to("", study, f"peer-{name}", "notes__add")
            old = kitchen.port
        notes = notes_server()
        async with machine(tmp_path / "kitchen", name, notes, **given) as moved:
            assert moved.port != old
            await comes_to("", study, f"peer-{name}", "notes__add")

            assert notes.calls == [("add", {})]
            assert [one.server for one in study.peers().values() if one.peer_id == moved.peer_id] == [f"peer-{name}"]


async def test_a_new_tool_reaches_the_others_and_waits_for_a_person(tmp_path: Path) -> None:
    notes = notes_server("add", "list")
    async with (
        machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes:add",)) as kitchen,
        machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study,
    ):
        assert await kitchen.gateway.ready(10)
        await eventually(lambda: _card_tools(study) == ["notes__add"], BOUND_SECONDS)
        await both_trust(study, kitchen)
        await comes_to("", study, "peer-kitchen", "notes__add")

        kitchen.settings = replace(kitchen.settings, peers_expose=("notes",))
        await eventually(lambda: _card_tools(study) == ["notes__add", "notes__list"], BOUND_SECONDS)

        await comes_to("TOOL_PENDING", study, "peer-kitchen", "notes__list")
        assert await outcome(study, "peer-kitchen", "notes__add") == ""
        study.trust("kitchen")
        await comes_to("", study, "peer-kitchen", "notes__list")


async def test_a_peer_that_does_not_trust_us_yet_is_asked_by_calls_alone_and_by_any_number_of_them(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path / "kitchen", "kitchen", notes_server(), peers_expose=("notes",)) as kitchen:
        assert await kitchen.gateway.ready(10)
        async with machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study:
            await eventually(lambda: _card_tools(study) == ["notes__add"], BOUND_SECONDS)
            study.trust("kitchen")
            await study.shows("peer-kitchen")

            # More than may be started within a minute.
            calls = 2 * study.settings.max_starts_per_minute
            outcomes = {await outcome(study, "peer-kitchen", "notes__add") for _ in range(calls)}
            assert outcomes == {"AUTHENTICATION_FAILED"}
            assert "reconnect peer-kitchen" not in {task.get_name() for task in asyncio.all_tasks()}

            await kitchen.knows("peer-study")
            kitchen.trust("study")
            await comes_to("", study, "peer-kitchen", "notes__add")


async def test_a_pattern_that_exposes_nothing_is_told_once_however_often_cards_are_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = notes_server("add", "list")
    wrong = ("notes:ad", "tag:none")
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes:add", *wrong)) as kitchen:
        assert await kitchen.gateway.ready(10)
        await eventually(lambda: "'tag:none' fits no tool" in caplog.text, BOUND_SECONDS)
        async with stranger(tmp_path / "visitor") as visitor:
            for expose in (("notes", *wrong), ("notes:list", *wrong)):
                kitchen.settings = replace(kitchen.settings, peers_expose=expose)
                await visitor.card_of(kitchen)

    assert caplog.text.count("peers.expose: 'notes:ad' fits no tool that peers could use") == 1
    assert caplog.text.count("'tag:none' fits no tool") == 1
    assert "'notes:add' fits no tool" not in caplog.text


async def test_whoever_answers_in_the_place_of_a_peer_is_refused_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with machine(tmp_path / "study", "study") as study:
        async with machine(
            tmp_path / "kitchen",
            "kitchen",
            notes_server(),
            peers_expose=("notes",),
            peers_static=(str(study.address),),
        ) as kitchen:
            await both_trust(study, kitchen)
            await comes_to("", study, "peer-kitchen", "notes__add")
            place = kitchen.port
        impostor_notes = notes_server()
        async with machine(
            tmp_path / "impostor", "kitchen", impostor_notes, peers_expose=("notes",), peers_port=place
        ) as impostor:
            await eventually(lambda: impostor.peer_id in study.peers()["peer-kitchen"].trouble, BOUND_SECONDS)

            await comes_to("PEER_REFUSED", study, "peer-kitchen", "notes__add")
            assert impostor_notes.calls == []
            assert study.peers()["peer-kitchen"].peer_id != impostor.peer_id
            assert [one for one in caplog.messages if "is refused" in one and impostor.peer_id in one]


async def test_another_machine_with_the_name_of_a_trusted_one_stays_outside(tmp_path: Path) -> None:
    async with machine(tmp_path / "study", "study") as study:
        meets_study = {"peers_static": (str(study.address),), "peers_expose": ("notes",)}
        async with (
            machine(tmp_path / "kitchen", "kitchen", notes_server(), **meets_study) as kitchen,
            machine(tmp_path / "impostor", "Kitchen", notes_server(), **meets_study) as impostor,
        ):
            await both_trust(study, kitchen)
            await eventually(lambda: _trouble(study, impostor.peer_id), BOUND_SECONDS)

            assert kitchen.peer_id in _trouble(study, impostor.peer_id)
            assert study.peers()["peer-kitchen"].peer_id == kitchen.peer_id
            await comes_to("", study, "peer-kitchen", "notes__add")


async def test_a_card_on_somebody_elses_certificate_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with machine(tmp_path / "kitchen", "kitchen") as kitchen, stranger(tmp_path / "relay") as relay:
        card = json.dumps(await relay.card_of(kitchen)).encode()
        async with (
            answering(tmp_path / "relay", card) as address,
            machine(tmp_path / "study", "study", peers_static=(str(address),)) as study,
        ):
            await eventually(lambda: any("certificate is not the one" in one for one in caplog.messages))

            assert study.peers() == {}


async def test_a_written_peer_with_another_id_is_refused(tmp_path: Path) -> None:
    expected = Identity.kept_at(tmp_path / "expected.key").peer_id
    async with machine(tmp_path / "kitchen", "kitchen") as kitchen:
        written = f"{expected}@{kitchen.address}"
        async with machine(tmp_path / "study", "study", peers_static=(written,)) as study:
            await eventually(lambda: _trouble(study, expected), BOUND_SECONDS)

            assert kitchen.peer_id in _trouble(study, expected)
            assert kitchen.peer_id not in {peer.peer_id for peer in study.peers().values()}


async def test_a_machine_that_finds_itself_is_nobody(tmp_path: Path) -> None:
    async with machine(tmp_path / "kitchen", "kitchen") as kitchen:
        kitchen.settings = replace(kitchen.settings, peers_static=(str(kitchen.address),))
        async with machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)):
            await kitchen.knows("peer-study")

            assert list(kitchen.peers()) == ["peer-study"]


async def test_a_peer_at_a_listed_address_is_met_as_a_peer(tmp_path: Path) -> None:
    async with machine(tmp_path / "kitchen", "kitchen") as kitchen:
        kitchen.settings = replace(kitchen.settings, peers_scan=(str(kitchen.address),))  # nobody: it is itself
        async with machine(tmp_path / "study", "study", peers_scan=(str(kitchen.address),)) as study:
            found = await study.knows("peer-kitchen")

            assert (found.peer_id, found.by) == (kitchen.peer_id, "scan")
            await eventually(lambda: list(study.pending()) == ["peer-kitchen"], BOUND_SECONDS)
            await kitchen.knows("peer-study")
            assert list(kitchen.peers()) == ["peer-study"]


async def test_one_broken_peer_costs_the_others_nothing(tmp_path: Path) -> None:
    with ExitStack() as held:
        silent = [held.enter_context(closing(socket.create_server(("127.0.0.1", 0)))) for _ in range(12)]
        addresses = tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in silent)
        async with (
            machine(tmp_path / "kitchen", "kitchen") as kitchen,
            machine(tmp_path / "study", "study", peers_static=(*addresses, str(kitchen.address))) as study,
        ):
            await eventually(lambda: "peer-kitchen" in study.peers(), 4)


async def test_only_peers_that_were_trusted_before_are_met_when_trust_is_pinned(tmp_path: Path) -> None:
    async with (
        machine(tmp_path / "study", "study", peers_trust="pinned") as study,
        machine(tmp_path / "kitchen", "kitchen", peers_static=(str(study.address),)) as kitchen,
    ):
        await kitchen.knows("peer-study")

        assert study.peers() == {}
        assert study.pending() == {}


async def test_the_first_of_a_name_is_trusted_where_a_person_wants_that(tmp_path: Path) -> None:
    notes = notes_server()
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",), peers_trust="tofu") as kitchen:
        assert await kitchen.gateway.ready(10)
        given = {"peers_static": (str(kitchen.address),), "peers_trust": "tofu"}
        async with machine(tmp_path / "study", "study", **given) as study:
            await study.shows("peer-kitchen")
            await comes_to("", study, "peer-kitchen", "notes__add")


async def test_a_blocked_peer_is_not_spoken_to(tmp_path: Path) -> None:
    async with machine(tmp_path / "study", "study") as study, stranger(tmp_path / "nuisance") as nuisance:
        assert (await nuisance.leave_card(study)).status_code == httpx2.codes.OK
        await study.knows("peer-stranger")
        study.block("stranger")

        async with asyncio.timeout(BOUND_SECONDS):
            while (await nuisance.leave_card(study)).status_code != httpx2.codes.FORBIDDEN:  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.2)


async def test_switching_peers_off_closes_the_port(tmp_path: Path) -> None:
    async with machine(tmp_path / "kitchen", "kitchen") as kitchen, stranger(tmp_path / "visitor") as visitor:
        address = kitchen.address
        await visitor.card_of(kitchen)

        kitchen.settings = replace(kitchen.settings, peers_enabled=False)
        await eventually(lambda: not kitchen.face.address, BOUND_SECONDS)

        with pytest.raises(httpx2.ConnectError):
            await visitor.client.get(f"https://{address}/agent/card", headers={"connection": "close"})


@pytest.mark.parametrize("does_introduce", [True, False])
async def test_a_bootstrap_node_introduces_others_where_its_person_wants_that(
    tmp_path: Path, does_introduce: bool
) -> None:
    async with machine(tmp_path / "kitchen", "kitchen", peers_introduce=does_introduce) as kitchen:
        node = str(kitchen.address)
        async with machine(tmp_path / "garden", "garden", peers_static=(node,)) as garden:
            await kitchen.knows("peer-garden")
            async with machine(tmp_path / "study", "study", peers_bootstrap=(node,)) as study:
                await study.knows("peer-kitchen")
                if does_introduce:
                    assert (await study.knows("peer-garden")).peer_id == garden.peer_id
                else:
                    await kitchen.knows("peer-study")
                    assert list(study.peers()) == ["peer-kitchen"]


async def test_only_one_process_of_a_person_is_there_for_peers(tmp_path: Path) -> None:
    notes = notes_server()
    async with (
        machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",)) as kitchen,
        machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study,
    ):
        await both_trust(study, kitchen)
        async with machine(tmp_path / "study", "study", is_first=False) as second:
            await second.shows("peer-kitchen")
            await comes_to("", second, "peer-kitchen", "notes__add")

            assert (second.face.address, bool(study.face.address)) == ("", True)


def _card_tools(machine: Machine) -> list[str]:
    peer = machine.peers().get("peer-kitchen")
    return (
        [str(one["name"]) for one in peer.card.definitions or ()] if peer is not None and peer.card is not None else []
    )


def _trouble(machine: Machine, peer_id: str) -> str:
    return next((peer.trouble for peer in machine.peers().values() if peer.peer_id == peer_id), "")
