"""Several clients on the servers of one engine: what they share, and what they have each for themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import FakeServer, FakeServers, eventually, text, tool
from toolcrib import Caller, Gateway, load_settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import SettingsSource, open_engine, open_workspace
from toolcrib.engine.own_row import OwnGatewayRow
from toolcrib.model.call import CallEvent, LogMessage, Progress, ToolCall
from toolcrib.model.site import Site

CURSOR, CODE, CODE_TOO = Caller("cursor", session="1"), Caller("code", session="2"), Caller("code", session="3")


def write(path: Path, section: dict[str, Any] | None = None, **entries: dict[str, Any]) -> Path:
    servers = {name: {"command": "npx", "args": [name], **more} for name, more in entries.items()}
    settings = {"servers": servers, "reloadInterval": 0.02, **(section or {})}
    path.write_text(yaml.safe_dump({"discovery": settings}), encoding="utf-8")
    return path


@asynccontextmanager
async def opened(servers: FakeServers, config: Path, clients: int = 2) -> AsyncIterator[tuple[Engine, list[Gateway]]]:
    """One engine, and a workspace of the same file for each of so many clients in one folder."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(30))
        settings = load_settings(config)
        engine = await stack.enter_async_context(open_engine(settings, opener=servers, read_due=False))
        site = Site({"HOME": str(config.parent)}, str(config.parent))
        sources = [SettingsSource(config, {}, settings, is_fixed=False, site=site) for _ in range(clients)]
        yield engine, [await stack.enter_async_context(open_workspace(engine, source)) for source in sources]


async def test_two_clients_share_a_server_and_have_a_stateful_one_each_for_themselves(tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("tickets", [tool("use")]), FakeServer("playwright-mcp", [tool("use")]))
    config = write(tmp_path / "toolcrib.yaml", **{"tickets": {}, "playwright-mcp": {}})

    async with opened(servers, config) as (_, [first, second]):
        for server in ("tickets", "playwright-mcp"):
            assert (await first.execute_tool(server, "use", caller=CURSOR)).success
            assert (await second.execute_tool(server, "use", caller=CODE)).success
        links = {name: servers[name].links for name in ("tickets", "playwright-mcp")}
        assert len(links["tickets"]) == 1
        # One was opened to read its tools.
        assert len(links["playwright-mcp"]) == 3


@pytest.mark.parametrize(("share", "processes"), [("auto", 1), ("always", 1), ("never", 3)])
async def test_an_entry_says_whether_clients_share_its_server(share: str, processes: int, tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("tickets", [tool("use")]))
    config = write(tmp_path / "toolcrib.yaml", tickets={"share": share})

    async with opened(servers, config) as (_, [first, second]):
        assert (await first.execute_tool("tickets", "use", caller=CURSOR)).success
        assert (await second.execute_tool("tickets", "use", caller=CODE)).success

    assert servers["tickets"].starts == processes


def test_another_word_for_share_is_a_problem_with_its_place(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", tickets={"share": "sometimes"}, other={})
    settings = load_settings(config)

    assert [spec.name for spec in settings.servers] == ["other"]
    assert [(problem.where, problem.message) for problem in settings.problems] == [
        ("discovery.servers.tickets.share", "expected auto or always or never, found another word")
    ]


async def test_a_server_named_in_an_edited_setting_becomes_private_without_a_restart(tmp_path: Path) -> None:
    server = FakeServer("tickets", [tool("use")])
    config = write(tmp_path / "toolcrib.yaml", tickets={})

    async with opened(FakeServers(server), config, clients=1) as (_, [gateway]):
        for caller in (CURSOR, CODE):
            await gateway.execute_tool("tickets", "use", caller=caller)
        assert server.starts == 1
        write(config, {"statefulServers": ["tick*"]}, tickets={})
        await gateway.reload()
        for caller in (CURSOR, CODE):
            await gateway.execute_tool("tickets", "use", caller=caller)
        assert server.starts == 3


async def test_the_end_of_a_session_stops_what_it_had_for_itself(tmp_path: Path) -> None:
    server = FakeServer("tickets", [tool("use")])
    config = write(tmp_path / "toolcrib.yaml", tickets={"share": "never"})

    async with opened(FakeServers(server), config, clients=1) as (engine, [gateway]):
        await gateway.execute_tool("tickets", "use", caller=CURSOR)
        await gateway.execute_tool("tickets", "use", caller=CODE)
        before = len(server.open_links)
        await engine.pool.end_session("1")
        assert len(server.open_links) == before - 1


async def test_a_crash_of_a_shared_server_fails_only_the_calls_that_ran_there(tmp_path: Path) -> None:
    crashing, other = FakeServer("tickets", [tool("use")]), FakeServer("mail", [tool("use")])
    finish = asyncio.Event()

    async def wait(_: dict[str, Any]) -> dict[str, Any]:
        await finish.wait()
        return text("done")

    crashing.tools["use"] = other.tools["use"] = wait
    config = write(tmp_path / "toolcrib.yaml", tickets={}, mail={})
    async with opened(FakeServers(crashing, other), config) as (_, [first, second]):
        lost = [
            asyncio.create_task(first.execute_tool("tickets", "use", caller=CURSOR)),
            asyncio.create_task(second.execute_tool("tickets", "use", caller=CODE)),
        ]
        kept = asyncio.create_task(second.execute_tool("mail", "use", caller=CODE))
        await eventually(lambda: crashing.running == 2 and other.running == 1)
        crashing.crash()
        errors = [(await one).error for one in lost]
        finish.set()

        assert [error.code if error else "" for error in errors] == ["SERVER_CONNECTION_ERROR"] * 2
        assert (await kept).success
        assert (await first.execute_tool("tickets", "use", caller=CURSOR)).success


# -- what one client hears


class Talkative(FakeServer):
    """A server of the handshake era whose calls last until they are let go."""

    def __init__(self) -> None:
        super().__init__("tickets", [tool("use")], era="legacy", capabilities={"tools": {}, "logging": {}})
        self.finish: dict[str, asyncio.Event] = {}
        self.tokens: dict[str, object] = {}
        self.methods["tools/call"] = self._talk

    async def _talk(self, params: dict[str, Any]) -> dict[str, Any]:
        who = params["arguments"]["who"]
        self.tokens[who] = params.get("_meta", {}).get("progressToken")
        self.finish[who] = asyncio.Event()
        await self.finish[who].wait()
        return text(who)

    @property
    def levels(self) -> list[str]:
        return [params["level"] for method, params in self.heard if method == "logging/setLevel"]

    def say(self, level: str) -> None:
        self.notify("notifications/message", {"level": level, "data": level})


class Client:
    """A caller with a level of its own, who notes all that it hears."""

    def __init__(self, gateway: Gateway, caller: Caller, level: str | None) -> None:
        self._gateway = gateway
        self._caller = caller
        self._level = level
        self.events: list[CallEvent] = []

    def use(self) -> asyncio.Task[Any]:
        who = self._caller.name
        raw = b'{"who":"%b"}' % who.encode()
        call = ToolCall(
            "tickets", "use", {"who": who}, raw, self._caller, self.events.append, self._level, wants_progress=True
        )
        return asyncio.create_task(self._gateway.execute(call))


@asynccontextmanager
async def two_clients(tmp_path: Path, *levels: str | None) -> AsyncIterator[tuple[Talkative, Client, Client]]:
    server = Talkative()
    async with opened(FakeServers(server), write(tmp_path / "toolcrib.yaml", tickets={})) as (_, gateways):
        for gateway in gateways:
            await gateway.read_server("tickets")
        clients = [Client(*one) for one in zip(gateways, (CURSOR, CODE), levels, strict=True)]
        yield server, clients[0], clients[1]


async def test_the_debug_messages_that_one_client_asked_for_do_not_reach_another(tmp_path: Path) -> None:
    async with two_clients(tmp_path, "debug", "error") as (server, chatty, grave):
        first = chatty.use()
        await eventually(lambda: "cursor" in server.finish)
        second = grave.use()
        await eventually(lambda: "code" in server.finish)
        server.say("error")  # of calls of two clients nobody can tell whose it is
        server.finish["cursor"].set()
        assert (await first).success
        server.say("debug")
        server.say("error")
        server.finish["code"].set()
        assert (await second).success

    assert server.levels == ["debug"]
    assert (chatty.events, grave.events) == ([], [LogMessage({"level": "error", "data": "error"})])


@pytest.mark.parametrize("other", ["error", None])
async def test_a_client_that_wants_little_does_not_silence_one_that_wants_more(
    other: str | None, tmp_path: Path
) -> None:
    async with two_clients(tmp_path, "debug", other) as (server, chatty, quiet):
        second = quiet.use()
        await eventually(lambda: "code" in server.finish)
        first = chatty.use()
        await eventually(lambda: "cursor" in server.finish)
        third = quiet.use()
        server.finish["code"].set()
        assert (await second).success
        await eventually(lambda: not server.finish["code"].is_set())
        server.finish["code"].set()
        assert (await third).success
        assert server.levels[-1] == "debug"
        server.say("debug")
        server.finish["cursor"].set()
        assert (await first).success

    assert (chatty.events, quiet.events) == ([LogMessage({"level": "debug", "data": "debug"})], [])


async def test_what_a_server_says_about_a_call_that_was_given_up_does_not_reach_another_client(tmp_path: Path) -> None:
    async with two_clients(tmp_path, "info", "info") as (server, impatient, patient):
        first = impatient.use()
        await eventually(lambda: "cursor" in server.finish)
        second = patient.use()
        await eventually(lambda: "code" in server.finish)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        server.say("info")
        server.finish["code"].set()
        assert (await second).success

    assert patient.events == []


async def test_each_client_hears_the_progress_of_its_own_call(tmp_path: Path) -> None:
    async with two_clients(tmp_path, None, None) as (server, one, two):
        calls = [one.use(), two.use()]
        await eventually(lambda: len(server.tokens) == 2)
        for who, token in server.tokens.items():
            server.notify("notifications/progress", {"progressToken": token, "progress": 1, "message": who})
        for finish in server.finish.values():
            finish.set()
        await asyncio.gather(*calls)

    assert one.events == [Progress({"progress": 1, "message": "cursor"})]
    assert two.events == [Progress({"progress": 1, "message": "code"})]


async def test_the_row_of_the_engine_says_who_uses_each_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OwnGatewayRow.__init__.__kwdefaults__, "beat_seconds", 0.01)
    servers = FakeServers(FakeServer("tickets", [tool("use")]), FakeServer("mail", [tool("use")]))
    config = write(tmp_path / "toolcrib.yaml", tickets={}, mail={"share": "never"})

    async with opened(servers, config) as (engine, [first, second]):
        for gateway, caller in ((first, CURSOR), (second, CODE), (second, CODE_TOO)):
            await gateway.execute_tool("tickets", "use", caller=caller)
        for caller in (CODE, CODE_TOO):
            await second.execute_tool("mail", "use", caller=caller)
        mail, tickets = (spec.launch_key for spec in first.settings.servers)
        expected = {tickets: {"cursor": 1, "code": 2}, mail: {"code": 2}}
        await eventually(lambda: [row.users for row in engine.store.gateways()] == [expected])

        await engine.pool.end_session("3")
        left = {tickets: {"cursor": 1, "code": 1}, mail: {"code": 1}}
        await eventually(lambda: [row.users for row in engine.store.gateways()] == [left])
