"""FastMCP's client: python fastmcp_client.py TARGETS

Visits a gateway at each target, one after the other, and prints what it saw of each as JSON.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def transport_to(target):
    if "url" not in target:
        return StdioTransport(
            target["command"], target["args"], target["env"], keep_alive=False, log_file=Path(os.devnull)
        )
    return StreamableHttpTransport(target["url"], {"Authorization": f"Bearer {target['token']}"})


async def visit(target):
    questions = []

    async def elicited(message, response_type, params, context):
        questions.append(message)
        return {"name": "Ann"}

    async with Client(transport_to(target), mode=target["era"], elicitation_handler=elicited) as client:

        async def run(server):
            call = {"server": server, "tool": "name", "arguments": {}}
            return (await client.call_tool("execute_tool", call)).structured_content

        for server in ("old", "new"):  # they are read by then
            await client.call_tool("list_tools", {"server": server})
        found = json.loads((await client.call_tool("search_tools", {"query": "name"})).content[0].text)
        return {
            "tools": [tool.name for tool in await client.list_tools()],
            "found": [f"{hit['server']}:{hit['tool']}" for hit in found["results"]],
            "answers": [await run("old"), await run("new")],
            "asked": questions,
            "revision": client.protocol_version,
        }


async def main():
    print(json.dumps([await visit(target) for target in json.loads(sys.argv[1])]))


asyncio.run(main())
