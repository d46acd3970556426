"""Servers in sandboxes: a program that tries what it may not, a gateway to it, and whether this machine can have sandboxes at all."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Gateway, open_gateway
from toolcrib.upstream.sandbox import why_unavailable

# A server whose one tool runs Python that it is given, and tells what became of it.
PROGRAM = """
import json, os, socket, sys
for line in sys.stdin:
    message = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "run", "inputSchema": {"type": "object"}}]},
    }
    if "id" not in message:
        continue
    if message["method"] == "tools/call":
        try:
            told = repr(eval(message["params"]["arguments"]["code"]))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        results["tools/call"] = {"content": [{"type": "text", "text": told}]}
    found = results.get(message["method"])
    body = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


def need_sandboxes() -> None:
    """Skip the test where no sandbox can be had; in CI, on Linux, that is a failure."""
    reason, words = why_unavailable()
    if not reason:
        return
    if os.environ.get("CI") == "true" and sys.platform == "linux":
        pytest.fail(f"no sandbox: {words}")
    pytest.skip(f"no sandbox: {words}")


@asynccontextmanager
async def gateway_to(folder: Path, **entry: Any) -> AsyncIterator[Gateway]:
    """A gateway to a server that runs what it is told."""
    script = folder / "server.py"
    script.write_text(PROGRAM, encoding="utf-8")
    config = folder / "toolcrib.json"
    server = {"command": sys.executable, "args": [str(script)], **entry}
    config.write_text(json.dumps({"servers": {"s": server}, "maxRetries": 0}), encoding="utf-8")
    async with asyncio.timeout(40), open_gateway(config, env=dict(os.environ)) as gateway:
        yield gateway


async def told(gateway: Gateway, code: str) -> str:
    answer = await gateway.execute_tool("s", "run", {"code": code})
    assert answer.result is not None, answer.error
    text = json.loads(bytes(answer.result.raw))["content"][0]["text"]
    assert isinstance(text, str)
    return text
