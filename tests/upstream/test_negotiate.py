"""The era of a server is found out, whatever it answers to the probe."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from tests.fakes import INSTANT, MODERN, FakeServer, hearing, tool
from toolcrib.errors import ToolExecutionError
from toolcrib.model.reading import Identity
from toolcrib.upstream.inbox import Inbox
from toolcrib.upstream.negotiate import MOST_INTRODUCTION_BYTES, Negotiation
from toolcrib.upstream.session import Session
from toolcrib.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

CLIENT = {"name": "test", "version": "0"}
PROBE_SECONDS = 3.0


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


async def negotiate(server: FakeServer, known: Identity | None = None) -> Identity:
    link = await server.open(hearing(lambda *_: None))
    async with asyncio.timeout(60):
        return await Negotiation("files", link, itertools.count(1).__next__, CLIENT).run(known, PROBE_SECONDS)


def refusing(code: int, data: Any = None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(code, "no", data)

    return refuse


async def silent(_: dict[str, Any]) -> dict[str, Any]:
    return await asyncio.get_running_loop().create_future()


def heard(server: FakeServer) -> list[str]:
    return [method for method, _ in server.heard]


async def test_a_modern_server_answers_the_probe_and_that_is_all() -> None:
    server = FakeServer(version="2.0", capabilities={"tools": {"listChanged": True}})

    identity = await negotiate(server)

    assert identity == Identity("modern", MODERN, {"name": "files", "version": "2.0"}, {"tools": {"listChanged": True}})
    assert heard(server) == ["server/discover"]


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INVALID_PARAMS, -32600, -32000, 0])
async def test_any_error_to_the_probe_leads_to_the_handshake(code: int) -> None:
    server = FakeServer(era="legacy", methods={"server/discover": refusing(code)})

    identity = await negotiate(server)

    assert (identity.era, identity.protocol_version) == ("legacy", LATEST_HANDSHAKE_VERSION)
    assert heard(server) == ["server/discover", "initialize"]


async def test_the_handshake_is_completed_by_a_notification_before_anything_else() -> None:
    server = FakeServer(era="legacy")
    link = await server.open(hearing(lambda *_: None))
    sent: list[bytes] = []
    forward = link._mux._send

    async def spy(line: bytes) -> None:
        sent.append(line)
        await forward(line)

    link._mux._send = spy
    await Negotiation("files", link, itertools.count(1).__next__, CLIENT).run(None, PROBE_SECONDS)

    assert b'"notifications/initialized"' in sent[-1]


async def test_a_server_silent_to_the_probe_gets_the_handshake_after_the_probe_time() -> None:
    server = FakeServer(era="legacy", methods={"server/discover": silent})
    before = asyncio.get_running_loop().time()

    identity = await negotiate(server)

    assert identity.era == "legacy"
    assert asyncio.get_running_loop().time() - before == pytest.approx(PROBE_SECONDS, abs=0.5)


async def test_an_answer_to_the_probe_that_comes_late_still_counts() -> None:
    server = FakeServer()
    server.methods |= {"server/discover": after(10, server._discover), "initialize": after(20, refusing(-32022))}

    identity = await negotiate(server)

    assert (identity.era, identity.is_guess) == ("modern", False)
    assert heard(server) == ["server/discover", "initialize"]


async def test_an_answer_that_comes_after_the_handshake_was_refused_still_counts() -> None:
    server = FakeServer()
    server.methods |= {"server/discover": after(5, server._discover), "initialize": refusing(METHOD_NOT_FOUND)}

    assert (await negotiate(server)).era == "modern"


async def test_a_refusal_of_the_probe_that_comes_late_makes_the_handshake_certain() -> None:
    server = FakeServer(era="legacy")
    link = await server.open(hearing(lambda *_: None))
    server.methods |= {"server/discover": after(4, refusing(METHOD_NOT_FOUND)), "initialize": after(4, link.initialize)}

    assert (await negotiate(server)).is_guess is False


async def test_a_server_too_slow_for_the_probe_once_is_not_held_for_old_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = FakeServer(methods={"server/discover": silent, "initialize": lambda _: {"protocolVersion": "2025-06-18"}})

    first = await negotiate(server)
    del server.methods["server/discover"]
    second = await negotiate(server, first)

    assert (first.era, first.is_guess) == ("legacy", True)
    assert (second.era, second.is_guess) == ("modern", False)
    assert [record.getMessage() for record in caplog.records if "probeTimeout" in record.getMessage()] != []


async def test_a_server_that_never_answers_the_probe_costs_its_time_only_once() -> None:
    server = FakeServer(era="legacy", methods={"server/discover": silent})
    first = await negotiate(server)
    before = asyncio.get_running_loop().time()

    second = await negotiate(server, first)

    assert (second.era, second.is_guess) == ("legacy", True)
    assert asyncio.get_running_loop().time() - before < 0.5


def after(seconds: float, answer: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    async def slow(params: dict[str, Any]) -> Any:
        await asyncio.sleep(seconds)
        return answer(params)

    return slow


async def test_versions_without_any_in_common_are_refused_with_the_servers_error() -> None:
    server = FakeServer(
        methods={"server/discover": refusing(UNSUPPORTED_PROTOCOL_VERSION, {"supported": ["2099-01-01"]})}
    )

    with pytest.raises(RpcError):
        await negotiate(server)
    assert heard(server) == ["server/discover"]


async def test_a_refusal_that_names_a_shared_modern_version_is_followed_by_it() -> None:
    server = FakeServer()
    server.answer_once("server/discover", refusing(UNSUPPORTED_PROTOCOL_VERSION, {"supported": ["2099-01-01", MODERN]}))

    assert (await negotiate(server)).era == "modern"
    assert heard(server) == ["server/discover", "server/discover"]


async def test_a_refusal_that_names_only_handshake_versions_leads_to_the_handshake() -> None:
    refusal = refusing(UNSUPPORTED_PROTOCOL_VERSION, {"supported": ["2025-06-18"]})
    server = FakeServer(era="legacy", methods={"server/discover": refusal})

    assert (await negotiate(server)).era == "legacy"


@pytest.mark.parametrize("data", [None, {}, {"supported": "all"}, [], "words"])
async def test_a_refusal_that_names_no_versions_leads_to_the_handshake(data: Any) -> None:
    server = FakeServer(era="legacy", methods={"server/discover": refusing(UNSUPPORTED_PROTOCOL_VERSION, data)})

    assert (await negotiate(server)).era == "legacy"


@pytest.mark.parametrize(
    "garbage",
    [None, [], "hello", 7, {}, {"supportedVersions": None}, {"supportedVersions": "all"}, {"supportedVersions": [1]}],
)
async def test_a_probe_result_without_a_version_we_speak_leads_to_the_handshake(garbage: Any) -> None:
    server = FakeServer(era="legacy", methods={"server/discover": lambda _: garbage})

    assert (await negotiate(server)).era == "legacy"


@pytest.mark.parametrize(
    "garbage", [None, [], "hello", {}, {"protocolVersion": 5, "serverInfo": [], "capabilities": 1}]
)
async def test_a_handshake_result_of_any_shape_gives_an_identity(garbage: Any) -> None:
    server = FakeServer(era="legacy", methods={"initialize": lambda _: garbage})

    identity = await negotiate(server)

    assert (identity.era, identity.server_info, identity.capabilities) == ("legacy", {}, {})


async def test_a_server_that_refuses_both_is_an_error() -> None:
    server = FakeServer(methods={"server/discover": refusing(-32601), "initialize": refusing(-32000)})

    with pytest.raises(RpcError) as caught:
        await negotiate(server)
    assert caught.value.code == -32000


async def test_a_modern_server_that_missed_the_probe_is_found_through_its_refusal_of_the_handshake() -> None:
    server = FakeServer()
    server.answer_once("server/discover", silent)

    assert (await negotiate(server)).era == "modern"
    assert heard(server) == ["server/discover", "initialize", "server/discover"]


async def test_a_remembered_modern_server_costs_one_trip_and_is_met_anew() -> None:
    server = FakeServer(version="3.0")

    identity = await negotiate(server, Identity("modern", MODERN, {"name": "files", "version": "2.0"}))

    assert identity.server_info["version"] == "3.0"
    assert heard(server) == ["server/discover"]


async def test_a_remembered_handshake_server_costs_one_trip_and_is_met_anew() -> None:
    server = FakeServer(era="legacy", version="3.0")

    identity = await negotiate(server, Identity("legacy", "2024-11-05", {"version": "2.0"}))

    assert identity.server_info["version"] == "3.0"
    assert heard(server) == ["initialize"]


async def test_instructions_are_kept_in_both_eras() -> None:
    modern = FakeServer(methods={"server/discover": lambda _: {"supportedVersions": [MODERN], "instructions": "Ask."}})
    legacy = FakeServer(era="legacy", methods={"initialize": lambda _: {"instructions": "Ask too."}})

    assert (await negotiate(modern)).instructions == "Ask."
    assert (await negotiate(legacy)).instructions == "Ask too."


@pytest.mark.parametrize("method", ["server/discover", "initialize"])
async def test_an_introduction_without_end_is_refused(method: str) -> None:
    talkative = {"supportedVersions": [MODERN], "instructions": "x" * MOST_INTRODUCTION_BYTES}
    server = FakeServer(era="legacy", methods={"server/discover": refusing(-32601), "initialize": refusing(-32000)})
    server.methods[method] = lambda _: talkative

    with pytest.raises(RpcError):
        await negotiate(server)


async def test_a_session_turns_a_refused_handshake_into_our_own_error() -> None:
    server = FakeServer(methods={"server/discover": refusing(-32601), "initialize": refusing(-32000)})
    link = await server.open(hearing(lambda *_: None))

    with pytest.raises(ToolExecutionError, match="handshake was refused") as caught:
        await Session.start(
            "files", link, Inbox("files", lambda: None), known=None, probe_seconds=3, client_info=CLIENT
        )
    assert caught.value.rpc_code == -32000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(probe=JSON, handshake=JSON)
async def test_whatever_a_server_answers_there_is_an_identity(probe: Any, handshake: Any) -> None:
    server = FakeServer(
        "files", [tool("a")], methods={"server/discover": lambda _: probe, "initialize": lambda _: handshake}
    )

    assert (await negotiate(server)).era == "legacy"
