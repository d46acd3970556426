from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.calls.steps import Readings, Upstream, a_call, through, visible
from tests.fakes import spec, tool
from tests.showroom import Showroom
from toolcrib.calls.resolve_tool import ResolveTool
from toolcrib.errors import AuthenticationFailed, ServerNotFound, ToolDisabled, ToolNotFound
from toolcrib.model.server import DeclaredTool
from toolcrib.model.tool_rule import ToolRule


async def test_an_enabled_tool_passes_with_its_definition_and_the_servers_own_name() -> None:
    upstream = Upstream()
    view = visible(tool("read", "Reads."), entry=replace(spec("files"), prefix="fs_"))

    await through(ResolveTool(view, Readings()), a_call(name="fs_read"), upstream)

    target = upstream.calls[0].target
    assert (target.upstream_name, target.tool.name, target.tool.description) == ("read", "fs_read", "Reads.")


async def test_a_disabled_tool_is_refused_with_the_reason_before_anything_is_sent() -> None:
    upstream = Upstream()
    view = visible(tool("delete"), rules=(ToolRule(("delete",), None, False, ()),))

    with pytest.raises(ToolDisabled, match="files:delete is disabled"):
        await through(ResolveTool(view, Readings()), a_call(name="delete"), upstream)
    assert upstream.calls == []


async def test_an_unknown_server_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(ServerNotFound) as caught:
        await through(ResolveTool(visible(tool("read")), Readings()), a_call("file"), Upstream())
    assert caught.value.details["nearest"] == ["files"]


async def test_an_unknown_tool_is_refused_with_the_nearest_and_the_enabled_names() -> None:
    view = visible(tool("read_file"), tool("hidden"), rules=(ToolRule(("hidden",), None, False, ()),))

    with pytest.raises(ToolNotFound) as caught:
        await through(ResolveTool(view, Readings()), a_call(name="read_fil"), Upstream())
    assert caught.value.details == {"nearest": ["read_file"], "available": ["read_file"]}


async def test_no_more_names_than_fit_are_given() -> None:
    view = visible(*(tool(f"t{number:03}") for number in range(50)))

    with pytest.raises(ToolNotFound) as caught:
        await through(ResolveTool(view, Readings()), a_call(name="zzz"), Upstream())
    assert len(caught.value.details["available"]) == 20
    assert caught.value.details["more"] == 30


async def test_a_server_nobody_has_read_is_read_first() -> None:
    readings = Readings()

    with pytest.raises(ToolNotFound):
        await through(ResolveTool(visible(), readings), a_call(), Upstream())
    assert readings.asked == ["files"]


async def test_a_declared_tool_with_a_schema_is_called_without_waiting_for_the_first_reading() -> None:
    readings, upstream = Readings(), Upstream()
    view = visible(entry=replace(spec("files"), declared_tools=(DeclaredTool("read", "", {"type": "object"}),)))

    await through(ResolveTool(view, readings), a_call(), upstream)

    assert (len(upstream.calls), readings.asked) == (1, [])


async def test_a_declared_tool_without_a_schema_waits_for_the_first_reading() -> None:
    readings, upstream = Readings(), Upstream()
    view = visible(entry=replace(spec("files"), declared_tools=(DeclaredTool("read"),)))

    await through(ResolveTool(view, readings), a_call(), upstream)

    assert (len(upstream.calls), readings.asked) == (1, ["files"])


async def test_a_declared_tool_of_a_server_that_can_not_be_reached_fails_at_once() -> None:
    failure, upstream = AuthenticationFailed("401", server="files"), Upstream()
    view = visible(entry=replace(spec("files"), declared_tools=(DeclaredTool("read"),)))

    with pytest.raises(AuthenticationFailed):
        await through(ResolveTool(view, Readings(failure)), a_call(), upstream)
    assert upstream.calls == []


async def test_a_server_that_can_not_be_read_is_the_reason_given() -> None:
    failure = AuthenticationFailed("401", server="files")

    with pytest.raises(AuthenticationFailed):
        await through(ResolveTool(visible(), Readings(failure)), a_call(), Upstream())


async def test_a_recorded_failure_is_told_beside_a_missing_name() -> None:
    showroom = Showroom()
    showroom.fail("it did not start")

    with pytest.raises(ToolNotFound, match="could not be read: it did not start"):
        await through(ResolveTool(showroom.view, Readings()), a_call(), Upstream())


@pytest.mark.parametrize("name", ["", "read ", "READ", "files:read", "../read", "\ud800"])
async def test_odd_names_are_simply_not_found(name: Any) -> None:
    with pytest.raises(ToolNotFound):
        await through(ResolveTool(visible(tool("read")), Readings()), a_call(name=name), Upstream())
