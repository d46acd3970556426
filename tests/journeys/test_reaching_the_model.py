"""What a model gets to see of the gateway before and while it works, through the doors its client uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from tests.journeys.http_gateway import MODES as HTTP_MODES
from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.stdio_gateway import MODES, Workshop, ask, body, execute, run
from tests.server.agent_tokens import compact, count
from tests.servers.launch import Launch

both_modes = pytest.mark.parametrize("mode", MODES)
LOOKING = {"list_mcp_servers", "search_tools", "list_tools", "get_tool_details"}


@both_modes
async def test_four_tools_say_that_they_only_look_and_all_five_ask_to_be_loaded(workshop: Workshop, mode: str) -> None:
    workshop.configure({})

    async with workshop.client(mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    said = {name: tool.annotations for name, tool in listed.items() if tool.annotations is not None}
    assert {name for name, hints in said.items() if hints.read_only_hint} == LOOKING
    assert not any(said[name].open_world_hint for name in LOOKING)
    running = said["execute_tool"]
    assert (running.read_only_hint, running.destructive_hint, running.open_world_hint) == (False, True, True)
    assert [tool.meta for tool in listed.values()] == [{"anthropic/alwaysLoad": True}] * 5


@pytest.mark.parametrize("mode", HTTP_MODES)
async def test_the_definitions_are_the_same_over_http(
    workshop: Workshop, process_environment: dict[str, str], mode: str
) -> None:
    workshop.configure({})
    async with workshop.client() as client:
        on_stdio = (await client.list_tools()).tools

    config = write_config(workshop.folder, {})
    with gateway_process(workshop.folder, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            assert (await client.list_tools()).tools == on_stdio


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_instructions_name_every_server_with_what_it_is_about(workshop: Workshop, mode: str) -> None:
    known = workshop.scripted("known", tools=["list_issues", "create_pull_request"])
    workshop.configure({"forge": known, "other": workshop.scripted("other")})

    async with workshop.client(mode) as client:
        said = client.instructions or ""
        assert (client.protocol_version >= "2026-07-28") is (mode == "auto")

    assert said.endswith("Servers: forge (issues, pull requests), other.")
    assert said.index("search_tools") < said.index("get_tool_details") < said.index("execute_tool")


async def test_without_any_server_the_instructions_say_what_a_person_can_do(workshop: Workshop) -> None:
    workshop.configure({})

    async with workshop.client() as client:
        assert "toolcrib adopt" in (client.instructions or "")


# -- results fit the client

DOORS = [*(("stdio", mode) for mode in MODES), *(("http", mode) for mode in HTTP_MODES)]
CODEX = "codex-mcp-client"


@asynccontextmanager
async def client_at(
    workshop: Workshop, door: str, mode: str, name: str, environment: dict[str, str], **discovery: Any
) -> AsyncIterator[Client]:
    """A client of this name, connected through one of the doors to a gateway with the scripted server behind it."""
    workshop.configure({"scripted": workshop.scripted("scripted")}, **discovery)
    if door == "stdio":
        async with workshop.client(mode, name=name) as client:
            yield client
    else:
        with gateway_process(workshop.folder, workshop.config, environment) as gateway:
            async with connect(gateway, mode, name=name) as client:
                yield client


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


@pytest.mark.parametrize(("door", "mode"), DOORS)
async def test_codex_gets_a_handle_before_it_would_cut_and_reads_pages_that_it_shows_whole(
    workshop: Workshop, process_environment: dict[str, str], door: str, mode: str
) -> None:
    async with client_at(workshop, door, mode, CODEX, process_environment) as client:
        whole = await run(client, "scripted", "big", characters=5_000)
        preview = body(await execute(client, "scripted", "big", characters=20_000))
        read, pages = "", []
        while len(read) < 20_000:
            page = await run(client, "toolcrib", "read_result", handle=preview["handle"], offset=len(read))
            pages.append(page)
            read += page.rpartition("\n[characters")[0] or page
            assert len(pages) < 10, "the pages do not come to an end"

    assert len(whole) == 5_000
    assert preview["truncated"]
    assert read.splitlines()[:-1] == [
        f"line {number:07d} of a long text, naïve and 長い" for number in range(read.count("\n"))
    ]
    assert len(read) == 20_000
    assert all(len(page.encode()) <= 10_240 and page.count("\n") < 256 for page in pages)


@pytest.mark.parametrize(("door", "mode"), DOORS)
async def test_a_client_that_is_not_known_gets_the_same_result_whole(
    workshop: Workshop, process_environment: dict[str, str], door: str, mode: str
) -> None:
    async with client_at(workshop, door, mode, "journey", process_environment) as client:
        assert len(await run(client, "scripted", "big", characters=20_000)) == 20_000


@pytest.mark.parametrize(("door", "mode"), DOORS)
async def test_claude_code_loses_no_text_beside_structured_content(
    workshop: Workshop, process_environment: dict[str, str], door: str, mode: str
) -> None:
    async with client_at(workshop, door, mode, "claude-code", process_environment) as client:
        result = await execute(client, "scripted", "page")

    assert texts(result) == ["# A page", '{"source": "readability"}']
    assert result.structured_content is None


async def test_fitting_results_to_clients_can_be_switched_off(
    workshop: Workshop, process_environment: dict[str, str]
) -> None:
    async with client_at(workshop, "stdio", "legacy", CODEX, process_environment, fitClients=False) as client:
        assert len(await run(client, "scripted", "big", characters=20_000)) == 20_000


@both_modes
async def test_grep_finds_the_lines_of_a_text_inside_a_large_structured_result(workshop: Workshop, mode: str) -> None:
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.client(mode) as client:
        preview = body(await execute(client, "scripted", "log", lines=5_000))
        found = await run(client, "toolcrib", "read_result", handle=preview["handle"], grep="^line 4321 of")
        whole = await run(client, "toolcrib", "read_result", handle=preview["handle"], grep='"name": "build"')

    assert found == "/jobs/0/output:4322: line 4321 of the naïve log"
    assert whole == '/jobs/0/name: "build"'


# -- details


@both_modes
async def test_details_tell_defaults_bounds_inner_descriptions_and_annotations(
    workshop: Workshop,
    filesystem_server: Callable[[Path], Launch],
    fetch_server: Launch,
    mode: str,
) -> None:
    servers = {"fs": filesystem_server(workshop.folder), "fetch": fetch_server}
    workshop.configure(servers)

    async with workshop.client(mode) as client:
        edit = await ask(client, "get_tool_details", server="fs", tool="edit_file")
        fetch = await ask(client, "get_tool_details", server="fetch", tool="fetch")

    assert edit["fields"] == {
        "edits[].oldText": "Text to search for - must match exactly",
        "edits[].newText": "Text to replace with",
    }
    assert edit["annotations"] == "destructive, closed world"
    asked = {parameter["name"]: parameter for parameter in fetch["parameters"]}
    assert (asked["max_length"]["type"], asked["max_length"]["default"]) == ("integer 1..999999", 5000)
    assert count(compact(edit)) < 200


# -- arguments as models write them


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tool": "echo", "text": "hi"}, "hi"),
        ({"tool": "echo", "arguments": '{\n  "text": "hi"\n}'}, "hi"),
        ({"tool": "big", "arguments": {"characters": "7"}}, "line 00"),
        ({"tool": "big", "characters": "7"}, "line 00"),
    ],
)
@both_modes
async def test_arguments_reach_a_server_however_a_model_wrote_them(
    workshop: Workshop, mode: str, arguments: dict[str, Any], said: str
) -> None:
    scripted = workshop.scripted("scripted")
    workshop.configure({"scripted": scripted})

    async with workshop.client(mode) as client:
        result = await client.call_tool("execute_tool", {"server": "scripted", **arguments})

    assert texts(result) == [said]
    (sent,) = scripted.received("tools/call")
    assert sent["params"]["arguments"] in ({"text": "hi"}, {"characters": 7})
    assert len(scripted.starts) == 1
