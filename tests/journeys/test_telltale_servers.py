"""Servers that repeat their secrets to whoever listens: what agents and log files get to see of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tests.journeys.stdio_gateway import Workshop, ask, body, execute
from tests.servers.launch import Launch
from tests.upstream.http_servers import serve
from toolcrib.engine.open_gateway import open_gateway

TELLTALE = Path(__file__).parent.parent / "cli" / "programs" / "telltale.py"
SECRET = "plain-lily-of-the-valley"


def files_that_tell(folder: Path) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


@pytest.mark.parametrize("manner", ["exit", "refuse", "fail"])
async def test_an_agent_does_not_see_what_a_server_was_given(workshop: Workshop, manner: str) -> None:
    launch = Launch(sys.executable, ("-I", "-S", str(TELLTALE), manner), env={"TELLTALE_GIVEN": "${GIVEN}"})
    workshop.environment["GIVEN"] = SECRET
    workshop.configure({"telltale": launch})
    async with workshop.client() as client:
        seen = [body(await execute(client, "telltale", "tell")), await ask(client, "list_mcp_servers")]
        seen.append(await ask(client, "list_tools", server="telltale"))
    assert "${GIVEN}" in json.dumps(seen)
    assert SECRET not in json.dumps(seen) + workshop.complaints
    assert files_that_tell(workshop.home) == []


async def _repeats_the_header(request: Request) -> Response:
    sent = request.headers["authorization"]
    if request.url.path == "/refused":
        return JSONResponse({}, 401, {"www-authenticate": f'Bearer realm="{sent}"'})
    if request.url.path.startswith("/moved"):
        return RedirectResponse(f"http://elsewhere.example/{SECRET}/mcp", 307)
    if request.url.path == "/failed":
        return JSONResponse({"oops": sent}, 500)
    error = {"code": -32000, "message": f"no entry with {sent}", "data": {"sent": sent}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)


@pytest.mark.parametrize("path", ["refused", "moved", "failed", "error", f"moved?key={SECRET}"])
@pytest.mark.parametrize("header", ["Bearer ${GIVEN}", f"Bearer {SECRET}", SECRET])
async def test_a_remote_server_cannot_repeat_its_token_to_anyone(
    path: str, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    env = {**os.environ, "GIVEN": SECRET}

    async def app(scope, receive, send) -> None:
        await (await _repeats_the_header(Request(scope, receive)))(scope, receive, send)

    async with serve(app) as address:
        entry = {"url": f"{address}/{path}", "headers": {"Authorization": header}}
        Path("config.json").write_text(json.dumps({"servers": {"far": entry}, "maxRetries": 0}))
        async with open_gateway("config.json", env=env) as gateway:
            outcome = await gateway.execute_tool("far", "tell")
            servers = await gateway.list_servers()
    assert outcome.error is not None
    assert servers[0].status.state == "error"
    assert SECRET not in f"{outcome} {servers} {caplog.text}"
    assert files_that_tell(Path(os.environ["TOOLCRIB_HOME"])) == []
