"""A gateway on stdio loads neither the SDK nor an HTTP stack: they cost more than all the rest of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.stdio_gateway import Workshop, execution
from tests.journeys.test_stdio_protocol import MODERN_META

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
    "jsonschema",
}


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

    (line,) = [line for line in workshop.complaints.splitlines() if line.startswith("loaded:")]
    loaded = set(line.split()[1:])
    assert {"toolcrib", "msgspec", "numpy"} <= loaded
    assert loaded & HEAVY == set()
