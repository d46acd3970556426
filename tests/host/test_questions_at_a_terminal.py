"""`toolcrib execute` at a terminal: what a server asks is put to the person there."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.asking import asking_server
from tests.journeys.stdio_gateway import BOUND_SECONDS, eventually


class AtTerminal:
    """A command whose standard input and error are a terminal."""

    def __init__(self, shared: SharedWorkshop, *words: str) -> None:
        self._own, theirs = pty.openpty()
        command = [*shared.command[:-1], *words]
        self.process = subprocess.Popen(
            command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=shared.environment, cwd=shared.folder
        )
        os.close(theirs)
        os.set_blocking(self._own, False)
        self._shown = b""

    @property
    def shown(self) -> str:
        with suppress(BlockingIOError, OSError):
            while data := os.read(self._own, 65_536):
                self._shown += data
        return self._shown.decode()

    async def answers(self, prompt: str, *lines: str) -> None:
        """Type these lines once the prompt is there."""
        await eventually(lambda: prompt in self.shown)
        os.write(self._own, "".join(f"{line}\n" for line in lines).encode())

    async def ended(self) -> str:
        out, _ = await asyncio.to_thread(self.process.communicate, timeout=BOUND_SECONDS)
        return out.decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def terminals() -> Iterator[list[AtTerminal]]:
    opened: list[AtTerminal] = []
    yield opened
    for one in opened:
        one.close()


def answer_in(out: str) -> Any:
    return json.loads(out.partition("Result:")[2])


@pytest.mark.parametrize(("place", "era"), [("engine", "legacy"), ("own process", "modern")])
async def test_a_form_is_filled_in_field_by_field(
    shared: SharedWorkshop, terminals: list[AtTerminal], place: str, era: str
) -> None:
    shared.configure({"asking": asking_server(era)}, **({} if place == "engine" else {"engine": {"enabled": False}}))
    if place == "engine":
        async with shared.client() as client:
            await client.list_tools()
            assert shared.engines()
    terminal = AtTerminal(shared, "execute", "asking", "form_of_all")
    terminals.append(terminal)

    await terminal.answers("Your name: ", "A", "Ann")
    await terminal.answers("age: ", "old", "200", "41")
    await terminal.answers("height [Enter for 1.8]: ", "")
    await terminal.answers("fine [yes or no]: ", "maybe", "yes")
    await terminal.answers("colour (of the car): ", "3", "2")
    await terminal.answers("days [several with commas]: ", "1, wed")
    await terminal.answers("note [Enter to leave it out]: ", "")
    out = await terminal.ended()

    content = {"name": "Ann", "age": 41, "height": 1.8, "fine": True, "colour": "g", "days": ["mon", "wed"]}
    assert answer_in(out) == {"action": "accept", "content": content}
    assert "asking asks: Please fill in" in terminal.shown
    for words in (
        "at least 2 characters",
        "a whole number",
        "from 0 up to 150",
        "yes or no.",
        "from 1 to 2",
        "2) Green",
    ):
        assert words in terminal.shown


async def test_addresses_are_shown_folders_told_and_the_model_is_refused(
    shared: SharedWorkshop, terminals: list[AtTerminal]
) -> None:
    shared.configure({"asking": asking_server("modern")}, engine={"enabled": False})
    tools = {tool: AtTerminal(shared, "execute", "asking", tool) for tool in ("visit", "folders", "model", "name")}
    terminals.extend(tools.values())

    await tools["visit"].answers("then press Enter; or write no: ", "")
    assert "https://example.com/sign-in" in tools["visit"].shown
    assert answer_in(await tools["visit"].ended()) == {"action": "accept"}
    where = answer_in(await tools["folders"].ended())
    assert [Path(root["uri"].removeprefix("file://")) for root in where["roots"]] == [shared.folder]
    assert "CLIENT_CANNOT_ANSWER" in await tools["model"].ended()
    await tools["name"].answers("name: ", "\x04")  # the end of the input
    assert answer_in(await tools["name"].ended()) == {"action": "cancel"}


async def test_a_person_who_has_had_enough_leaves_no_reader_behind(
    shared: SharedWorkshop, terminals: list[AtTerminal]
) -> None:
    shared.configure({"asking": asking_server("legacy")})
    async with shared.client() as client:
        await client.list_tools()
        first = AtTerminal(shared, "execute", "asking", "name")
        terminals.append(first)
        await eventually(lambda: "name: " in first.shown)
        first.process.send_signal(signal.SIGINT)
        await first.ended()
        second = AtTerminal(shared, "execute", "asking", "name")
        terminals.append(second)
        await second.answers("name: ", "Bob")
        assert answer_in(await second.ended())["content"] == {"name": "Bob"}
