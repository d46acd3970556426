"""Programs that listen on a port of this machine."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.servers.launch import Launch

START_SECONDS = 20.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@asynccontextmanager
async def listening(launch: Launch, port: int, environment: Mapping[str, str]) -> AsyncIterator[None]:
    """Start a program and wait until it listens on `port`, which its arguments name; it is gone at the end."""
    process = await asyncio.create_subprocess_exec(
        launch.command,
        *launch.args,
        env={**environment, **launch.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            while not await _is_open(port):
                assert process.returncode is None, f"{launch.args} did not start"
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        await asyncio.sleep(0.05)
        return False
    writer.close()
    return True
