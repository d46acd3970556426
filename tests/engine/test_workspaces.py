"""Several configurations seen through one engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import FakeLink, FakeServer, FakeServers, eventually, text, tool
from toolcrib import Caller, DiscoveryOptions, Gateway, Rights, load_settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import SettingsSource, open_engine, open_workspace
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.upstream.link import LinkEars


def entry(name: str, launch: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": "fake", "args": [launch], **more}


def write(path: Path, *entries: dict[str, Any], **section: Any) -> Path:
    section = {"servers": list(entries), "reloadInterval": 0.02, **section}
    path.write_text(yaml.safe_dump({"discovery": section}), encoding="utf-8")
    return path


@asynccontextmanager
async def opened(servers: FakeServers, *files: Path) -> AsyncIterator[tuple[Engine, list[Gateway]]]:
    """One engine, and a gateway for each file."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(30))
        settings = [load_settings(file) for file in files]
        engine = await stack.enter_async_context(open_engine(settings[0], opener=servers))
        sources = [SettingsSource(file, {}, own, is_fixed=False) for file, own in zip(files, settings, strict=True)]
        gateways = [await stack.enter_async_context(open_workspace(engine, source)) for source in sources]
        yield engine, gateways


async def names(gateway: Gateway, query: str) -> list[str]:
    answer = await gateway.search_tools(query, limit=10)
    return sorted(f"{hit.server}:{hit.tool}" for hit in answer.hits or answer.nearest if hit.server != "toolcrib")


class Launched(FakeServers):
    """Opens the server that an entry launches, whatever the entry is called."""

    async def __call__(self, spec: ServerSpec, ears: LinkEars) -> FakeLink:
        assert isinstance(spec.launch, StdioLaunch)
        return await self[spec.launch.args[0]].open(ears)


@pytest.fixture
def servers() -> FakeServers:
    return Launched(
        FakeServer("files", [tool("read_file", "Read a file."), tool("delete_file", "Delete a file.")]),
        FakeServer("mail", [tool("read_mail", "Read an email.")]),
        FakeServer("other", [tool("read_page", "Read a web page.")]),
    )


async def test_three_workspaces_share_the_servers_that_they_launch_alike(servers: FakeServers, tmp_path: Path) -> None:
    home = write(tmp_path / "home.yaml", entry("files", "files"), entry("mail", "mail"))
    work = write(tmp_path / "work.yaml", entry("documents", "files"), entry("mail", "mail"))
    play = write(
        tmp_path / "play.yaml",
        entry("files", "other"),
        entry("mail", "mail"),
        toolRules=[{"pattern": "read_mail", "enabled": False}],
    )

    async with opened(servers, home, work, play) as (_, gateways):
        for gateway in gateways:
            assert await gateway.ready(20)
        found = [await names(gateway, "read") for gateway in gateways]
        for gateway, server, name in zip(gateways, ("files", "documents", "mail"), ("read_file",) * 3, strict=True):
            await gateway.execute_tool(server, name)
        mail = [(await gateway.execute_tool("mail", "read_mail")).error for gateway in gateways]

    assert found == [
        ["files:delete_file", "files:read_file", "mail:read_mail"],
        ["documents:delete_file", "documents:read_file", "mail:read_mail"],
        ["files:read_page"],
    ]
    assert [error.code if error else "" for error in mail] == ["", "", "TOOL_DISABLED"]
    assert {server.name: server.starts for server in (servers["files"], servers["mail"], servers["other"])} == {
        "files": 1,
        "mail": 1,
        "other": 1,
    }


async def test_a_workspace_that_closes_takes_along_only_what_nobody_else_shows(
    servers: FakeServers, tmp_path: Path
) -> None:
    home = write(tmp_path / "home.yaml", entry("files", "files"))
    work = write(tmp_path / "work.yaml", entry("documents", "files"), entry("mail", "mail"))

    async with opened(servers, home) as (engine, [first]):
        async with open_workspace(engine, SettingsSource(work, {}, load_settings(work), is_fixed=False)) as second:
            assert (await second.execute_tool("documents", "read_file")).success
            assert (await second.execute_tool("mail", "read_mail")).success
            assert await second.ready(20)
        await eventually(lambda: not servers["mail"].open_links)

        assert len(servers["files"].open_links) == 1
        assert (await first.execute_tool("files", "read_file")).success
        assert servers["files"].starts == 1
        assert await names(first, "read an email") == ["files:delete_file", "files:read_file"]


async def test_an_edit_of_one_configuration_leaves_the_others_alone(servers: FakeServers, tmp_path: Path) -> None:
    home = write(tmp_path / "home.yaml", entry("files", "files"))
    work = write(tmp_path / "work.yaml", entry("files", "files"))

    async with opened(servers, home, work) as (_, [first, second]):
        assert await first.ready(20)
        write(work, entry("files", "files"), toolRules=[{"pattern": "delete*", "enabled": False}])
        await eventually(lambda: second.settings.tool_rules)

        assert await names(first, "delete a file") == ["files:delete_file", "files:read_file"]
        assert await names(second, "delete a file") == ["files:read_file"]
        assert servers["files"].starts == 1


async def test_each_entry_says_how_long_its_own_calls_may_take(servers: FakeServers, tmp_path: Path) -> None:
    async def never(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return text("too late")

    servers["files"].tools["read_file"] = never
    home = write(tmp_path / "home.yaml", entry("files", "files"))
    work = write(tmp_path / "work.yaml", entry("files", "files", timeout=0.05))

    async with opened(servers, home, work) as (_, [_first, second]):
        outcome = await second.execute_tool("files", "read_file")

    assert outcome.error is not None
    assert outcome.error.code == "TOOL_EXECUTION_TIMEOUT"


async def test_a_caller_with_fewer_rights_is_shown_and_given_less_by_all_five_questions(
    servers: FakeServers, tmp_path: Path
) -> None:
    guest = Caller("guest", rights=Rights(servers=("mail",)))
    home = write(tmp_path / "home.yaml", entry("files", "files"), entry("mail", "mail"))

    async with opened(servers, home) as (_, [gateway]):
        assert await gateway.ready(20)
        listed = [server.name for server in await gateway.list_servers(caller=guest)]
        hits = await gateway.search_tools("read", limit=10, caller=guest)
        tools = await gateway.list_tools("files", caller=guest)
        details = await gateway.get_tool_details("files", "read_file", caller=guest)
        refused = await gateway.execute_tool("files", "read_file", caller=guest)
        allowed = await gateway.execute_tool("mail", "read_mail", caller=guest)

    assert listed == ["mail"]
    assert {hit.server for hit in hits} <= {"mail", "toolcrib"}
    assert tools == []
    assert details is None
    assert refused.error is not None
    assert refused.error.code == "SERVER_NOT_FOUND"
    assert allowed.success
    assert servers["files"].calls == []


# -- the store


class Watched:
    """Notes which methods of the catalog's store are used, and by which thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.used: list[tuple[str, int]] = []
        for name in vars(SqliteCatalog):
            if not name.startswith("_"):
                monkeypatch.setattr(SqliteCatalog, name, self._noting(name, getattr(SqliteCatalog, name)))

    def _noting(self, name: str, method: Any) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.used.append((name, threading.get_ident()))
            return method(*args, **kwargs)

        return noted

    def on_loop(self) -> list[str]:
        return [name for name, thread in self.used if thread == threading.get_ident()]


async def test_no_question_asks_the_store_on_the_event_loop(
    servers: FakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    home = write(tmp_path / "home.yaml", entry("files", "files"), entry("mail", "mail"))

    async with opened(servers, home) as (_, [gateway]):
        assert await gateway.ready(20)
        await gateway.list_servers()
        await gateway.search_tools("read a file")
        await gateway.list_tools("files")
        await gateway.get_tool_details("files", "read_file")
        assert (await gateway.execute_tool("files", "read_file")).success
        write(home, entry("files", "files"), entry("mail", "mail"), entry("other", "other"))
        assert len((await gateway.reload()).servers) == 3
        assert (await gateway.execute_tool("other", "read_page")).success

    assert watched.used
    assert [name for name in watched.on_loop() if name != "close"] == []


async def test_what_another_process_writes_is_taken_over_in_the_background(
    servers: FakeServers, tmp_path: Path
) -> None:
    home = write(tmp_path / "home.yaml", entry("files", "files", onChange="warn"))

    async with opened(servers, home) as (engine, [gateway]):
        assert await gateway.ready(20)
        [spec] = engine.specs().values()
        servers["files"].definitions.append(tool("move_file", "Move a file."))
        async with opened(servers, home) as (_, [other]):
            await other.read_server("files")
        await eventually(lambda: len(engine.catalog.tools(spec)) == 3)

        assert "files:move_file" in await names(gateway, "move a file")


async def test_the_service_of_one_workspace_knows_the_servers_of_another_from_the_catalog(
    tmp_path: Path, servers: FakeServers
) -> None:
    here = write(tmp_path / "here.yaml", entry("mine", "files"))
    there = write(tmp_path / "there.yaml", entry("shared", "mail"))
    async with opened(servers, here, there) as (engine, (mine, theirs)):
        assert await theirs.ready(20)
        before = servers["mail"].count("tools/list")
        (shared,) = theirs.settings.servers
        found = await mine.discovery_service.discover_tools(shared, DiscoveryOptions(use_cache=True))

        assert [one.tool_name for one in found] == [one.name for one in await theirs.list_tools("shared")]
        assert servers["mail"].count("tools/list") == before
        assert not list(engine.paths.cache_dir.glob("tools_*.json"))


async def test_a_configuration_can_be_more_careful_than_the_engine_and_not_less(tmp_path: Path) -> None:
    names = ("read_file", "read_page", "send_message")
    servers = Launched(FakeServer("desk", [tool(name) for name in names]))
    caller = Caller("agent", session="1")
    home = write(tmp_path / "home.yaml", entry("desk", "desk"), trust={"onMix": "warn"})
    careful = write(tmp_path / "careful.yaml", entry("desk", "desk"), trust={"scanResults": True, "onMix": "confirm"})

    async def ran(*files: Path) -> list[tuple[list[str], bool]]:
        """Of each configuration what became of the calls, and whether the first result was looked through."""
        async with opened(servers, *files) as (_, gateways):
            each = [[await gateway.execute_tool("desk", name, caller=caller) for name in names] for gateway in gateways]
        codes = [[one.error.code if one.error else "" for one in outcomes] for outcomes in each]
        first = [outcomes[0].result for outcomes in each]
        return list(zip(codes, [one is not None and "_meta" in one.members for one in first], strict=True))

    is_careful = (["", "", "CONFIRMATION_REQUIRED"], True)
    assert await ran(home, careful) == [(["", "", ""], False), is_careful]
    assert await ran(careful, home) == [is_careful, is_careful]
