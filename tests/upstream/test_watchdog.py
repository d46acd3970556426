from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.upstream.children import PROGRAMS, eventually, guarded, is_running, members, program
from toolcrib.upstream import watchdog as watchdog_module
from toolcrib.upstream.watchdog import Watchdog
from toolcrib.upstream.watchdog_process import Family, end, groups_left_behind

SLEEPER = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]


@contextmanager
def session(argv: list[str] = SLEEPER) -> Iterator[subprocess.Popen[bytes]]:
    """A process leading its own session, reaped as soon as it ends, as a gateway's children are."""
    process = subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE)
    reaper = threading.Thread(target=process.wait)
    reaper.start()
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        reaper.join(5)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def gateway(*children: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A process that opened the children under one watchdog, and what it said about them."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "gateway.py"), *(str(PROGRAMS / child) for child in children)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_children_and_grandchildren_end_when_the_gateway_is_killed() -> None:
    with gateway("stubborn.py", "stubborn.py") as (process, said):
        everyone = [pid for pids in said["children"] for pid in pids]
        assert len(set(everyone)) == 6
        assert all(map(is_running, [*everyone, said["watchdog"]]))
        process.kill()

        await eventually(lambda: not any(map(is_running, everyone)), 5)
        await eventually(lambda: not is_running(said["watchdog"]), 5)


async def test_a_polite_gateway_end_takes_the_watchdog_along() -> None:
    with gateway("stubborn.py") as (process, said):
        process.terminate()

        await eventually(lambda: not any(map(is_running, [*said["children"][0], said["watchdog"]])), 5)


async def test_nothing_is_started_before_the_first_child() -> None:
    async with guarded() as watchdog:
        assert watchdog.pid is None


async def test_one_watchdog_serves_many_children() -> None:
    async with guarded() as watchdog:
        watchdog.start()
        first = watchdog.pid
        watchdog.start()

        assert first is not None
        assert watchdog.pid == first


async def test_the_watchdog_ignores_what_would_stop_a_terminal_program() -> None:
    async with guarded() as watchdog:
        watchdog.start()
        assert watchdog.pid is not None
        await eventually(lambda: ignores(watchdog.pid, signal.SIGTERM))

        assert ignores(watchdog.pid, signal.SIGINT)
        assert ignores(watchdog.pid, signal.SIGHUP)


def ignores(pid: int | None, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)


async def test_the_watchdog_holds_none_of_our_streams_and_no_child_holds_its_pipe() -> None:
    async with guarded() as watchdog:
        watchdog.start()
        with session() as child:
            ours = {os.readlink(f"/proc/self/fd/{fd}") for fd in (1, 2)} - {"/dev/null"}
            its = {number: os.readlink(f"/proc/{watchdog.pid}/fd/{number}") for number in (0, 1, 2)}

            assert its[1] == its[2] == "/dev/null"
            assert not ours & set(its.values())
            assert its[0] not in set(held_by(child.pid))


def held_by(pid: int) -> Iterator[str]:
    """What a process has open; a file that it closes meanwhile, as a starting one does, it does not hold."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield os.readlink(entry)


async def test_a_group_left_when_the_guard_closes_is_ended() -> None:
    with session() as child:
        watchdog = Watchdog()
        watchdog.start()
        watchdog.watch(child.pid)
        watchdog.close()

        assert not is_running(child.pid)


async def test_a_released_group_is_never_touched() -> None:
    with session() as kept, session() as ended:
        watchdog = Watchdog()
        watchdog.start()
        watchdog.watch(kept.pid)
        watchdog.watch(ended.pid)
        watchdog.release(kept.pid)
        watchdog.close()

        assert not is_running(ended.pid)
        assert is_running(kept.pid)


async def test_a_watchdog_that_was_killed_is_replaced_and_told_everything_again() -> None:
    with session() as child:
        watchdog = Watchdog()
        watchdog.start()
        watchdog.watch(child.pid)
        first = watchdog.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: not is_running(first))
        watchdog.start()
        assert watchdog.pid != first
        watchdog.close()

        assert not is_running(child.pid)


async def test_a_dead_watchdog_is_reported_and_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with guarded() as watchdog:
        watchdog.start()
        watchdog_pid = watchdog.pid
        assert watchdog_pid is not None
        os.kill(watchdog_pid, signal.SIGKILL)
        await eventually(lambda: not is_running(watchdog_pid))
        watchdog.watch(999_999_999)
        watchdog.release(999_999_999)

        assert "does not respond" in caplog.text


async def test_without_a_watchdog_the_gateway_goes_on_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watchdog_module.sys, "executable", "/no/such/python")
    async with guarded() as watchdog:
        watchdog.start()
        watchdog.watch(999_999_999)
        watchdog.release(999_999_999)

        assert watchdog.pid is None
        assert "no watchdog" in caplog.text


async def test_a_closed_guard_starts_nothing_more() -> None:
    watchdog = Watchdog()
    watchdog.start()
    watchdog.close()
    watchdog.start()
    watchdog.close()

    assert watchdog.pid is None


async def test_the_watchdog_is_small() -> None:
    async with guarded() as watchdog:
        watchdog.start()
        await eventually(lambda: ignores(watchdog.pid, signal.SIGTERM))
        resident = next(
            line for line in Path(f"/proc/{watchdog.pid}/status").read_text().splitlines() if line.startswith("VmRSS")
        )

        assert int(resident.split()[1]) < 16_000


def follow(text: bytes) -> set[int]:
    """The groups left after the watchdog read `text` and the end of its pipe."""
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    try:
        return groups_left_behind(reading, None)
    finally:
        os.close(reading)


def test_lines_that_are_no_order_are_passed_over() -> None:
    assert follow(b"+12\n+13\n-12\n\n+\nx5\n+-7\n+1 2\n-99\n+14\n+1") == {13, 14}


def test_the_gateways_death_is_seen_even_when_a_stranger_keeps_the_pipe_open() -> None:
    reading, writing = os.pipe()
    with session() as stand_in:
        handle = os.pidfd_open(stand_in.pid)
        try:
            os.write(writing, b"+12\n")
            stand_in.kill()

            assert groups_left_behind(reading, handle) == {12}
        finally:
            for descriptor in (reading, writing, handle):
                os.close(descriptor)


async def test_ending_kills_what_ignores_the_question() -> None:
    with session(program("stubborn.py")) as stubborn, session() as polite:
        assert stubborn.stdout is not None
        pids = json.loads(stubborn.stdout.readline())
        await asyncio.wait_for(asyncio.to_thread(end, [Family(stubborn.pid), Family(polite.pid)]), 5)

        await eventually(lambda: not any(map(is_running, pids)), 5)
        assert members(polite.pid) == []


def test_a_family_that_is_gone_is_not_signalled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with session([sys.executable, "-I", "-S", "-c", ""]) as brief:
        family = Family(brief.pid)
        brief.wait(10)
        assert not family.is_alive()
        signalled: list[int] = []
        monkeypatch.setattr(os, "killpg", lambda group, _number: signalled.append(group))
        family.ask_to_end()
        family.kill()

        assert signalled == []
        assert not family.is_alive()


def test_a_family_of_another_user_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_group: int, _number: int) -> None:
        raise PermissionError

    with session() as child:
        family = Family(child.pid)
        with monkeypatch.context() as patch:
            patch.setattr(os, "killpg", refuse)
            family.ask_to_end()

            assert not family.is_alive()


@pytest.mark.parametrize("number", [1, 0, -5])
def test_numbers_that_name_no_child_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="not one of our process groups"):
        Family(number)
