"""The state folder breaks under a running gateway: every request is answered, and nothing of our inside is shown."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.stdio_gateway import MODES, Workshop

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("list_mcp_servers", {}),
    ("search_tools", {"query": "echo"}),
    ("search_tools", {"query": "echo", "server": "\ud800"}),
    ("list_tools", {"server": "scripted"}),
    ("get_tool_details", {"server": "scripted", "tool": "echo"}),
    ("execute_tool", {"server": "scripted", "tool": "echo", "arguments": {"text": "x" * 200_000}}),
    ("execute_tool", {"server": "toolcrib", "tool": "read_result", "arguments": {"handle": "0" * 32}}),
    ("execute_tool", {"server": "\udcff", "tool": "\0", "arguments": {}}),
]


def _gone(home: Path) -> None:
    shutil.rmtree(home)


def _a_file(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("not a folder", encoding="utf-8")


def _noise(home: Path) -> None:
    for file in _files(home):
        file.write_bytes(b"\xff\xfe\0 noise" * 500)


def _folders(home: Path) -> None:
    for file in list(_files(home)):
        file.unlink()
        file.mkdir()


def _files(home: Path) -> Iterator[Path]:
    # A server's log is still being written by its process, and a socket or pipe would hold us up.
    return (file for file in home.rglob("*") if file.is_file() and file.suffix != ".log")


TROUBLES = {"gone": _gone, "a file": _a_file, "noise": _noise, "full of folders": _folders}


@pytest.mark.parametrize("break_it", TROUBLES.values(), ids=TROUBLES)
async def test_on_stdio_every_request_is_answered_when_the_state_folder_is(
    break_it: Callable[[Path], None], workshop: Workshop
) -> None:
    workshop.configure({"scripted": workshop.scripted("scripted")})

    async with workshop.lines() as client:
        await client.initialize()
        await client.execute("before", "scripted", "echo", text="a")
        break_it(workshop.home)
        for number, (name, arguments) in enumerate(QUESTIONS):
            answer = await client.call(number, name, **arguments)
            assert answer.keys() & {"result", "error"}
            assert "inside the gateway" not in str(answer)
        assert await client.leave() == 0

    assert "Traceback" not in workshop.complaints


@pytest.mark.parametrize("mode", MODES)
async def test_over_http_every_request_is_answered_when_the_state_folder_is_noise(
    mode: str, tmp_path: Path, process_environment: dict[str, str], workshop: Workshop
) -> None:
    config = write_config(tmp_path, {"scripted": workshop.scripted("scripted").entry()})

    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            await client.call_tool("list_tools", {"server": "scripted"})
            _noise(Path(process_environment["TOOLCRIB_HOME"]))
            for name, arguments in (question for question in QUESTIONS if "\\u" not in ascii(question)):
                assert "inside the gateway" not in str(await client.call_tool(name, arguments))
        assert gateway.stop() == 0
        assert "Traceback" not in gateway.stderr
