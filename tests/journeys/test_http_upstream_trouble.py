"""What a caller is told when a server over HTTP refuses, forgets or is gone, and who is given which token."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.http_gateway import BOUND_SECONDS, write_config
from tests.journeys.http_upstream import Clinic, everything_over_http
from tests.servers.launch import Launch
from tests.upstream.http_servers import Out, Script, Seen, serve, unused_address
from toolcrib import Gateway, open_gateway
from toolcrib.model.call import ExecutionError

ERAS = ("legacy", "modern")


async def error_of(gateway: Gateway, server: str, tool: str, **arguments: Any) -> ExecutionError:
    outcome = await gateway.execute_tool(server, tool, arguments)
    assert outcome.error is not None
    return outcome.error


async def status_of(gateway: Gateway, name: str) -> tuple[str, str]:
    (status,) = (server.status for server in await gateway.list_servers() if server.name == name)
    return status.state, status.reason


@pytest.mark.parametrize("era", ERAS)
async def test_each_server_is_given_its_own_token_and_no_other(tmp_path: Path, era: str) -> None:
    by_header, by_variable, open_to_all = Clinic("secret-one", era), Clinic("secret-two", era), Clinic(None, era)
    async with AsyncExitStack() as stack:
        one, two, three = [await stack.enter_async_context(c.serving()) for c in (by_header, by_variable, open_to_all)]
        servers = {
            "first": {"url": one, "headers": {"Authorization": "Bearer ${FIRST_KEY}"}},
            "second-clinic": {"url": two},
            "third": {"url": three},
        }
        env = {**os.environ, "FIRST_KEY": "secret-one", "SECOND_CLINIC_MCP_TOKEN": "secret-two"}
        gateway = await stack.enter_async_context(open_gateway(write_config(tmp_path, servers), env=env))
        for name in servers:
            assert (await gateway.execute_tool(name, "repeat", {"text": name})).value == {"text": name}
    assert by_header.credentials == {"Bearer secret-one"}
    assert by_variable.credentials == {"Bearer secret-two"}
    assert open_to_all.credentials == {None}
    written = b"".join(file.read_bytes() for file in Path(os.environ["TOOLCRIB_HOME"]).rglob("*") if file.is_file())
    assert b"secret-" not in written


async def test_a_refused_token_is_said_with_the_variable_to_set(tmp_path: Path) -> None:
    async with Clinic("right").serving() as url:
        config = write_config(tmp_path, {"clinic": {"url": url, "tools": [{"name": "repeat"}]}})
        async with open_gateway(config) as gateway:
            missing = await error_of(gateway, "clinic", "repeat")
        async with open_gateway(config, env={**os.environ, "CLINIC_MCP_TOKEN": "s3cr3t"}) as gateway:
            refused = await error_of(gateway, "clinic", "repeat")
            state, reason = await status_of(gateway, "clinic")
    assert (missing.code, refused.code) == ("SIGN_IN_REQUIRED", "AUTHENTICATION_FAILED")
    assert "`toolcrib login clinic`" in missing.hint
    assert "set CLINIC_MCP_TOKEN" in missing.hint
    assert "renew CLINIC_MCP_TOKEN" in refused.hint
    assert state == "error"
    assert "401" in reason
    assert "s3cr3t" not in f"{refused}{reason}"


async def test_a_forgotten_session_is_opened_again_once_and_the_call_works(tmp_path: Path) -> None:
    clinic = Clinic(era="legacy")
    async with clinic.serving() as url, open_gateway(write_config(tmp_path, {"clinic": {"url": url}})) as gateway:
        assert (await gateway.execute_tool("clinic", "repeat", {"text": "one"})).success
        (first,) = clinic.sessions
        clinic.forgotten.add(first)
        assert (await gateway.execute_tool("clinic", "repeat", {"text": "two"})).value == {"text": "two"}
        assert len(clinic.sessions) == 2
        assert await status_of(gateway, "clinic") == ("connected", "")


@pytest.mark.parametrize("transport", ["streamableHttp", "sse"])
async def test_a_restarted_server_is_called_again_without_a_failure(
    tmp_path: Path, everything_server: Launch, transport: str
) -> None:
    with ExitStack() as servers:
        first = servers.enter_context(everything_over_http(everything_server, transport))
        entry = first.sse if transport == "sse" else first.streamable
        async with open_gateway(write_config(tmp_path, {"everything": entry})) as gateway:
            assert (await gateway.execute_tool("everything", "echo", {"message": "one"})).value == "Echo: one"
            first.stop()
            if transport == "sse":
                await until_not_connected(gateway, "everything")
            servers.enter_context(everything_over_http(everything_server, transport, first.port))
            assert (await gateway.execute_tool("everything", "echo", {"message": "two"})).value == "Echo: two"


async def until_not_connected(gateway: Gateway, name: str) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        while (await status_of(gateway, name))[0] == "connected":  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)


async def test_a_server_that_drips_its_handshake_is_given_up_within_the_time_to_connect(tmp_path: Path) -> None:
    async def drip(_: Seen, out: Out) -> None:
        await out.start(200, "application/json")
        while True:
            await out.write(b" ")
            await asyncio.sleep(0.05)

    async with serve(Script(drip)) as address:
        config = write_config(tmp_path, {"slow": {"url": f"{address}/mcp"}}, connectTimeout=1, probeTimeout=0.5)
        async with open_gateway(config) as gateway, asyncio.timeout(BOUND_SECONDS):
            error = await error_of(gateway, "slow", "repeat")
    assert (error.code, error.message) == ("TOOL_EXECUTION_TIMEOUT", "did not finish connecting within 1 s")
    assert "connectTimeout" in error.hint
    assert "package" not in error.hint


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_is_down_is_a_connection_error_with_a_reason(tmp_path: Path, transport: str) -> None:
    entry = {"type": transport, "url": f"{unused_address()}/mcp", "tools": [{"name": "repeat"}]}
    clinic = Clinic()
    async with clinic.serving() as url:
        config = write_config(tmp_path, {"gone": entry, "clinic": {"url": url}})
        async with open_gateway(config) as gateway:
            error = await error_of(gateway, "gone", "repeat")
            assert error.code == "SERVER_CONNECTION_ERROR"
            assert "the connection was refused" in error.message
            assert error.hint == "Start the server, or correct the port in its url."
            state, reason = await status_of(gateway, "gone")
            assert state == "error"
            assert "the connection was refused" in reason
            assert (await gateway.execute_tool("clinic", "repeat", {"text": "fine"})).success


async def test_an_unset_variable_in_a_header_is_that_servers_error_and_names_the_variable(tmp_path: Path) -> None:
    entry = {"url": unused_address(), "headers": {"X-Key": "${NOT_SET_HERE}"}, "tools": [{"name": "repeat"}]}
    async with open_gateway(write_config(tmp_path, {"clinic": entry})) as gateway:
        error = await error_of(gateway, "clinic", "repeat")
        assert error.code == "SERVER_NEEDS_CONFIGURATION"
        assert "NOT_SET_HERE" in error.message


async def test_a_page_that_is_no_mcp_server_is_said_to_be_none(tmp_path: Path) -> None:
    clinic = Clinic()
    async with clinic.serving() as url:
        entry = {"url": url.replace("/mcp", "/nothing-here"), "tools": [{"name": "repeat"}]}
        async with open_gateway(write_config(tmp_path, {"clinic": entry})) as gateway:
            error = await error_of(gateway, "clinic", "repeat")
            assert "404" in error.message
            assert (await status_of(gateway, "clinic"))[0] == "error"
