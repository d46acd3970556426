"""As whom a client over HTTP is known."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from tests.journeys.http_gateway import write_config
from tests.journeys.test_asking_over_http import Reception
from tests.server.http_face import MODERN, Bare, http_face, messages_of
from toolcrib import open_gateway
from toolcrib.server.listening import listen

BOUND_SECONDS = 10.0
CALL = {"name": "execute_tool", "arguments": {"server": "desk", "tool": "name", "arguments": {}}}


async def called(face: Bare, headers: dict[str, str], **more: Any) -> Any:
    """The result of a call of the newest revision, whose client can be asked."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, **more, "_meta": meta}}
    named = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "execute_tool"}
    return messages_of(await face.post(message, **named, **headers))[-1]["result"]


async def test_calls_that_wait_for_an_answer_end_when_nobody_is_served_any_more(tmp_path: Path) -> None:
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    token_file, config = tmp_path / "token", {"desk": {"url": ""}}
    async with (
        Reception("legacy").serving() as config["desk"]["url"],
        open_gateway(write_config(tmp_path, config)) as gateway,
    ):
        serving = asyncio.create_task(
            listen(gateway, host="127.0.0.1", port=0, token_file=token_file, stop=stop, on_ready=ready.set_result)
        )
        async with httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:
            face = Bare(http, await ready, token=token_file.read_text().strip())
            assert (await called(face, {}))["resultType"] == "input_required"
        assert gateway.figures.running_calls() == 1
        stop.set()
        async with asyncio.timeout(BOUND_SECONDS):
            await serving
        assert gateway.figures.running_calls() == 0


async def test_a_client_of_the_newest_revision_has_no_session_whatever_it_says(tmp_path: Path) -> None:
    async with Reception("legacy").serving() as url, http_face(write_config(tmp_path, {"desk": {"url": url}})) as face:
        old = await face.open("legacy")
        asked = await called(face, {"mcp-session-id": old.session["mcp-session-id"]})
        assert asked["resultType"] == "input_required"
        ((key, _),) = asked["inputRequests"].items()
        answers = {key: {"action": "accept", "content": {"name": "Ann"}}}
        # The state is bound to who asked: to no session, so it is good without one.
        answered = await called(face, {}, requestState=asked["requestState"], inputResponses=answers)
    assert "Ann" in answered["content"][0]["text"]
