from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import INSTANT, FakeLink, FakeServer, FakeServers, eventually, spec, text, tool
from toolcrib.errors import CallTimeout, ServerConnectionError, ToolExecutionError
from toolcrib.model.asking import Conversation, Question
from toolcrib.model.call import Target, ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.model.status import ServerStatus
from toolcrib.model.tool import Tool
from toolcrib.upstream.connection import ConnectionPolicy
from toolcrib.upstream.pool import Pool
from toolcrib.wire.jsonrpc import RpcError

POLICY = ConnectionPolicy(client_info={"name": "test", "version": "0"})


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


@asynccontextmanager
async def pooled(
    servers: FakeServers, *specs: ServerSpec, told: list[str] | None = None, **more: Any
) -> AsyncIterator[Pool]:
    heard = [] if told is None else told
    pool = Pool(
        servers,
        POLICY,
        known_identity=lambda _: None,
        on_connected=lambda server, _: heard.append(f"{server.name} connected"),
        on_tools_changed=lambda server: heard.append(f"{server.name} changed"),
        **more,
    )
    await pool.serve(specs)
    try:
        yield pool
    finally:
        await pool.close()


async def call(pool: Pool, server: str, name: str = "read") -> str:
    return (await pool.call(a_call(server, name))).text


def a_call(server: str, name: str = "read", entry: ServerSpec | None = None, caller: Caller | None = None) -> ToolCall:
    target = Target(Tool.from_mcp(server, tool(name)), name, entry or spec(server))
    return ToolCall(server, name, {}, b"{}", caller or Caller(), target=target)


async def test_only_the_server_that_is_needed_starts() -> None:
    servers = FakeServers(FakeServer("a"), FakeServer("b"))

    async with pooled(servers, spec("a"), spec("b")) as pool:
        await call(pool, "a")
        assert (servers["a"].starts, servers["b"].starts) == (1, 0)
        assert (pool.status(spec("a")).state, pool.status(spec("b")).state) == ("connected", "disconnected")


async def test_a_server_that_hangs_delays_nobody() -> None:
    async def hang() -> None:
        await asyncio.get_running_loop().create_future()

    servers = FakeServers(FakeServer("a", on_open=hang), FakeServer("b"))

    async with pooled(servers, spec("a"), spec("b")) as pool:
        stuck = asyncio.create_task(call(pool, "a"))
        before = asyncio.get_running_loop().time()
        assert await call(pool, "b") == "{}"
        assert asyncio.get_running_loop().time() - before < 1
        stuck.cancel()


async def test_a_new_configuration_closes_only_what_changed() -> None:
    servers = FakeServers(*(FakeServer(name) for name in "abc"))

    async with pooled(servers, spec("a"), spec("b"), spec("c")) as pool:
        for name in "abc":
            await call(pool, name)
        moved = spec("b", launch=StdioLaunch("fake", ("elsewhere",)))
        await pool.serve([spec("a"), moved])
        assert [len(servers[name].open_links) for name in "abc"] == [1, 0, 0]
        await call(pool, "a")
        await pool.call(a_call("b", entry=moved))
        assert [servers[name].starts for name in "abc"] == [1, 2, 1]


async def test_an_entry_that_only_says_more_keeps_its_connection() -> None:
    servers = FakeServers(FakeServer("a"))

    async with pooled(servers, spec("a")) as pool:
        await call(pool, "a")
        await pool.serve([spec("a", description="Now described.", timeout_seconds=7.0)])
        await call(pool, "a")
        assert (servers["a"].starts, len(servers["a"].open_links)) == (1, 1)


async def test_other_limits_are_taken_over_by_every_connection() -> None:
    async def hang(_: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    servers = FakeServers(FakeServer("a", tools={"read": hang}))

    async with pooled(servers, spec("a")) as pool:
        await pool.configure(replace(POLICY, call_seconds=2.0))
        with pytest.raises(Exception, match="within 2 s"):
            await call(pool, "a")


async def test_a_server_that_left_the_configuration_is_refused() -> None:
    servers = FakeServers(FakeServer("a"))

    async with pooled(servers, spec("a")) as pool:
        await pool.serve([])
        with pytest.raises(ServerConnectionError, match="not configured any more"):
            await call(pool, "a")
        assert pool.status(spec("a")).state == "disconnected"


async def test_many_servers_are_closed_at_the_same_time() -> None:
    async def slow() -> None:
        await asyncio.sleep(5)

    names = [f"s{number}" for number in range(50)]
    servers = FakeServers(*(FakeServer(name, on_close=slow) for name in names))

    async with pooled(servers, *map(spec, names)) as pool:
        await asyncio.gather(*(call(pool, name) for name in names))
        before = asyncio.get_running_loop().time()
        await pool.close()
        assert asyncio.get_running_loop().time() - before == pytest.approx(5, abs=1)
        assert not any(servers[name].open_links for name in names)


async def test_one_connection_that_fails_to_close_does_not_keep_the_others_open() -> None:
    async def broken() -> None:
        raise OSError("stuck")

    servers = FakeServers(FakeServer("a", on_close=broken), FakeServer("b"))

    async with pooled(servers, spec("a"), spec("b")) as pool:
        await call(pool, "a")
        await call(pool, "b")
        await pool.close()
        assert servers["b"].open_links == []


async def test_the_owner_hears_of_each_server_by_name() -> None:
    told: list[str] = []
    servers = FakeServers(FakeServer("a", era="legacy"), FakeServer("b"))

    async with pooled(servers, spec("a"), spec("b"), told=told) as pool:
        await call(pool, "a")
        await call(pool, "b")
        servers["a"].notify("notifications/tools/list_changed")

    assert told == ["a connected", "b connected", "a changed"]


async def test_a_reading_goes_to_the_server_named() -> None:
    servers = FakeServers(FakeServer("a", [{"name": "x"}]), FakeServer("b"))

    async with pooled(servers, spec("a"), spec("b")) as pool:
        async with pool.visit(spec("a")) as visit:
            assert [definition["name"] for definition in (await visit.read()).tools] == ["x"]
        assert servers["b"].starts == 0


@pytest.mark.parametrize("answer", [["not", "a", "result"], "text", 7, None])
async def test_an_answer_that_is_no_result_is_an_error_of_the_server(answer: Any) -> None:
    servers = FakeServers(FakeServer("a", tools={"read": lambda _: answer}))

    async with pooled(servers, spec("a")) as pool:
        with pytest.raises(ToolExecutionError, match="not a tool result"):
            await call(pool, "a")


async def test_calls_of_many_servers_overlap() -> None:
    names = [f"s{number}" for number in range(20)]
    all_of_them = asyncio.Barrier(len(names))

    async def answers_when_all_are_asked(_: dict[str, Any]) -> dict[str, Any]:
        async with asyncio.timeout(10):
            await all_of_them.wait()
        return text("done")

    servers = FakeServers(*(FakeServer(name, tools={"read": answers_when_all_are_asked}) for name in names))

    async with pooled(servers, *map(spec, names)) as pool:
        answers = await asyncio.gather(*(call(pool, name) for name in names))
        assert answers == ["done"] * len(names)
        await eventually(lambda: all(pool.status(spec(name)).state == "connected" for name in names))


# -- several clients

PRIVATE = spec("browser", is_private=True)
CURSOR, CODE, CODE_TOO = Caller("cursor", session="1"), Caller("code", session="2"), Caller("code", session="3")


async def test_instances_of_one_launch_have_a_connection_each() -> None:
    servers = FakeServers(FakeServer("files"))
    mine, theirs = spec("files", instance="mine"), spec("files", instance="theirs")

    async with pooled(servers, mine, theirs, mine) as pool:
        for entry in (mine, theirs, mine):
            await pool.call(a_call("files", entry=entry))

        assert servers["files"].starts == 2


async def test_each_session_has_a_private_server_for_itself_and_no_session_the_shared_one() -> None:
    servers = FakeServers(FakeServer("browser"))

    async with pooled(servers, PRIVATE) as pool:
        for caller in (CURSOR, CODE, CURSOR, Caller("program"), Caller("other")):
            await pool.call(a_call("browser", entry=PRIVATE, caller=caller))

        assert len(servers["browser"].open_links) == 3


async def test_the_end_of_a_session_stops_its_own_servers_only() -> None:
    servers = FakeServers(FakeServer("browser"))

    async with pooled(servers, PRIVATE) as pool:
        for caller in (CURSOR, CODE, Caller()):
            await pool.call(a_call("browser", entry=PRIVATE, caller=caller))
        await pool.end_session("1")
        assert [link.is_closed for link in servers["browser"].links] == [True, False, False]

        await pool.call(a_call("browser", entry=PRIVATE, caller=CODE))
        assert servers["browser"].starts == 3


async def test_a_private_server_that_leaves_the_configuration_or_becomes_shared_is_stopped_in_every_session() -> None:
    for after in ([], [spec("browser")]):
        servers = FakeServers(FakeServer("browser"))
        async with pooled(servers, PRIVATE) as pool:
            await pool.call(a_call("browser", entry=PRIVATE, caller=CURSOR))
            await pool.serve(after)

            assert servers["browser"].open_links == []


async def test_a_reading_uses_no_connection_of_a_session() -> None:
    servers = FakeServers(FakeServer("browser", [tool("open")]))

    async with pooled(servers, PRIVATE) as pool:
        await pool.call(a_call("browser", entry=PRIVATE, caller=CURSOR))
        async with pool.visit(PRIVATE) as visit:
            await visit.read()

        assert [method for method, _ in servers["browser"].heard].count("tools/list") == 1
        assert servers["browser"].starts == 2


async def test_a_private_server_counts_as_connected_while_any_session_has_it() -> None:
    servers = FakeServers(FakeServer("browser"))

    async with pooled(servers, PRIVATE) as pool:
        await pool.call(a_call("browser", entry=PRIVATE, caller=CURSOR))
        assert pool.status(PRIVATE).state == "connected"
        await pool.disconnect(PRIVATE)
        assert (pool.status(PRIVATE).state, servers["browser"].open_links) == ("disconnected", [])


async def test_why_the_server_of_one_session_ended_is_not_told_to_others() -> None:
    servers = FakeServers(FakeServer("browser"))

    async with pooled(servers, PRIVATE) as pool:
        await pool.call(a_call("browser", entry=PRIVATE, caller=CURSOR))
        servers["browser"].crash("it could not open https://my.example/secret-page")
        await eventually(lambda: pool.status(PRIVATE).state != "connected")

        assert pool.status(PRIVATE) == ServerStatus("disconnected")


async def test_sessions_whose_server_was_stopped_for_being_idle_are_not_kept() -> None:
    servers = FakeServers(FakeServer("browser"))

    async with pooled(servers, PRIVATE) as pool:
        for number in range(20):
            await pool.call(a_call("browser", entry=PRIVATE, caller=Caller("web", session=f"s{number}")))
            await asyncio.sleep(POLICY.idle_seconds + 1)

        assert servers["browser"].open_links == []
        assert len(pool._private) == 1


async def test_a_crash_of_a_server_that_sessions_have_for_themselves_is_felt_in_one_session() -> None:
    server = FakeServer("browser")
    servers = FakeServers(server)
    forever = asyncio.Event()

    async def wait(_: dict[str, Any]) -> dict[str, Any]:
        await forever.wait()
        return text("done")

    server.tools["wait"] = wait
    async with pooled(servers, PRIVATE) as pool:
        calls = [
            asyncio.create_task(pool.call(a_call("browser", "wait", PRIVATE, caller))) for caller in (CURSOR, CODE)
        ]
        await eventually(lambda: server.running == 2)
        server.links[0].lose("it crashed")
        with pytest.raises(ServerConnectionError):
            await calls[0]
        forever.set()
        assert (await calls[1]).text == "done"


async def test_the_users_of_a_server_are_those_who_called_it_since_it_was_started() -> None:
    servers = FakeServers(FakeServer("files"), FakeServer("browser"))

    async with pooled(servers, spec("files"), PRIVATE) as pool:
        for caller in (CURSOR, CODE, CODE_TOO, CODE):
            await pool.call(a_call("files", caller=caller))
        await pool.call(a_call("browser", entry=PRIVATE, caller=CURSOR))
        assert pool.users(spec("files")) == {"code": 2, "cursor": 1}
        assert pool.users(PRIVATE) == {"cursor": 1}

        await pool.end_session("2")
        assert pool.users(spec("files")) == {"code": 1, "cursor": 1}
        servers["files"].crash()
        await eventually(lambda: pool.status(spec("files")).state == "error")
        assert pool.users(spec("files")) == {}


# -- servers that ask


class Client(Conversation):
    """A client with these capabilities that answers with its name."""

    def __init__(self, name: str, *kinds: str) -> None:
        self.capabilities = {kind: {} for kind in kinds}
        self.name = name

    async def ask(self, question: Question) -> bytes:
        await asyncio.sleep(1)
        return json.dumps({"action": "accept", "content": {"name": self.name}}).encode()


class Asking(FakeServer):
    """An old server that asks for a name before it answers, and takes two seconds for it."""

    def __init__(self, kind: str = "elicitation/create") -> None:
        super().__init__("asking", era="legacy")
        self.answers: list[dict[str, Any]] = []
        self.methods["tools/call"] = self._ask
        self._kind = kind

    async def _ask(self, _: dict[str, Any]) -> dict[str, Any]:
        link = self.links[-1] if len(self.open_links) == 1 else self._called_on()
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        answer = await link.ask(self._kind, {"message": "Your name?"})
        self.running -= 1
        self.answers.append(answer)
        return text(json.dumps(answer.get("result", answer.get("error"))))

    def _called_on(self) -> FakeLink:
        return next(link for link in reversed(self.links) if asyncio.current_task() in link.tasks)


ASKING = spec("asking")


async def asked(pool: Pool, caller: Caller, client: Conversation | None, entry: ServerSpec = ASKING) -> str:
    call = a_call("asking", entry=entry, caller=caller).but(conversation=client)
    return (await pool.call(call)).text


async def test_a_server_that_asks_gets_a_connection_per_session() -> None:
    server = Asking()
    ann, bob, mute = Client("ann", "elicitation"), Client("bob", "elicitation"), Client("mute", "roots")

    async with pooled(FakeServers(server), ASKING) as pool:
        assert "ann" in await asked(pool, CURSOR, ann)
        assert server.starts == 1  # it was not known to ask
        together = await asyncio.gather(asked(pool, CURSOR, ann), asked(pool, CODE, bob), asked(pool, CODE_TOO, bob))

        assert [json.loads(answer)["content"]["name"] for answer in together] == ["ann", "bob", "bob"]
        assert server.starts == 4
        await asked(pool, CODE, bob)
        await asked(pool, CURSOR, mute)
        assert server.starts == 4

        await pool.end_session("1")
        assert len(server.open_links) == 3


async def test_calls_of_one_session_take_turns_on_a_server_that_asks() -> None:
    server = Asking()
    ann = Client("ann", "elicitation")

    async with pooled(FakeServers(server), ASKING) as pool:
        await asked(pool, CURSOR, ann)
        server.most_running = 0
        await asyncio.gather(*(asked(pool, CURSOR, ann) for _ in range(5)))

        assert server.most_running == 1
        assert len(server.answers) == 6


async def test_who_waits_too_long_for_a_turn_is_told_and_nothing_is_sent() -> None:
    server = Asking()

    class Slow(Client):
        async def ask(self, question: Question) -> bytes:
            await asyncio.sleep(10_000)
            return await super().ask(question)

    slow = Slow("slow", "elicitation")
    async with pooled(FakeServers(server), ASKING) as pool:
        await asked(pool, CURSOR, Client("ann", "elicitation"))
        first = asyncio.create_task(asked(pool, CURSOR, slow))
        await asyncio.sleep(1)
        with pytest.raises(CallTimeout, match="not sent"):
            await asked(pool, CURSOR, slow)
        await first

        assert server.count("tools/call") == 2


async def test_an_entry_that_is_always_shared_stays_so() -> None:
    server = Asking()
    entry = spec("asking", share="always")

    async with pooled(FakeServers(server), entry) as pool:
        for caller in (CURSOR, CODE, CURSOR):
            assert "ann" in await asked(pool, caller, Client("ann", "elicitation"), entry)

        assert server.starts == 1


async def test_what_a_server_asks_when_it_is_started_reaches_the_client_that_it_is_started_for() -> None:
    server = FakeServer("asking", era="legacy")
    folders: list[dict[str, Any]] = []

    async def greet() -> None:
        async def ask() -> None:
            folders.append(await server.links[-1].ask("roots/list"))

        asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(ask()))

    server.on_open = greet
    async with pooled(FakeServers(server), ASKING) as pool:
        for caller, name in ((CURSOR, "ann"), (CURSOR, "ann"), (CODE, "bob"), (CODE_TOO, "mute")):
            kinds = () if name == "mute" else ("roots",)
            await asked(pool, caller, Client(name, *kinds))
            await eventually(lambda: len(folders) == server.starts)

    told = [answer["result"].get("content", answer["result"]) for answer in folders]
    assert told == [{"roots": []}, {"name": "ann"}, {"name": "bob"}]


async def test_a_server_that_is_known_to_ask_is_not_shared_even_by_the_first_calls() -> None:
    server, noted = Asking(), list[str]()
    ann, bob = Client("ann", "elicitation"), Client("bob", "elicitation")
    known = {
        "known_asks": lambda _: ("elicitation",),
        "on_asks": lambda entry, kind: noted.append(f"{entry.name} {kind}"),
    }

    async with pooled(FakeServers(server), ASKING, **known) as pool:
        together = await asyncio.gather(asked(pool, CURSOR, ann), asked(pool, CODE, bob))
        await asked(pool, CURSOR, ann)

    assert [json.loads(answer)["content"]["name"] for answer in together] == ["ann", "bob"]
    assert noted == ["asking elicitation"]


async def test_folders_that_changed_are_told_to_the_servers_of_that_session_which_ask_again() -> None:
    server, heard = Asking(), list[tuple[str, int]]()
    folders = Client("ann", "elicitation", "roots"), Client("bob", "elicitation", "roots")

    async with pooled(FakeServers(server), ASKING, known_asks=lambda _: ("elicitation",)) as pool:
        for caller, client in zip((CURSOR, CODE), folders, strict=True):
            await asked(pool, caller, client)
        for number, link in enumerate(server.links):
            link.on_notified = lambda method, number=number: heard.append((method, number))
        await pool.roots_changed(CODE.session)
        await pool.roots_changed("nobody's")

        assert heard == [("notifications/roots/list_changed", 1)]
        answer = await server.links[1].ask("roots/list")
        assert answer["result"]["content"] == {"name": "bob"}


async def test_a_client_that_takes_rounds_is_asked_for_folders_only_while_it_calls() -> None:
    server = Asking("roots/list")
    modern = Client("ann", "roots")
    modern.takes_rounds = True

    async with pooled(FakeServers(server), ASKING, known_asks=lambda _: ("roots",)) as pool:
        await asked(pool, CURSOR, modern)
        modern.name = "somebody else"
        later = await server.links[0].ask("roots/list")

    assert server.answers[0]["result"]["content"] == {"name": "ann"}
    assert later == server.answers[0] | {"id": later["id"]}


FILE = "file:///notes.txt"


def a_library(**methods: Any) -> FakeServer:
    """A server of resources that somebody can listen to."""
    answers = {"resources/subscribe": lambda _: {}, "resources/unsubscribe": lambda _: {}}
    return FakeServer("a", era="legacy", capabilities={"resources": {"subscribe": True}}, methods=answers | methods)


@pytest.mark.parametrize("what", ["settings", "entry"])
async def test_whoever_listens_goes_on_listening_when_a_reload_takes_another_connection(what: str) -> None:
    server, heard = a_library(), list[str]()
    entry = spec("a")
    other = replace(entry, launch=StdioLaunch("fake", ("--other",)))

    async with pooled(FakeServers(server), entry) as pool:
        end = await pool.subscribe(a_call("a", entry=entry), FILE, heard.append)
        if what == "settings":
            await pool.configure(replace(POLICY, idle_seconds=7))
        else:
            await pool.serve([other])
        await eventually(lambda: server.count("resources/subscribe") == 2, seconds=10)
        server.notify("notifications/resources/updated", {"uri": FILE})
        await eventually(lambda: heard)
        await end()
        assert (heard, server.count("resources/unsubscribe")) == ([FILE], 1)


async def test_of_two_that_listen_at_once_both_hear_that_the_server_refuses() -> None:
    def refuse(_: Any) -> Any:
        raise RpcError(-32602, "no such resource")

    server = a_library(**{"resources/subscribe": refuse})
    async with pooled(FakeServers(server), spec("a")) as pool:
        asked = (pool.subscribe(a_call("a"), FILE, [].append) for _ in range(2))
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ToolExecutionError] * 2
