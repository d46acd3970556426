"""What a gateway on stdio does not load: the SDK and an HTTP stack never, much else not before it is needed."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.journeys.stdio_gateway import Workshop, execution
from tests.journeys.test_stdio_protocol import MODERN_META
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

TELLING_GATEWAY = """
import sys
from toolcrib.cli.main import main
code = main()
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""
HEAVY = {
    "mcp",
    "mcp_types",
    "pydantic",
    "starlette",
    "uvicorn",
    "httpx",
    "httpx2",
    "anyio",
    "opentelemetry",
    "jwt",
    "prometheus_client",
    "jsonschema",
}


# Writes down what is loaded at the moment when the answer to the first tools/list goes out.
FIRST_ANSWER_GATEWAY = """
import os, sys
from toolcrib.cli.main import main
write = os.write
def telling_write(fd, data):
    if b'"tools":[' in bytes(data):
        os.write = write
        write(2, ("loaded: " + " ".join(sorted(sys.modules)) + "\\n").encode())
    return write(fd, data)
os.write = telling_write
sys.exit(main())
"""
# What only those load who look for peers.
PEERS = {
    "cryptography",
    "ifaddr",
    "zeroconf",
    "toolcrib.engine.peer_specs",
    "toolcrib.lan",
    "toolcrib.peers",
    "toolcrib.storage.sqlite_peers",
}
# Each is some milliseconds that a client would wait for its first answer, and some megabytes for those who never need it.
NOT_YET = {
    *HEAVY,
    *PEERS,
    "genson",
    "regex",
    "tomllib",
    "xml",
    "yaml",
    "toolcrib.approvals",
    "toolcrib.ccos",
    "toolcrib.cli.output",
    "toolcrib.discovery.service",
    "toolcrib.registry",
    "toolcrib.rtfs",
    "toolcrib.schema.convert",
    "toolcrib.signin",
    "toolcrib.storage.sign_in_files",
    "toolcrib.upstream.http_client",
    "toolcrib.upstream.sse",
    "toolcrib.upstream.streamable_http",
}


async def test_the_first_list_of_tools_waits_for_nothing_that_it_does_not_need(workshop: Workshop) -> None:
    workshop.configure({"local": {"command": "never-started"}, "remote": {"url": "https://mcp.example/mcp"}})
    _know_all(workshop)
    workshop.environment.pop("COVERAGE_PROCESS_CONFIG", None)  # what measures the tests loads much itself
    command = [workshop.command[0], "-c", FIRST_ANSWER_GATEWAY, *workshop.command[3:]]

    async with workshop.lines(*command) as client:
        await client.initialize()
        assert len((await client.ask(1, "tools/list"))["result"]["tools"]) == 5
        assert await client.leave() == 0

    loaded = _loaded(workshop)
    assert {"toolcrib.server.stdio", "msgspec"} <= loaded
    assert loaded & NOT_YET == set()


@pytest.mark.parametrize("meta", [{}, {"_meta": MODERN_META}], ids=["legacy", "modern"])
async def test_a_search_and_a_call_on_stdio_load_neither_the_sdk_nor_an_http_stack(
    workshop: Workshop, meta: dict[str, Any]
) -> None:
    workshop.configure({"scripted": workshop.scripted("scripted")})
    command = [workshop.command[0], "-c", TELLING_GATEWAY, *workshop.command[3:]]
    call = execution(3, "scripted", "echo", text="hello")["params"]

    async with workshop.lines(*command) as client:
        if not meta:
            await client.initialize()
        assert len((await client.ask(1, "tools/list", **meta))["result"]["tools"]) == 5
        found = await client.ask(2, "tools/call", name="search_tools", arguments={"query": "echo a text"}, **meta)
        assert "echo" in found["result"]["content"][0]["text"]
        assert (await client.ask(3, "tools/call", **call, **meta))["result"]["content"][0]["text"] == "hello"
        assert await client.leave() == 0

    loaded = _loaded(workshop)
    assert {"toolcrib", "msgspec", "numpy"} <= loaded
    assert loaded & {*HEAVY, *PEERS} == set()


def _know_all(workshop: Workshop) -> None:
    """A catalog in which every server was read, so that none is read at the start."""
    store = SqliteCatalog(Paths.of(workshop.environment).catalog)
    for spec in load_settings(workshop.config, env=workshop.environment).servers:
        tools = ({"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}},)
        store.save_reading(
            spec.name, spec.launch_key, ServerReading(Identity("legacy", "2025-11-25"), tools), time.time()
        )
    store.close()


def _loaded(workshop: Workshop) -> set[str]:
    (line,) = [line for line in workshop.complaints.splitlines() if line.startswith("loaded:")]
    return set(line.split()[1:])
