"""A session goes on after its engine was killed, at whatever moment that was."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib.server import kept_input, kept_output, session_journal
from toolcrib.server.kept_input import MOST_KEPT_BYTES
from toolcrib.server.kept_output import LONG_BYTES
from toolcrib.server.kept_session import KeptSession
from toolcrib.server.pipes import TOO_LONG
from toolcrib.server.session_journal import FileJournal

KINDS = ("pipes", "sockets")
# What an engine asks of the system, one step after the other; it may be killed before each of them.
STEPS = ("splice", "pwrite", "write", "sendfile", "ftruncate", "lseek")
MOST_LINE_BYTES = 2_000
MODULES = (kept_input, kept_output, session_journal)


class Killed(BaseException):
    """The engine ends here, and does nothing more."""


class MortalSystem:
    """The system's calls, of which only so many are made before the engine is killed."""

    def __init__(self, steps: int | None) -> None:
        self.left = steps
        self.taken = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._counted(real) if name in STEPS else real

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            if self.left is not None and self.taken >= self.left:
                raise Killed
            self.taken += 1
            return real(*arguments, **options)

        return step


class Client:
    """The client's ends of its pipes, and all that its connector keeps for the session."""

    def __init__(self, kind: str) -> None:
        if kind == "pipes":
            read_fd, self.into = os.pipe()
            self.out_of, write_fd = os.pipe()
        else:
            (read_fd, self.into), (self.out_of, write_fd) = (_socket_pair(), _socket_pair())
        files = [os.memfd_create(name) for name in ("journal", "input", "output")]
        self.descriptors = [read_fd, write_fd, *files, *os.pipe()]
        os.set_blocking(self.out_of, False)
        self.heard = bytearray()

    def say(self, text: bytes) -> None:
        os.write(self.into, text)

    def hang_up(self) -> None:
        os.close(self.into)
        self.into = os.open(os.devnull, os.O_WRONLY)

    def listen(self) -> None:
        try:
            while received := os.read(self.out_of, 1 << 20):
                self.heard += received
        except BlockingIOError:
            return

    @property
    def answers(self) -> list[dict[str, Any]]:
        assert self.heard.endswith(b"\n") or not self.heard
        return [message for line in self.heard.splitlines() if (message := _message(line)) is not None]

    def close(self) -> None:
        for descriptor in (self.into, self.out_of, *self.descriptors):
            os.close(descriptor)


def _socket_pair() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None  # a line whose beginning was lost
    return found


class Engine:
    """Answers each line as long as it lives; what ran in a former engine it tells to be unknown."""

    def __init__(self, client: Client, size: int) -> None:
        self.ran: list[int] = []
        self._size = size
        self._client = client
        self._to_run: list[int] = []
        self._kept = KeptSession(client.descriptors)
        self._reader = self._kept.reader(self._feed, lambda: MOST_LINE_BYTES)
        for id in self._kept.progress.running:
            self._answer(id, "unknown")

    def work(self) -> None:
        """Take one portion of input, run what it asks for, and send what that brought."""
        self._reader._read()
        self._run_calls()
        self._kept.writer.flush()

    async def serve(self) -> None:
        """Until the client has nothing more to say, and was told everything."""
        async with asyncio.timeout(10):
            await self._while(asyncio.create_task(self._reader.run()))
            await self._while(asyncio.create_task(self._kept.writer.close(5)))

    def die(self) -> None:
        self._kept.writer.abort()

    async def _while(self, task: asyncio.Task[None]) -> None:
        while not task.done():
            await asyncio.sleep(0)
            self._run_calls()
            self._client.listen()
        await task

    def _feed(self, line: bytes) -> None:
        if line == TOO_LONG:
            self._kept.writer.write(b'{"id":"too long"}')
            self._kept.journal.fed()
        else:
            self._to_run.append(json.loads(line)["id"])
            self._kept.journal.started(self._to_run[-1])

    def _run_calls(self) -> None:
        while self._to_run:
            id = self._to_run.pop(0)
            self.ran.append(id)
            self._answer(id, "x" * self._size)

    def _answer(self, id: int, text: str) -> None:
        self._kept.writer.write(json.dumps({"id": id, "text": text}).encode())
        self._kept.journal.ended(id)


def killed_after(
    steps: int | None, client: Client, size: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[int], int]:
    """What an engine ran until it was killed after so many steps, and how many steps it took."""
    system, engine = MortalSystem(steps), None
    with monkeypatch.context() as patch:
        for module in MODULES:
            patch.setattr(module, "os", system)
        patch.setattr(FileJournal, "_store", system._counted(FileJournal._store))
        try:
            engine = Engine(client, size)
            for _ in range(3):
                engine.work()
        except Killed:
            pass
    if engine is None:
        return [], system.taken
    engine.die()
    return engine.ran, system.taken


@pytest.mark.parametrize("size", [10, LONG_BYTES])
@pytest.mark.parametrize("kind", KINDS)
async def test_whenever_an_engine_is_killed_each_request_is_run_at_most_once_and_answered_once(
    monkeypatch: pytest.MonkeyPatch, kind: str, size: int
):
    steps = survived = 0
    while survived <= steps:
        client = Client(kind)
        client.say(b'{"id":1}\n{"id":2}\n{"id":')
        ran, taken = killed_after(survived, client, size, monkeypatch)
        steps = max(steps, taken + 1)
        client.say(b"3}\n")
        client.hang_up()
        heir = Engine(client, size)
        await heir.serve()

        assert Counter(answer["id"] for answer in client.answers) == {1: 1, 2: 1, 3: 1}, (
            f"killed after {survived} steps"
        )
        assert not set(ran) & set(heir.ran), f"killed after {survived} steps"
        client.close()
        if taken < survived:
            break
        survived += 1
    assert survived > 8


async def test_a_result_that_was_written_but_not_sent_is_sent_by_the_next_engine(monkeypatch: pytest.MonkeyPatch):
    client = Client("pipes")
    client.say(b'{"id":1}\n')
    engine = Engine(client, 10)
    with monkeypatch.context() as patch:
        patch.setattr(kept_output, "os", MortalSystem(1))  # it is put into the file, and that is all
        with pytest.raises(Killed):
            engine.work()
    engine.die()
    client.hang_up()
    await Engine(client, 10).serve()

    assert client.answers == [{"id": 1, "text": "x" * 10}]
    client.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_line_that_is_too_long_is_refused_once_and_those_around_it_are_run(kind: str):
    client = Client(kind)
    client.say(b'{"id":1}\n{"id":2,"text":"' + b"x" * MOST_LINE_BYTES)
    first = Engine(client, 10)
    first.work()
    first.die()
    client.listen()
    client.say(b'"}\n{"id":3}\n')
    client.hang_up()
    await Engine(client, 10).serve()

    assert Counter(answer["id"] for answer in client.answers) == {1: 1, "too long": 1, 3: 1}
    client.close()


async def test_a_long_session_keeps_little_and_loses_nothing():
    client, count = Client("pipes"), 30_000
    engine = Engine(client, 100)
    for number in range(count):
        client.say(b'{"id":%d}\n' % number)
        engine.work()
        client.listen()
    engine.die()
    client.hang_up()
    await Engine(client, 100).serve()

    assert [answer["id"] for answer in client.answers] == list(range(count))
    assert max(os.fstat(file).st_size for file in client.descriptors[2:5]) < 2 * MOST_KEPT_BYTES
    client.close()
