"""T17: a server sees the variables that its entry declares, a few harmless ones, and nothing else of ours."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from toolcrib import Settings, open_gateway
from toolcrib.model.server import ServerSpec, StdioLaunch

TELLS_ITS_VARIABLES = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "variables", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]},
    }
    if "id" in message:
        found = results.get(message["method"])
        body = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


async def test_t17_a_child_sees_only_what_its_entry_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SOME_OTHER", "WANTED", "TOOLCRIB_HTTP_TOKEN"):
        monkeypatch.setenv(name, "canary")
    script = tmp_path / "server.py"
    script.write_text(TELLS_ITS_VARIABLES, encoding="utf-8")
    launch = StdioLaunch(sys.executable, (str(script),), env={"OWN": "1"}, pass_env=("WANTED",))
    async with open_gateway(settings=Settings(servers=(ServerSpec("s", launch),)), env=dict(os.environ)) as gateway:
        answer = await gateway.execute_tool("s", "variables")
    assert answer.result is not None
    seen = json.loads(json.loads(bytes(answer.result.raw))["content"][0]["text"])

    assert [name for name, value in seen.items() if value == "canary"] == ["WANTED"]
    assert (seen["OWN"], seen["TOOLCRIB_INSIDE"]) == ("1", "1")
