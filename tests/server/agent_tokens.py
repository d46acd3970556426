"""An agent behind the official SDK client that counts every token it reads and writes."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

from toolcrib.config.settings import Settings
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.model.server import ServerSpec
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server

with warnings.catch_warnings():
    # It opens its vocabulary by a door of the standard library that is about to close.
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

FOR_CLIENTS = frozenset({"annotations", "_meta"})

_encoding = bpe_openai.get_encoding("o200k_base")


def count(text: str) -> int:
    return len(_encoding.encode_ordinary(text))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Agent:
    """Uses the five tools; `spent` is all it has read and written so far, the definitions included.

    `opening` is what a model reads before its first word; `definitions` are the five as they stand on the wire, with the
    hints that only its client reads.
    """

    def __init__(self, client: Client, definitions: Sequence[Mapping[str, Any]]) -> None:
        self._client = client
        self.definitions = count(compact(definitions))
        self.instructions = count(client.instructions or "")
        read = [{key: value for key, value in one.items() if key not in FOR_CLIENTS} for one in definitions]
        self.opening = count(compact(read)) + self.instructions
        self.spent = self.opening

    async def use(self, meta_tool: str, /, **arguments: Any) -> str:
        """The text an agent gets to read for a call that must succeed."""
        result = await self._client.call_tool(meta_tool, arguments)
        answer = "".join(block.text for block in result.content if block.type == "text")
        assert not result.is_error, answer
        self.spent += count(compact({"name": meta_tool, "arguments": arguments})) + count(answer)
        return answer

    async def find_read_and_run(self, query: str, server: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """One turn: search, details, execution."""
        found = json.loads(await self.use("search_tools", query=query))
        assert (server, tool) == (found["results"][0]["server"], found["results"][0]["tool"])
        await self.use("get_tool_details", server=server, tool=tool)
        await self.use("execute_tool", server=server, tool=tool, arguments=arguments)


@asynccontextmanager
async def agent_before(servers: Sequence[ServerSpec], env: Mapping[str, str] = os.environ) -> AsyncIterator[Agent]:
    """An agent at the counter of these servers, all of them read."""
    async with open_gateway(settings=Settings(servers=tuple(servers)), env=env) as gateway:
        for spec in servers:
            assert await gateway.list_tools(spec.name), f"{spec.name} could not be read"
        said = gateway_instructions(gateway)
        async with Client(build_server(MetaTools(gateway), instructions=said)) as client:
            listed = await client.list_tools()
            yield Agent(client, [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools])
