"""Prompts and resources where clients share an engine: used as such through the connector, and heard of after its end."""

from __future__ import annotations

import os
import signal

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import MODES, LineClient, ask, eventually, execution
from tests.servers.launch import Launch

UPDATED = "notifications/resources/updated"
ADDRESS = "demo://resource/dynamic/text/1"


@pytest.mark.parametrize("mode", MODES)
async def test_prompts_and_resources_pass_through_the_connector(
    shared: SharedWorkshop, everything_server: Launch, mode: str
) -> None:
    shared.configure({"everything": everything_server})

    async with shared.client() as first:
        await ask(first, "list_tools", server="everything")
        async with shared.client(mode) as client:
            prompts = [one.name for one in (await client.list_prompts()).prompts]
            got = await client.get_prompt("everything__simple-prompt")
            read = await client.read_resource(ADDRESS)

    assert "everything__args-prompt" in prompts
    assert "simple prompt" in str(got.messages[0].content)
    assert "Resource 1" in str(read.contents[0])


async def test_a_subscription_is_taken_up_by_the_next_engine(shared: SharedWorkshop, everything_server: Launch) -> None:
    shared.configure({"everything": everything_server})

    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "everything", "echo", message="hello")
        assert "result" in await client.ask(2, "resources/subscribe", uri=ADDRESS)
        before = shared.engine()
        os.kill(before, signal.SIGKILL)
        await eventually(lambda: shared.engines() not in ([], [before]))
        client.send(execution(3, "everything", "toggle-subscriber-updates"))
        await client.answer(3)
        heard = await client.until(lambda: updates(client))

    assert heard[0]["params"]["uri"] == ADDRESS


def updates(client: LineClient) -> list[dict[str, dict[str, str]]]:
    return [message for message in client.messages if message.get("method") == UPDATED]
