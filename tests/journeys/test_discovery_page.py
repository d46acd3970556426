"""docs/discovery.md, example by example, as a reader would try it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.registry import Registry, entry, serve
from toolcrib.cli.main import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "discovery.md").read_text("utf-8")
PROMISED = re.compile(r"^# -> (.*)$", re.MULTILINE)
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ATLAS = entry(
    "io.github.acme/atlas",
    "Maps and routes for agents",
    remotes=[{"type": "streamable-http", "url": "https://atlas.example/mcp"}],
)

# What a command must at least show.
SHOWS = {
    "discover": "count_words",
    "registry search": "io.github.acme/atlas",
    "registry show": "https://atlas.example/mcp",
    "capabilities list": "mcp.clock.current_time",
    "capabilities show": ":provider {:type :mcp",
    "approvals list": "notes",
    "approvals show": "toolcrib.demo.words",
    "execute notes": "3",
    "capabilities resolve": "io.github.acme/atlas|mcp.words.count_words",
}


@pytest.fixture
def _a_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`python` on the path, and a registry that is not the world's."""
    with serve(Registry([ATLAS])) as registry:
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("TOOLCRIB_REGISTRY_URLS", registry.url)
        yield


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("_a_reader")
def test_every_example_of_the_discovery_page_works_and_shows_what_it_promises() -> None:
    for number, (language, block) in enumerate(BLOCKS, 1):
        if language == "python":
            assert _said(block, number) == PROMISED.findall(block), f"example {number}"
        else:
            for line in block.splitlines():
                _run(line.removeprefix("$ "))


def test_every_example_of_the_discovery_page_promises_something() -> None:
    programs = [block for language, block in BLOCKS if language == "python"]
    assert len(programs) >= 8
    assert all(PROMISED.search(block) for block in programs)


def _said(block: str, number: int) -> list[str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, f"discovery.md, example {number}", "exec"), {"__name__": "__main__"})
    return said.getvalue().splitlines()


def _run(command: str) -> None:
    program, *words = shlex.split(command)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(words)

    assert (program, code) == ("toolcrib", 0), (command, said.getvalue())
    wanted = SHOWS.get(" ".join(words[:2])) or SHOWS.get(words[0], "")
    assert re.search(re.escape(wanted).replace(r"\|", "|"), said.getvalue()), (command, said.getvalue())
