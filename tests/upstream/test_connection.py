from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import INSTANT, FakeServer, eventually, spec, text, tool
from toolcrib.errors import CallTimeout, ServerConnectionError, ToolcribError, ToolExecutionError
from toolcrib.model.asking import Conversation, Question
from toolcrib.model.call import CallEvent, LogMessage, Progress, ToolCall
from toolcrib.model.reading import Identity
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.connection import Connection, ConnectionHooks, ConnectionPolicy
from toolcrib.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from toolcrib.wire.protocol import UNSUPPORTED_PROTOCOL_VERSION

POLICY = ConnectionPolicy(client_info={"name": "test", "version": "0"})


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Watched:
    """A connection to a fake server, and what its owner was told."""

    def __init__(self, server: FakeServer, spec: ServerSpec, policy: ConnectionPolicy, known: Identity | None) -> None:
        self.known = known
        self.met: list[Identity] = []
        self.changes = 0

        async def open_link(_: ServerSpec, ears: Any) -> Any:
            return await server.open(ears)

        hooks = ConnectionHooks(lambda: self.known, self.met.append, self._count)
        self.connection = Connection(spec, open_link, policy, hooks)

    def _count(self) -> None:
        self.changes += 1

    async def call(
        self,
        name: str = "read",
        listener: Callable[[CallEvent], None] | None = None,
        client: Conversation | None = None,
    ) -> str:
        wants_progress = listener is not None
        call = ToolCall("files", name, {}, b"{}", listener=listener, log_level="info", wants_progress=wants_progress)
        call = call.but(conversation=client)
        return (await self.connection.call(call)).text


@asynccontextmanager
async def connected(
    server: FakeServer, *, known: Identity | None = None, entry: ServerSpec | None = None, **policy: Any
) -> AsyncIterator[Watched]:
    watched = Watched(server, entry or spec(), replace(POLICY, **policy), known)
    try:
        yield watched
    finally:
        await watched.connection.close()


def hanging() -> FakeServer:
    return FakeServer(tools={"read": _never})


async def _never(_: dict[str, Any]) -> dict[str, Any]:
    await asyncio.get_running_loop().create_future()
    return {}


def now() -> float:
    return asyncio.get_running_loop().time()


# -- starting


async def test_nothing_is_started_before_the_first_need() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        assert (server.starts, watched.connection.status.state) == (0, "disconnected")


async def test_many_callers_at_once_share_one_start() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        assert await asyncio.gather(*(watched.call() for _ in range(50))) == ["{}"] * 50
        assert (server.starts, watched.connection.status.state) == (1, "connected")


async def test_a_caller_who_leaves_while_the_server_starts_does_not_stop_the_others() -> None:
    gate = asyncio.Event()
    server = FakeServer()
    server.on_open = lambda: _wait(gate)

    async with connected(server) as watched:
        first, second = asyncio.create_task(watched.call()), asyncio.create_task(watched.call())
        await asyncio.sleep(0)
        first.cancel()
        gate.set()
        assert await second == "{}"
        assert server.starts == 1


async def _wait(gate: asyncio.Event) -> None:
    await gate.wait()


async def test_closing_while_the_server_starts_gives_callers_a_clear_error() -> None:
    server = FakeServer()
    server.on_open = lambda: _wait(asyncio.Event())

    async with connected(server) as watched:
        call = asyncio.create_task(watched.call())
        await asyncio.sleep(0.1)
        await watched.connection.close()
        with pytest.raises(ServerConnectionError, match="stopped while it was starting"):
            await call


async def test_a_server_that_hangs_at_its_start_is_given_up_in_time_and_says_so() -> None:
    server = FakeServer()
    server.on_open = lambda: _wait(asyncio.Event())

    async with connected(server, startup_seconds=60.0) as watched:
        before = now()
        with pytest.raises(CallTimeout, match="within 60 s"):
            await watched.call()
        assert now() - before == pytest.approx(60, abs=1)
        assert watched.connection.status.state == "error"


async def test_a_remote_server_that_drips_through_its_handshake_is_given_up_after_the_time_to_connect() -> None:
    server = FakeServer(methods={"server/discover": _never, "initialize": _never})
    remote = spec(launch=RemoteLaunch("https://slow.example.com/mcp"))

    async with connected(server, entry=remote, connect_seconds=10) as watched:
        began = now()
        with pytest.raises(CallTimeout, match="did not finish connecting within 10 s") as caught:
            await watched.call()
        assert round(now() - began) == 10
        assert "connectTimeout" in caught.value.hint
        assert "package" not in caught.value.hint


async def test_a_slow_remote_server_may_be_given_more_time_in_its_entry() -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(20)
        return dict(server.links[-1].initialize({}))

    server = FakeServer(era="legacy", methods={"initialize": slow})
    remote = spec(launch=RemoteLaunch("https://slow.example.com/mcp"), startup_timeout_seconds=30)

    async with connected(server, entry=remote, connect_seconds=10) as watched:
        await watched.connection.read()

    assert server.starts == 1


async def test_the_entrys_own_start_time_is_used() -> None:
    server = FakeServer()
    server.on_open = lambda: _wait(asyncio.Event())

    async with connected(server, entry=spec(startup_timeout_seconds=7.0)) as watched:
        with pytest.raises(CallTimeout, match="within 7 s"):
            await watched.call()


async def test_a_link_that_opened_but_never_negotiated_is_closed() -> None:
    server = FakeServer(methods={"server/discover": _never, "initialize": _never})

    async with connected(server) as watched:
        with pytest.raises(CallTimeout):
            await watched.call()
        assert (server.starts, server.open_links) == (1, [])


async def test_a_refused_handshake_is_an_error_with_the_servers_words() -> None:
    async def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32000, "licence expired")

    server = FakeServer(methods={"server/discover": refuse, "initialize": refuse})

    async with connected(server) as watched:
        with pytest.raises(ToolExecutionError, match="licence expired"):
            await watched.call()
        assert server.open_links == []


async def test_an_unforeseen_failure_of_a_transport_is_an_error_of_that_server() -> None:
    async def broken() -> None:
        raise KeyError("surprise")

    server = FakeServer(on_open=broken)

    async with connected(server) as watched:
        with pytest.raises(ServerConnectionError, match="KeyError"):
            await watched.call()


async def test_the_owner_is_told_whom_it_met() -> None:
    async with connected(FakeServer(version="2.5")) as watched:
        await watched.call()

        assert [(met.era, met.server_info["version"]) for met in watched.met] == [("modern", "2.5")]


# -- calling


async def test_a_call_that_takes_too_long_is_cancelled_on_the_server() -> None:
    server = hanging()

    async with connected(server) as watched:
        with pytest.raises(CallTimeout, match="within 300 s") as caught:
            await watched.call()
        await eventually(lambda: server.cancelled)
        assert "Outcome unknown" in caught.value.hint
        assert await watched.call("other") == "{}"
        assert server.starts == 1


async def test_the_entrys_own_call_time_is_used() -> None:
    async with connected(hanging(), entry=spec(timeout_seconds=2.0)) as watched:
        with pytest.raises(CallTimeout, match="within 2 s"):
            await watched.call()


@pytest.mark.parametrize(("name", "seconds"), [("read", 2), ("export_all", 1800), ("export_one", 5), ("other", 60)])
async def test_a_tool_may_have_a_time_of_its_own(name: str, seconds: int) -> None:
    timeouts = {"export_*": 1800.0, "export_one": 5.0, "read": 2.0}
    server = FakeServer(tools={name: _never})

    async with connected(server, entry=spec(timeout_seconds=60.0, tool_timeouts=timeouts)) as watched:
        started = now()
        with pytest.raises(CallTimeout, match=f"within {seconds} s"):
            await watched.call(name)
        assert seconds <= now() - started < seconds + 1


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_progress_starts_the_time_of_a_call_anew(era: Any) -> None:
    server = FakeServer(era=era)

    async def work(_: dict[str, Any]) -> dict[str, Any]:
        token = server.heard[-1][1]["_meta"]["progressToken"]
        for number in range(10):
            await asyncio.sleep(200)
            server.notify("notifications/progress", {"progressToken": token, "progress": number})
        return text("done")

    server.tools["read"] = work
    heard: list[CallEvent] = []
    async with connected(server, call_seconds=300.0) as watched:
        started = now()
        assert await watched.call(listener=heard.append) == "done"
        assert now() - started >= 2_000
        assert len(heard) == 10


async def test_log_messages_and_another_calls_progress_do_not_start_it_anew() -> None:
    server = FakeServer()

    async def talk(_: dict[str, Any]) -> dict[str, Any]:
        for _ in range(10):
            await asyncio.sleep(100)
            server.notify("notifications/message", {"level": "info", "data": "still here"})
            server.notify("notifications/progress", {"progressToken": 999, "progress": 1})
        return text("done")

    server.tools["read"] = talk
    async with connected(server, call_seconds=300.0) as watched:
        with pytest.raises(CallTimeout, match="within 300 s"):
            await watched.call(listener=lambda _: None)


async def test_a_cancelled_call_is_cancelled_on_the_server() -> None:
    server = hanging()

    async with connected(server) as watched:
        call = asyncio.create_task(watched.call())
        await eventually(lambda: server.running)
        call.cancel()
        await eventually(lambda: not server.running)
        assert len(server.cancelled) == 1


async def test_calls_to_one_server_run_at_the_same_time_up_to_the_cap() -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1)
        return text("done")

    server = FakeServer(tools={"read": slow})

    async with connected(server, max_concurrent=4) as watched:
        before = now()
        assert await asyncio.gather(*(watched.call() for _ in range(12))) == ["done"] * 12
        assert server.most_running == 4
        assert now() - before == pytest.approx(3, abs=0.5)


async def test_an_error_the_server_answers_with_keeps_its_code() -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32050, "not today")

    async with connected(FakeServer(tools={"read": refuse})) as watched:
        with pytest.raises(ToolExecutionError, match="not today") as caught:
            await watched.call()
        assert caught.value.rpc_code == -32050


async def test_progress_and_log_messages_reach_the_listener_of_their_call() -> None:
    heard: list[CallEvent] = []

    def chatty(arguments: dict[str, Any]) -> dict[str, Any]:
        token = server.heard[-1][1]["_meta"]["progressToken"]
        server.notify("notifications/progress", {"progressToken": token, "progress": 1, "total": 2})
        server.notify("notifications/message", {"level": "info", "data": "half way"})
        return text("done")

    server = FakeServer(tools={"read": chatty})

    async with connected(server) as watched:
        assert await watched.call(listener=heard.append) == "done"

    assert heard == [Progress({"progress": 1, "total": 2}), LogMessage({"level": "info", "data": "half way"})]


async def test_no_progress_is_asked_for_where_the_caller_wants_none() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.connection.call(ToolCall("files", "read", {}, b"{}", listener=lambda _: None, log_level="info"))

    (meta,) = [params["_meta"] for method, params in server.heard if method == "tools/call"]
    assert "progressToken" not in meta
    assert meta["io.modelcontextprotocol/logLevel"] == "info"


async def test_lists_are_asked_for_with_all_we_can_be_asked_and_calls_with_nothing() -> None:
    """Servers leave tools out for clients that can't be asked; and a question in the middle of a call can't be passed on."""
    modern, legacy = FakeServer(definitions=[tool("a")]), FakeServer(definitions=[tool("a")], era="legacy")
    for server in (modern, legacy):
        async with connected(server) as watched:
            await watched.connection.read()
            await watched.call()

    declared = {
        method: params["_meta"]["io.modelcontextprotocol/clientCapabilities"] for method, params in modern.heard
    }
    (handshake,) = [params["capabilities"] for method, params in legacy.heard if method == "initialize"]
    assert set(declared["tools/list"]) == {"elicitation", "sampling", "roots"}
    assert declared["tools/call"] == {}
    assert handshake == declared["tools/list"]


class Thinking(Conversation):
    """A person who thinks for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.capabilities = {"elicitation": {}}
        self._seconds = seconds

    async def ask(self, question: Question) -> bytes:
        await asyncio.sleep(self._seconds)
        return b'{"action":"accept"}'


def asking(server: FakeServer, seconds_after: float = 0) -> None:
    """Let the server ask somebody before it answers, and work for so many seconds afterwards."""

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = server.open_links
        answer = await link.ask("elicitation/create", {"message": "Which one?"})
        await asyncio.sleep(seconds_after)
        return text(answer["result"]["action"])

    server.tools["read"] = ask


async def test_the_time_of_a_call_stands_while_a_person_thinks() -> None:
    server = FakeServer(era="legacy")
    asking(server, seconds_after=40)

    async with connected(server, call_seconds=60) as watched:
        assert await watched.call(client=Thinking(3000)) == "accept"


async def test_the_time_of_a_call_starts_anew_once_the_person_has_answered() -> None:
    server = FakeServer(era="legacy")
    asking(server, seconds_after=80)

    async with connected(server, call_seconds=60) as watched:
        with pytest.raises(CallTimeout):
            await watched.call(client=Thinking(10))


async def test_a_server_that_takes_its_question_back_is_not_answered() -> None:
    server = FakeServer(era="legacy")
    person = Thinking(3000)

    async def ask(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = server.open_links
        question = asyncio.create_task(link.ask("elicitation/create", {"message": "Which one?"}))
        await asyncio.sleep(1)
        server.notify("notifications/cancelled", {"requestId": "s0"})
        await asyncio.sleep(4000)
        return text(str(question.done()))

    server.tools["read"] = ask
    async with connected(server, call_seconds=5000) as watched:
        assert await watched.call(client=person) == "False"


async def test_a_handshake_era_server_is_told_the_log_level_once() -> None:
    server = FakeServer(era="legacy", capabilities={"tools": {}, "logging": {}})

    async with connected(server) as watched:
        await watched.call()
        await watched.call()

    assert server.count("logging/setLevel") == 1


async def test_a_server_that_does_not_take_a_log_level_still_runs_the_call() -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32000, "no levels")

    server = FakeServer(era="legacy", capabilities={"logging": {}}, methods={"logging/setLevel": refuse})

    async with connected(server) as watched:
        assert await watched.call() == "{}"


# -- reading


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_reading_tells_the_identity_and_every_page_of_tools(era: Any) -> None:
    pages: dict[str | None, dict[str, Any]] = {
        None: {"tools": [tool("a")], "nextCursor": "2"},
        "2": {"tools": [tool("b")], "ttlMs": 5000},
    }
    server = FakeServer(era=era, methods={"tools/list": lambda params: pages[params.get("cursor")]})

    async with connected(server) as watched:
        reading = await watched.connection.read()

    assert [definition["name"] for definition in reading.tools] == ["a", "b"]
    assert (reading.identity.era, reading.ttl_seconds) == (era, 5.0)


async def test_a_tool_list_that_never_comes_is_a_timeout() -> None:
    async with connected(FakeServer(methods={"tools/list": _never}), list_seconds=30.0) as watched:
        with pytest.raises(CallTimeout, match="tools/list took longer than 30 s"):
            await watched.connection.read()


async def test_a_tool_list_whose_pages_drip_in_ends_after_the_time_for_all_of_them() -> None:
    pages = 0

    async def drip(_: dict[str, Any]) -> dict[str, Any]:
        nonlocal pages
        pages += 1
        await asyncio.sleep(9)
        return {"tools": [], "nextCursor": str(pages)}

    async with connected(FakeServer(methods={"tools/list": drip}), list_seconds=30) as watched:
        began = now()
        with pytest.raises(CallTimeout, match="took longer than 30 s"):
            await watched.connection.read()
        assert (pages, round(now() - began)) == (4, 30)


async def test_a_refused_tool_list_is_an_error_with_its_code() -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32000, "not for you")

    async with connected(FakeServer(methods={"tools/list": refuse})) as watched:
        with pytest.raises(ToolExecutionError, match="not for you"):
            await watched.connection.read()


# -- changes


async def test_a_changed_tool_list_is_told_to_the_owner_in_the_handshake_era() -> None:
    server = FakeServer(era="legacy")

    async with connected(server) as watched:
        await watched.call()
        server.notify("notifications/tools/list_changed")
        assert watched.changes == 1


async def test_a_modern_server_with_changing_tools_is_subscribed_to_once() -> None:
    server = FakeServer(capabilities={"tools": {"listChanged": True}})

    async with connected(server) as watched:
        await watched.call()
        await eventually(lambda: server.count("subscriptions/listen"))
        server.notify("notifications/tools/list_changed")
        assert (watched.changes, server.count("subscriptions/listen")) == (1, 1)


async def test_a_modern_server_whose_tools_never_change_is_not_subscribed_to() -> None:
    server = FakeServer(capabilities={"tools": {}})

    async with connected(server) as watched:
        await watched.call()
        await asyncio.sleep(1)

    assert server.count("subscriptions/listen") == 0


async def test_a_server_that_refuses_the_subscription_stays_connected() -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32601, "no subscriptions")

    server = FakeServer(capabilities={"tools": {"listChanged": True}}, methods={"subscriptions/listen": refuse})

    async with connected(server) as watched:
        await watched.call()
        await eventually(lambda: server.count("subscriptions/listen"))
        assert (await watched.call(), server.starts) == ("{}", 1)


# -- stopping


async def test_an_idle_server_is_stopped_after_five_minutes_and_started_again_on_need() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.call()
        await asyncio.sleep(299)
        assert len(server.open_links) == 1
        await asyncio.sleep(2)
        assert (server.open_links, watched.connection.status.state) == ([], "disconnected")
        assert (await watched.call(), server.starts) == ("{}", 2)


async def test_a_server_is_not_idle_while_a_call_runs() -> None:
    async def long(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1000)
        return text("at last")

    server = FakeServer(tools={"read": long})

    async with connected(server, call_seconds=2000.0, idle_seconds=10.0) as watched:
        assert await watched.call() == "at last"
        assert server.starts == 1


async def test_a_server_only_read_is_stopped_soon() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.connection.read()
        await asyncio.sleep(6)
        assert server.open_links == []


async def test_closing_fails_the_calls_under_way_as_sent() -> None:
    server = hanging()

    async with connected(server) as watched:
        call = asyncio.create_task(watched.call())
        await eventually(lambda: server.running)
        await watched.connection.close()
        with pytest.raises(ServerConnectionError) as caught:
            await call
        assert caught.value.sent
        assert server.open_links == []


async def test_closing_while_the_former_link_is_still_closing_gives_the_next_caller_a_clear_error() -> None:
    gate = asyncio.Event()
    server = FakeServer()

    async with connected(server) as watched:
        await watched.call()
        server.on_close = lambda: _wait(gate)
        server.crash()
        await eventually(lambda: watched.connection.status.state == "error")
        call = asyncio.create_task(watched.call())
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(watched.connection.close())
        await asyncio.sleep(0.1)
        gate.set()
        with pytest.raises(ServerConnectionError):
            await asyncio.wait_for(call, 20)
        await closing


async def test_closing_returns_only_when_the_former_link_is_closed_too() -> None:
    finished: list[bool] = []

    async def slow_close() -> None:
        await asyncio.sleep(3)
        finished.append(True)

    server = FakeServer(on_close=slow_close)

    async with connected(server) as watched:
        await watched.call()
        server.crash()
        await eventually(lambda: watched.connection.status.state == "error")
        call = asyncio.create_task(watched.call())
        await asyncio.sleep(0.1)
        await watched.connection.close()
        assert finished == [True]
        await asyncio.gather(call, return_exceptions=True)


async def test_starting_again_after_idle_times_is_no_crash_loop() -> None:
    server = FakeServer()

    async with connected(server, idle_seconds=1.0) as watched:
        for _ in range(8):
            assert await watched.call() == "{}"
            await asyncio.sleep(2)

    assert server.starts == 8


@pytest.mark.parametrize("idle_first", [True, False])
async def test_being_told_to_stop_again_does_not_interrupt_a_link_that_is_closing(idle_first: bool) -> None:
    finished: list[bool] = []

    async def slow_close() -> None:
        await asyncio.sleep(3)
        finished.append(True)

    async with connected(FakeServer(on_close=slow_close)) as watched:
        await watched.call()
        if idle_first:
            await asyncio.sleep(301)
        else:
            first = asyncio.create_task(watched.connection.close())
            await asyncio.sleep(1)
        await watched.connection.close()
        assert finished == [True]
        if not idle_first:
            await first


async def test_an_owner_that_fails_at_being_told_does_not_leave_the_link_open() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        watched.connection._hooks = ConnectionHooks(lambda: None, _fail, lambda: None)
        assert await watched.call() == "{}"
        await asyncio.sleep(301)
        assert server.open_links == []


def _fail(_: Identity) -> None:
    raise KeyError("surprise")


async def test_closing_twice_or_unopened_is_harmless() -> None:
    server = FakeServer()
    async with connected(server) as watched:
        await watched.connection.close()
        await watched.call()
        await watched.connection.close()
        await watched.connection.close()

        assert (server.starts, server.open_links) == (1, [])


# -- crashes


async def test_a_crash_fails_the_calls_under_way_and_is_the_status() -> None:
    server = hanging()

    async with connected(server) as watched:
        call = asyncio.create_task(watched.call())
        await eventually(lambda: server.running)
        server.crash("it exited with code 3")
        with pytest.raises(ServerConnectionError, match="code 3") as caught:
            await call
        await eventually(lambda: watched.connection.status.state == "error")
        assert caught.value.sent
        assert watched.connection.status.reason == "it exited with code 3"


async def test_a_crashed_server_comes_back_at_the_next_call() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.call()
        server.crash()
        await eventually(lambda: watched.connection.status.state == "error")
        assert (await watched.call(), server.starts) == ("{}", 2)
        assert watched.connection.status.state == "connected"


async def test_each_further_failed_start_waits_longer() -> None:
    server = FakeServer(on_open=_refuse_to_open)
    started: list[float] = []

    async with connected(server, max_starts_per_minute=100) as watched:
        for _ in range(5):
            before = now()
            with pytest.raises(ServerConnectionError, match="no such file"):
                await watched.call()
            started.append(round(now() - before))

    assert started == [0, 0, 1, 2, 4]


async def _refuse_to_open() -> None:
    raise ServerConnectionError("no such file", server="files")


async def test_a_server_that_keeps_crashing_is_left_alone_for_a_minute() -> None:
    attempts = 0

    async def count_and_refuse() -> None:
        nonlocal attempts
        attempts += 1
        await _refuse_to_open()

    async with connected(FakeServer(on_open=count_and_refuse)) as watched:
        refusals = [await _outcome(watched) for _ in range(8)]
        assert attempts == 5
        assert "started 5 times within a minute" in refusals[-1]
        assert "no such file" in refusals[-1]
        await asyncio.sleep(61)
        await _outcome(watched)
        assert attempts == 6


async def _outcome(watched: Watched) -> str:
    try:
        return await watched.call()
    except ToolcribError as error:
        return error.message


async def test_the_back_off_is_forgotten_once_a_call_succeeds() -> None:
    server = FakeServer()

    async with connected(server, max_starts_per_minute=100) as watched:
        for _ in range(6):
            await watched.call()
            server.crash()
            await eventually(lambda: watched.connection.status.state == "error")
        before = now()
        await watched.call()
        assert now() - before < 1


# -- sessions and eras


async def test_an_expired_session_is_renewed_once_for_many_callers() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.call()
        server.forget_sessions()
        assert await asyncio.gather(*(watched.call() for _ in range(20))) == ["{}"] * 20
        assert server.starts == 2


async def test_a_server_that_ends_every_session_is_an_error_not_a_loop() -> None:
    server = FakeServer()

    async with connected(server) as watched:
        await watched.call()

        async def forget() -> None:
            server.forget_sessions()

        server.on_open = forget
        # The link is made after the session counter moved, so move it once more when the handshake is done.
        server.methods["server/discover"] = lambda params: server.forget_sessions() or server._discover(params)
        server.forget_sessions()
        with pytest.raises(ServerConnectionError, match="ends every session"):
            await watched.call()
        assert server.starts == 2


MODERN_IDENTITY = Identity("modern", "2026-07-28", {"name": "files", "version": "1.0"}, {"tools": {}})
LEGACY_IDENTITY = Identity("legacy", "2025-11-25", {"name": "files", "version": "1.0"}, {"tools": {}})


async def test_a_remembered_modern_server_is_asked_for_its_era_before_the_first_call() -> None:
    server = FakeServer()

    async with connected(server, known=MODERN_IDENTITY) as watched:
        await watched.call()

    assert [method for method, _ in server.heard] == ["server/discover", "tools/call"]


async def test_a_remembered_handshake_era_server_is_not_probed() -> None:
    server = FakeServer(era="legacy")

    async with connected(server, known=LEGACY_IDENTITY) as watched:
        await watched.call()

    assert [method for method, _ in server.heard] == ["initialize", "tools/call"]


async def test_a_server_remembered_as_modern_that_is_old_now_is_asked_anew() -> None:
    server = FakeServer(era="legacy")

    async with connected(server, known=MODERN_IDENTITY) as watched:
        assert await watched.call() == "{}"
        assert [met.era for met in watched.met] == ["legacy"]
        assert (server.starts, len(server.calls)) == (1, 1)


async def test_a_server_remembered_as_old_that_is_modern_now_is_asked_anew() -> None:
    async with connected(FakeServer(era="modern"), known=LEGACY_IDENTITY) as watched:
        assert await watched.call() == "{}"
        assert [met.era for met in watched.met] == ["modern"]


async def test_a_server_remembered_as_old_that_does_not_know_the_handshake_any_more_is_probed() -> None:
    def unknown(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(METHOD_NOT_FOUND, "no initialize here")

    server = FakeServer(methods={"initialize": unknown})

    async with connected(server, known=LEGACY_IDENTITY) as watched:
        assert await watched.call() == "{}"
        assert [met.era for met in watched.met] == ["modern"]


def refusing(code: int, message: str, data: Any = None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(code, message, data)

    return refuse


@pytest.mark.parametrize("known", [None, MODERN_IDENTITY, LEGACY_IDENTITY])
@pytest.mark.parametrize("code", [INVALID_PARAMS, METHOD_NOT_FOUND, INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION])
async def test_an_error_of_a_tool_is_never_taken_for_a_doubt_about_the_era(code: int, known: Identity | None) -> None:
    era = "legacy" if known is LEGACY_IDENTITY else "modern"
    server = FakeServer(era=era, tools={"bad": refusing(code, "bad path"), "slow": _never})

    async with connected(server, known=known) as watched:
        beside = asyncio.create_task(watched.call("slow"))
        for _ in range(6):
            with pytest.raises(ToolExecutionError, match="bad path"):
                await watched.call("bad")
        assert (server.starts, sorted(name for name, _ in server.calls)) == (1, [*["bad"] * 6, "slow"])
        assert not beside.done()
        beside.cancel()


async def test_a_server_that_ends_on_anything_but_the_handshake_is_met_with_it() -> None:
    server = FakeServer(era="legacy")

    def end(_: dict[str, Any]) -> dict[str, Any]:
        server.crash("it expected initialize")
        return {}

    server.methods["server/discover"] = end

    async with connected(server) as watched:
        assert await watched.call() == "{}"
        assert (server.starts, [(met.era, met.is_guess) for met in watched.met]) == (2, [("legacy", False)])


async def test_a_server_that_ended_for_good_says_why_after_the_second_try() -> None:
    server = FakeServer(era="legacy")

    def end(_: dict[str, Any]) -> dict[str, Any]:
        server.crash("GITHUB_TOKEN is not set")
        return {}

    server.methods |= {"server/discover": end, "initialize": end}

    async with connected(server) as watched:
        with pytest.raises(ServerConnectionError, match="GITHUB_TOKEN"):
            await watched.call()
        assert server.starts == 2


async def test_a_lock_out_after_lost_sessions_names_the_reason() -> None:
    server = FakeServer()

    async with connected(server, max_starts_per_minute=2) as watched:
        for _ in range(2):
            await watched.call()
            server.forget_sessions()
        with pytest.raises(ServerConnectionError, match="last reason: the server ended the session"):
            await watched.call()


async def test_a_result_is_handed_over_byte_for_byte() -> None:
    payload = {"content": [], "structuredContent": {"n": 1.10, "big": 2**70, "text": "naïve"}, "x-more": [None]}
    server = FakeServer(tools={"read": lambda _: payload})

    async with connected(server) as watched:
        result = await watched.connection.call(ToolCall("files", "read", {}, b"{}"))

    assert bytes(result.raw) == (
        b'{"content": [], "structuredContent": {"n": 1.1, "big": 1180591620717411303424, '
        b'"text": "na\\u00efve"}, "x-more": [null]}'
    )


@pytest.mark.parametrize("changes", [True, False])
async def test_a_task_may_take_as_long_as_it_goes_on_changing(changes: bool) -> None:
    looks: list[int] = []

    def look(_: dict[str, Any]) -> dict[str, Any]:
        looks.append(1)
        step = {"taskId": "t", "status": "working", "statusMessage": str(len(looks)) if changes else "", **pause}
        return step if len(looks) < 50 else {"taskId": "t", "status": "completed", "result": text("built")}

    pause = {"pollIntervalMs": 20_000}
    begun = {"resultType": "task", "taskId": "t", "status": "working", **pause}
    server = FakeServer(methods={"tools/call": lambda _: begun, "tasks/get": look, "tasks/cancel": lambda _: {}})

    async with connected(server, call_seconds=60) as watched:
        started = now()
        if changes:
            assert await watched.call() == "built"
            assert now() - started >= 49 * 20
        else:
            with pytest.raises(CallTimeout):
                await watched.call()
            assert now() - started == pytest.approx(60, abs=1)
            await eventually(lambda: server.count("tasks/cancel"))
