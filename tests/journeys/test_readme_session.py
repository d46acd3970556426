"""The session that opens the README is a real one: the same servers give the same answers."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stdio_gateway import Workshop, text
from tests.servers.launch import Launch

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
SHOWN = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [block for block in SHOWN if block.startswith("$ ")]
(AGENT,) = (block for block in SHOWN if block.startswith("> "))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git repository with a change that is not staged."""
    place = tmp_path / "shopping"
    subprocess.run(["git", "init", "--quiet", str(place)], check=True, timeout=10)
    (place / "list.md").write_text("# Shopping\n")
    subprocess.run(["git", "add", "list.md"], cwd=place, check=True, timeout=10)
    (place / "list.md").write_text("# Shopping\nmilk, eggs\n")
    return place


@pytest.fixture
def _six_servers(
    workshop: Workshop,
    everything_server: Launch,
    filesystem_server: Callable[[Path], Launch],
    memory_server: Callable[[Path], Launch],
    time_server: Launch,
    git_server: Callable[[Path], Launch],
    fetch_server: Launch,
    folder: Path,
    tmp_path: Path,
) -> None:
    workshop.configure(
        {
            "everything": everything_server,
            "fetch": fetch_server,
            "filesystem": filesystem_server(folder),
            "git": {**git_server(folder).entry(), "cwd": str(folder)},
            "memory": memory_server(tmp_path / "graph.jsonl"),
            "time": time_server,
        }
    )
    said(workshop, "warm")


def said(workshop: Workshop, *words: str) -> str:
    """What a command prints."""
    command = [*workshop.command[:-1], *words]
    done = subprocess.run(
        command, env=workshop.environment, capture_output=True, text=True, timeout=60, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_read(answer: str) -> Any:
    """JSON as data, relevance to the nearest tenth: the last digits belong to the search model, not to the README."""
    if not answer.startswith("{"):
        return answer.strip()
    return json.loads(answer, parse_float=lambda number: round(float(number), 1))


@pytest.mark.timeout(180)
@pytest.mark.usefixtures("_six_servers")
async def test_an_agent_gets_the_answers_that_the_readme_shows(workshop: Workshop) -> None:
    async with workshop.client() as client:
        for shown in re.split(r"^> ", AGENT, flags=re.MULTILINE)[1:]:
            asked, _, answer = shown.partition("\n")
            tool, _, arguments = asked.partition(" ")
            given = text(await client.call_tool(tool, json.loads(arguments)))

            assert as_read(given) == as_read(answer.replace("\n  ", " ") if answer.startswith("{") else answer), asked


@pytest.mark.timeout(180)
@pytest.mark.usefixtures("_six_servers")
def test_the_commands_print_what_the_readme_shows(workshop: Workshop) -> None:
    assert len(COMMANDS) == 2
    for shown in COMMANDS:
        command, _, printed = shown.partition("\n")
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command.removeprefix("$ toolcrib "))]

        assert said(workshop, *words).split() == printed.split(), command
