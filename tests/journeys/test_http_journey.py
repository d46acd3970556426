"""The five tools over Streamable HTTP, on real servers of both eras, by the official client in both of its modes."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.journeys.http_gateway import MODES, RunningGateway, SharedGateway, connect
from tests.journeys.stdio_gateway import ask, body, execute, failure, run
from tests.servers.launch import Launch

pytestmark = pytest.mark.parametrize("mode", MODES)

FIVE = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"]
TOKYO_NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
BAD_PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("list_mcp_servers", {"verbose": True}),
    ("search_tools", {}),
    ("search_tools", {"query": "  "}),
    ("search_tools", {"query": "x" * 5000}),
    ("search_tools", {"query": "sum", "limit": 0}),
    ("search_tools", {"query": ["sum"]}),
    ("list_tools", {"server": 7}),
    ("get_tool_details", {"server": "time"}),
    ("execute_tool", {"server": "time", "tool": "convert_time", "arguments": [1]}),
    ("execute_tool", {"server": "time", "tool": "convert_time", "arguments": "{not json"}),
    ("execute_tool", {"server": "time", "tool": "convert_time", "arguments": {}, "argumets": {}}),
]


MORE = re.compile(r"\n\[characters \d+ to \d+ of \d+; continue with offset (\d+)\]\Z")


async def read_whole(client: Client, handle: str) -> str:
    """A large result, read part by part as its answers say."""
    text, offset = "", 0
    while True:
        part = await run(client, "toolcrib", "read_result", handle=handle, offset=offset, length=60_000)
        more = MORE.search(part)
        text += part[: more.start()] if more else part
        if more is None:
            return text
        offset = int(more[1])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedGateway]:
    with ExitStack() as stack:
        yield SharedGateway(tmp_path_factory.mktemp("gateway"), stack)


@pytest.fixture
def gateway(
    shared: SharedGateway, process_environment: dict[str, str], everything_server: Launch, time_server: Launch
) -> RunningGateway:
    servers = {"everything": everything_server.entry(), "time": time_server.entry()}
    return shared.start(process_environment, servers, toolRules=[{"pattern": "get-env", "enabled": False}])


async def test_a_client_is_told_what_is_behind_the_counter_in_the_newest_revision_it_speaks(
    gateway: RunningGateway, mode: str
) -> None:
    async with connect(gateway, mode) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode]
        assert client.server_info is not None
        assert client.server_info.name == "toolcrib"
        assert "everything, time" in (client.instructions or "")
        assert [tool.name for tool in (await client.list_tools()).tools] == FIVE


async def test_a_tool_is_found_read_and_run(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        listed = await ask(client, "list_tools", server="time")
        assert {tool["name"] for tool in listed["tools"]} == {"get_current_time", "convert_time"}
        found = await ask(client, "search_tools", query="convert a time to another time zone")
        assert found["results"][0]["tool"] == "convert_time"
        details = await ask(client, "get_tool_details", server="time", tool="convert_time")
        assert {parameter["name"] for parameter in details["parameters"]} == TOKYO_NOON.keys()
        converted = await execute(client, "time", "convert_time", **TOKYO_NOON)
        assert body(converted)["success"] is True
        assert body(converted)["result"]["target"]["datetime"].endswith("T21:00:00+09:00")
        assert converted.structured_content == body(converted)["result"]


async def test_every_server_is_listed_with_its_tools_counted(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        for server in ("everything", "time"):
            await ask(client, "list_tools", server=server)
        servers = {server.pop("name"): server for server in (await ask(client, "list_mcp_servers"))["servers"]}
        assert servers.keys() == {"everything", "time"}
        assert (servers["time"]["toolCount"], servers["time"]["enabledCount"]) == (2, 2)
        assert servers["everything"]["enabledCount"] == servers["everything"]["toolCount"] - 1


async def test_a_wrong_name_is_answered_with_the_right_ones(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        await ask(client, "list_tools", server="time")
        nearly = failure(await execute(client, "time", "convert_tim"))
        assert nearly["code"] == "TOOL_NOT_FOUND"
        assert "convert_time" in str(nearly)
        for meta_tool, arguments in (
            ("list_tools", {"server": "tiem"}),
            ("search_tools", {"query": "noon", "server": "tiem"}),
            ("get_tool_details", {"server": "tiem", "tool": "convert_time"}),
            ("execute_tool", {"server": "tiem", "tool": "convert_time", "arguments": {}}),
        ):
            refused = failure(await client.call_tool(meta_tool, arguments))
            assert refused["code"] == "SERVER_NOT_FOUND"
            assert "time" in str(refused)


async def test_wrong_arguments_are_refused_before_the_call_and_name_the_field(
    gateway: RunningGateway, mode: str
) -> None:
    async with connect(gateway, mode) as client:
        missing = failure(await execute(client, "time", "convert_time", source_timezone="UTC", time="12:00"))
        assert missing["code"] == "TOOL_VALIDATION_ERROR"
        assert "target_timezone" in missing["message"]
        wrong = failure(await execute(client, "everything", "get-sum", a=1, b="two"))
        assert wrong["code"] == "TOOL_VALIDATION_ERROR"
        assert "b" in wrong["message"]


async def test_a_failure_of_the_tool_itself_keeps_its_words(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        said = failure(await execute(client, "time", "get_current_time", timezone="Mars/Olympus"))
        assert said["code"] == "TOOL_EXECUTION_ERROR"
        assert "Mars/Olympus" in said["message"]


async def test_a_disabled_tool_is_not_found_and_not_run(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        listed = (await ask(client, "list_tools", server="everything"))["tools"]
        everything = (await ask(client, "list_tools", server="everything", includeDisabled=True))["tools"]
        found = (await ask(client, "search_tools", query="get-env", limit=20))["results"]
        assert "get-env" not in {tool["name"] for tool in listed} | {hit["tool"] for hit in found}
        assert [tool["name"] for tool in everything if not tool.get("enabled", True)] == ["get-env"]
        assert failure(await execute(client, "everything", "get-env"))["code"] == "TOOL_DISABLED"


async def test_an_unknown_meta_tool_is_a_protocol_error_with_the_five_names(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("serach_tools", {"query": "sum"})
        # Modern HTTP would turn -32601 into a 404, as if the method were unknown.
        assert refused.value.code == {"legacy": -32601, "auto": -32602}[mode]
        assert "Did you mean search_tools?" in refused.value.message


async def test_bad_parameters_of_a_meta_tool_are_a_protocol_error(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        for meta_tool, arguments in BAD_PARAMETERS:
            with pytest.raises(MCPError) as refused:
                await client.call_tool(meta_tool, arguments)
            assert refused.value.code == -32602, arguments
            assert refused.value.message.startswith(meta_tool)


async def test_arguments_given_as_json_text_are_taken_for_what_they_say(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        asked = {"server": "everything", "tool": "get-sum", "arguments": '{"a": 2, "b": 3}'}
        assert "is 5" in (await client.call_tool("execute_tool", asked)).content[0].text


async def test_an_image_passes_with_the_text_around_it(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode) as client:
        before, image, after = (await execute(client, "everything", "get-tiny-image")).content
        assert (before.type, image.type, after.type) == ("text", "image", "text")
        assert image.mime_type == "image/png"
        assert base64.b64decode(image.data).startswith(b"\x89PNG\r\n")


async def test_a_large_result_becomes_a_handle_that_gives_back_every_character(
    gateway: RunningGateway, mode: str
) -> None:
    message = "".join(f"line {number:06}\n" for number in range(90_000))
    assert len(message) > 1_000_000
    async with connect(gateway, mode) as client:
        preview = body(await execute(client, "everything", "echo", message=message))
        assert preview["truncated"] is True
        assert preview["bytes"] == len("Echo: " + message)
        assert await read_whole(client, preview["handle"]) == "Echo: " + message
        found = await run(client, "toolcrib", "read_result", handle=preview["handle"], grep="^line 089999$")
        assert found == "90000: line 089999"


async def test_a_handle_is_of_no_use_to_another_client(gateway: RunningGateway, mode: str) -> None:
    async with connect(gateway, mode, name="owner") as owner, connect(gateway, mode, name="stranger") as stranger:
        handle = body(await execute(owner, "everything", "echo", message="x" * 100_000))["handle"]
        assert failure(await execute(stranger, "toolcrib", "read_result", handle=handle))["code"] == "RESULT_EXPIRED"
        assert (await run(owner, "toolcrib", "read_result", handle=handle, length=7)).startswith("Echo: x")


async def test_progress_arrives_in_order_and_before_the_answer(gateway: RunningGateway, mode: str) -> None:
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, _message: str | None) -> None:
        heard.append((progress, total))

    operation = {
        "server": "everything",
        "tool": "trigger-long-running-operation",
        "arguments": {"duration": 0.5, "steps": 10},
    }
    async with connect(gateway, mode) as client:
        result = await client.call_tool("execute_tool", operation, progress_callback=hear)
        assert not result.is_error
        assert heard == [(float(step), 10.0) for step in range(1, 11)]
