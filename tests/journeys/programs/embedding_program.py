"""Somebody's program that serves Toolcrib on its own pipes, prints meanwhile, and goes on when its client has left."""

import asyncio
import sys
from pathlib import Path

from toolcrib import MCPDiscoveryServer, open_gateway


async def main() -> None:
    async with open_gateway(sys.argv[1]) as gateway:
        asyncio.get_running_loop().call_soon(print, "a stray word")
        await MCPDiscoveryServer(gateway).run_stdio()
        Path(sys.argv[2]).write_text(str(gateway.is_connected("clock")))


asyncio.run(main())
