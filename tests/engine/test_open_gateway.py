"""The wiring: what happens by itself while a gateway is open."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import FakeServer, FakeServers, eventually, spec, tool
from tests.upstream.children import is_running
from toolcrib import Gateway, Settings, open_gateway
from toolcrib.config.paths import Paths
from toolcrib.demo.servers import demo_servers
from toolcrib.engine.engine import Engine
from toolcrib.errors import Problem
from toolcrib.model.server import StdioLaunch
from toolcrib.model.tool_rule import ToolRule
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.upstream.watchdog_process import read_processes


def write(path: Path, *names: str, **section: Any) -> Path:
    servers = [{"name": name, "command": "fake", "args": [name]} for name in names]
    section = {"servers": servers, "reloadInterval": 0.02, **section}
    path.write_text(yaml.safe_dump({"discovery": section}), encoding="utf-8")
    return path


def names(gateway: Gateway) -> list[str]:
    return [server.name for server in gateway.settings.servers]


async def test_an_edited_file_is_taken_over_by_itself(tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]), FakeServer("web", [tool("fetch")]))
    path = write(tmp_path / "toolcrib.yaml", "files")

    async with asyncio.timeout(20), open_gateway(path, opener=servers) as gateway:
        assert names(gateway) == ["files"]
        write(path, "files", "web")
        await eventually(lambda: names(gateway) == ["files", "web"])
        assert (await gateway.execute_tool("web", "fetch")).success


async def test_a_bad_edit_is_reported_and_the_last_good_configuration_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "toolcrib.yaml", "files")

    async with open_gateway(path, opener=FakeServers(FakeServer("files"))) as gateway:
        path.write_text("discovery: {servers: [", encoding="utf-8")
        await eventually(lambda: "the last good one stays" in caplog.text)
        assert names(gateway) == ["files"]
        write(path, "files", "web")
        await eventually(lambda: names(gateway) == ["files", "web"])


async def test_an_error_that_nobody_foresaw_while_reloading_does_not_end_the_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "toolcrib.yaml", "files")
    configure = Engine.configure

    async def strained(engine: Engine, fresh: Settings) -> None:
        monkeypatch.setattr(Engine, "configure", configure)
        raise RuntimeError("can't start new thread")

    async with open_gateway(path, opener=FakeServers(FakeServer("files"))) as gateway:
        monkeypatch.setattr(Engine, "configure", strained)
        write(path, "files", "one")
        await eventually(lambda: "can't start new thread" in caplog.text)
        write(path, "files", "web")
        await eventually(lambda: names(gateway) == ["files", "web"])


async def test_a_file_rewritten_without_a_change_disturbs_nothing(tmp_path: Path) -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    path = write(tmp_path / "toolcrib.yaml", "files")

    async with open_gateway(path, opener=servers) as gateway:
        await gateway.execute_tool("files", "read")
        before = gateway.settings
        write(path, "files")
        await gateway.reload()
        assert gateway.settings is before
        assert servers["files"].starts == 1


async def test_what_is_wrong_with_the_configuration_is_reported_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(problems=(Problem("servers.x", "no command", "file.yaml"),), warnings=("unknown key zervers",))

    with caplog.at_level(logging.WARNING):
        async with open_gateway(settings=settings):
            pass

    assert "file.yaml: servers.x: no command" in caplog.text
    assert "unknown key zervers" in caplog.text


@pytest.mark.parametrize(("precedence", "is_said"), [("first", True), ("deny", False)])
async def test_a_deny_rule_outdone_by_an_allow_is_said_at_the_start(
    precedence: Any, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    behind = FakeServers(FakeServer("files", [tool("read_file"), tool("delete_file")]))
    rules = (ToolRule(("*",), enabled=True), ToolRule(("*delete*",), enabled=False))
    settings = Settings(servers=(spec("files"),), tool_rules=rules, rule_precedence=precedence)
    async with open_gateway(settings=settings, opener=behind) as gateway:
        await gateway.list_tools("files")
    caplog.clear()

    async with open_gateway(settings=settings, opener=behind) as gateway:
        await gateway.search_tools("delete")
        await eventually(lambda: not is_said or "files:delete_file" in caplog.text)

    assert ("files:delete_file" in caplog.text) is is_said


async def test_with_no_configuration_at_all_a_gateway_opens_and_says_that_nothing_is_there() -> None:
    async with open_gateway() as gateway:
        assert await gateway.list_servers() == []
        assert (await gateway.search_tools("anything at all")).hits == ()


async def test_an_open_gateway_is_in_the_catalog_with_its_face() -> None:
    async with open_gateway(settings=Settings(), face="cli"):
        catalog = SqliteCatalog(Paths.of(os.environ).catalog)
        assert [(row.face, row.pid) for row in catalog.gateways()] == [("cli", os.getpid())]
        catalog.close()


async def test_real_servers_are_gone_when_the_gateway_is_closed() -> None:
    before = _children()

    async with asyncio.timeout(50), open_gateway(settings=Settings(servers=demo_servers())) as gateway:
        counted = await gateway.execute_tool("words", "count_words", {"text": "one two three"})
        days = await gateway.execute_tool("clock", "days_between", {"start": "2026-01-01", "end": "2026-03-01"})
        started = _children() - before

    assert (counted.value, days.value) == ({"result": 3}, {"result": 59})
    assert started
    assert not any(is_running(pid) for pid in started)


def _children() -> set[int]:
    return {pid for pid, process in read_processes().items() if process.parent == os.getpid()}


async def test_what_a_real_server_says_last_is_in_its_log() -> None:
    script = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    entry = spec("broken", launch=_python(script))

    async with asyncio.timeout(30), open_gateway(settings=Settings(servers=(entry,))) as gateway:
        outcome = await gateway.execute_tool("broken", "x")

    assert outcome.error.code == "SERVER_CONNECTION_ERROR"
    assert "no licence" in (Paths.of(os.environ).logs_dir / "broken.log").read_text(encoding="utf-8")


def _python(script: str) -> StdioLaunch:
    return StdioLaunch(sys.executable, ("-c", script))


async def test_a_missing_variable_is_an_error_of_that_server_only() -> None:
    needy = spec("needy", launch=StdioLaunch(sys.executable, ("-c", "${TOOLCRIB_TEST_UNSET}")))

    async with asyncio.timeout(30), open_gateway(settings=Settings(servers=(needy, demo_servers()[1]))) as gateway:
        missing = await gateway.execute_tool("needy", "x")
        working = await gateway.execute_tool("words", "sort_lines", {"text": "b\na"})

    assert missing.error.code == "SERVER_NEEDS_CONFIGURATION"
    assert "TOOLCRIB_TEST_UNSET" in missing.error.message
    assert working.success
