"""What a model gets to see of the gateway before and while it works, through the doors its client uses."""

from __future__ import annotations

import pytest

from tests.journeys.http_gateway import MODES as HTTP_MODES
from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.stdio_gateway import MODES, Workshop

LOOKING = {"list_mcp_servers", "search_tools", "list_tools", "get_tool_details"}


@pytest.mark.parametrize("mode", MODES)
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
