"""T21: a gateway that is its own server, by whatever detour, does not start itself without end."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from toolcrib import open_gateway
from toolcrib.config.inside import DEEPEST

# What nobody can recognise as Toolcrib: a script of another name that becomes one.
DETOUR = """
import os, sys
with open(sys.argv[1], "a") as file:
    file.write(os.environ.get("TOOLCRIB_INSIDE", "0") + "\\n")
    if os.path.getsize(sys.argv[1]) > 40:
        sys.exit("started without end")
os.execv(sys.executable, [sys.executable, "-m", "toolcrib", "serve", "--in-process", "--config", sys.argv[2]])
"""


async def test_t21_a_gateway_behind_a_gateway_ends(tmp_path: Path, process_environment: dict[str, str]) -> None:
    script, starts, config = tmp_path / "detour.py", tmp_path / "starts", tmp_path / "toolcrib.json"
    script.write_text(DETOUR, encoding="utf-8")
    starts.touch()
    detour = {
        "command": sys.executable,
        "args": [str(script), str(starts), str(config)],
        "env": {name: value for name, value in process_environment.items() if name not in ("HOME", "PATH")},
    }
    settings = {"startupTimeout": 20, "maxRetries": 0, "engine": {"enabled": False}}
    config.write_text(json.dumps({"servers": {"detour": detour}, **settings}), encoding="utf-8")

    async with open_gateway(config, env=dict(os.environ)) as gateway:
        arguments: dict[str, object] = {"server": "toolcrib", "tool": "nothing", "arguments": {}}
        for _ in range(DEEPEST + 2):
            arguments = {"server": "detour", "tool": "execute_tool", "arguments": arguments}
        answer = await gateway.execute_tool("detour", "execute_tool", arguments)

    assert starts.read_text(encoding="utf-8").split() == ["1", "2", "3"]
    assert answer.result is not None
    assert b"inside 3 others" in bytes(answer.result.raw)


@pytest.mark.parametrize("stated", ["3", "7", "12"])
async def test_t21_a_gateway_that_is_too_far_inside_starts_nothing(tmp_path: Path, stated: str) -> None:
    marker, config = tmp_path / "started", tmp_path / "toolcrib.json"
    touch = {"command": sys.executable, "args": ["-c", f"open({str(marker)!r}, 'w')"]}
    config.write_text(json.dumps({"servers": {"touch": touch}, "maxRetries": 0}), encoding="utf-8")

    async with open_gateway(config, env={**os.environ, "TOOLCRIB_INSIDE": stated}) as gateway:
        answer = await gateway.execute_tool("touch", "anything")

    assert not answer.success
    assert f"inside {stated} others" in str(answer.error)
    assert not marker.exists()
