"""Prompts and resources of somebody else's server, in front of clients of both eras, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.stdio_gateway import MODES, Workshop, ask, run
from tests.servers.launch import Launch

FACES = ("stdio", "http")
ADDRESS = "demo://resource/dynamic/text/1"


@asynccontextmanager
async def client_of(face: str, mode: str, workshop: Workshop, entry: dict[str, Any]) -> AsyncIterator[Client]:
    """A client of a gateway that knows this server already, as on any but the very first start."""
    servers = {"everything": entry}
    if face == "stdio":
        workshop.configure(servers)
        async with workshop.client() as first:
            await ask(first, "list_tools", server="everything")
        async with workshop.client(mode) as client:
            yield client
        return
    config = write_config(workshop.folder, servers)
    with gateway_process(workshop.folder, config, workshop.environment) as gateway:
        async with connect(gateway, "legacy") as first:
            await ask(first, "list_tools", server="everything")
        async with connect(gateway, mode) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("face", FACES)
async def test_prompts_are_slash_commands_and_resources_are_read(
    workshop: Workshop, everything_server: Launch, face: str, mode: str
) -> None:
    async with client_of(face, mode, workshop, everything_server.entry()) as client:
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        simple = await client.get_prompt("everything__simple-prompt")
        filled = await client.get_prompt("everything__args-prompt", {"city": "Paris", "state": "Texas"})
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        document = await client.read_resource(resources[0].uri)
        dynamic = await client.read_resource("demo://resource/dynamic/text/3")
        with pytest.raises(MCPError) as refused:
            await client.read_resource("demo://nowhere")
        found = await ask(client, "search_tools", query="kind:prompt city and state")
        by_name = await run(client, "everything", "resource:demo://resource/dynamic/text/4")

    assert prompts["everything__simple-prompt"].title == "everything: Simple Prompt"
    assert "simple prompt" in str(simple.messages[0].content)
    assert "Paris, Texas" in str(filled.messages[0].content)
    assert all(one.name.startswith("everything: ") for one in (*resources, *templates))
    assert document.contents[0].uri == resources[0].uri
    assert "Resource 3" in str(dynamic.contents[0])
    assert refused.value.error.data == {"uri": "demo://nowhere"}
    assert found["results"][0]["tool"] == "prompt:args-prompt"
    assert "Resource 4" in by_name


async def test_clients_of_both_eras_hear_of_a_resource_over_http(workshop: Workshop, everything_server: Launch) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.put_nowait(message.params.uri)

    config = write_config(workshop.folder, {"everything": everything_server.entry()})
    with gateway_process(workshop.folder, config, workshop.environment) as gateway:
        async with (
            asyncio.timeout(30),
            connect(gateway, "legacy", message_handler=hear) as old,
            connect(gateway, MODES[1]) as new,
        ):
            await ask(old, "list_tools", server="everything")
            with pytest.warns(MCPDeprecationWarning):
                await old.subscribe_resource(ADDRESS)
            async with new.listen(resource_subscriptions=[ADDRESS], prompts_list_changed=True) as stream:
                await run(new, "everything", "toggle-subscriber-updates")
                event = await anext(aiter(stream))
                assert str(await heard.get()) == str(event.uri) == ADDRESS
                assert gateway.stop() == 0  # nobody who only listens holds it up

    assert stream.honored.resource_subscriptions == [ADDRESS]
