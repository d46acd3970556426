from __future__ import annotations

import json
from typing import Any

import pytest

from tests.calls.steps import CALLER, a_call, visible
from tests.fakes import Clock, tool
from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.built_in.server import BuiltIn
from toolcrib.errors import InvalidArguments, ResultExpired, ServerNotFound, ToolDisabled, ToolNotFound
from toolcrib.model.caller import Caller
from toolcrib.model.tool_rule import ToolRule
from toolcrib.storage.result_files import ResultFiles

HANDLE = "0" * 32


@pytest.fixture
def shelf(tmp_path: Any) -> ResultFiles:
    return ResultFiles(tmp_path / "results", keep_seconds=3600, now=Clock(), new_id=lambda: HANDLE)


async def read(shelf: ResultFiles, caller: Caller = CALLER, **arguments: Any) -> str:
    call = a_call("toolcrib", "read_result", arguments, caller=caller)
    return (await BuiltIn(visible(), shelf).call(call)).text


async def test_a_kept_result_is_read_by_its_handle(shelf: ResultFiles) -> None:
    shelf.put(CALLER.key, "naïve ✓".encode())

    assert await read(shelf, handle=HANDLE) == "naïve ✓"


async def test_another_callers_result_is_not_read(shelf: ResultFiles) -> None:
    shelf.put(CALLER.key, b"mine")

    with pytest.raises(ResultExpired):
        await read(shelf, Caller("other", "stdio", "stdio:other"), handle=HANDLE)


@pytest.mark.parametrize("handle", ["", "../../etc/passwd", "x" * 32, "0" * 31, "0" * 33, "0" * 31 + "\n"])
async def test_a_handle_that_is_none_is_expired(shelf: ResultFiles, handle: str) -> None:
    with pytest.raises(ResultExpired):
        await read(shelf, handle=handle)


async def test_a_refused_pointer_is_an_error_of_the_arguments(shelf: ResultFiles) -> None:
    shelf.put(CALLER.key, b"{}")

    with pytest.raises(InvalidArguments):
        await read(shelf, handle=HANDLE, pointer="/nothing")


async def test_bytes_that_are_no_text_and_lone_surrogates_are_replaced(shelf: ResultFiles) -> None:
    shelf.put(CALLER.key, b'{"a":"\\ud800"}\xff')
    assert "�" in await read(shelf, handle=HANDLE)

    shelf.put(CALLER.key, b'{"a":"\\ud800"}')
    assert await read(shelf, handle=HANDLE, pointer="/a") == "?"


async def test_the_whole_definition_of_a_tool_is_given_as_its_server_gave_it(shelf: ResultFiles) -> None:
    definition = tool("read", inputSchema={"type": "object", "$defs": {"a": {"enum": [1, "x", None]}}}, extra=True)
    built_in = BuiltIn(visible(definition), shelf)

    for arguments in ({"server": "files", "tool": "read"}, {"server": "files", "tool": "files:read"}):
        result = await built_in.call(a_call("toolcrib", "get_schema", arguments))
        assert json.loads(result.text) == definition


async def test_the_definition_of_a_disabled_tool_is_refused(shelf: ResultFiles) -> None:
    built_in = BuiltIn(visible(tool("read"), rules=(ToolRule(("read",), None, False, ()),)), shelf)

    with pytest.raises(ToolDisabled):
        await built_in.call(a_call("toolcrib", "get_schema", {"server": "files", "tool": "read"}))


async def test_the_definition_of_nothing_is_refused_with_names(shelf: ResultFiles) -> None:
    built_in = BuiltIn(visible(tool("read")), shelf)

    with pytest.raises(ToolNotFound):
        await built_in.call(a_call("toolcrib", "get_schema", {"server": "files", "tool": "reed"}))
    with pytest.raises(ServerNotFound):
        await built_in.call(a_call("toolcrib", "get_schema", {"server": "nowhere", "tool": "read"}))


async def test_an_unknown_built_in_tool_is_refused(shelf: ResultFiles) -> None:
    with pytest.raises(ToolNotFound):
        await BuiltIn(visible(), shelf).call(a_call("toolcrib", "format_disk"))


def test_the_built_in_tools_say_whether_they_change_anything() -> None:
    assert {built_in.name: built_in.annotations for built_in in BUILT_IN_TOOLS} == {
        "read_result": {"readOnlyHint": True},
        "get_schema": {"readOnlyHint": True},
        "list_more": {"readOnlyHint": True},
        "introspect_server": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True},
        "list_resources": {"readOnlyHint": True},
        "read_resource": {"readOnlyHint": True},
        "list_prompts": {"readOnlyHint": True},
        "get_prompt": {"readOnlyHint": True},
        "complete": {"readOnlyHint": True},
    }
