from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.upstream.children import Heard, eventually, guarded, is_running, members, program, running
from toolcrib.errors import ServerConnectionError
from toolcrib.upstream.child import Child
from toolcrib.upstream.watchdog_process import read_processes


async def spawn(*argv: str, env: dict[str, str] | None = None, cwd: str | None = None) -> None:
    """Start something and stop it at once, if it starts at all."""
    async with guarded() as watchdog:
        child = await Child.spawn(
            argv,
            server="test",
            env={"PATH": "/usr/bin:/bin"} if env is None else env,
            cwd=cwd,
            on_line=print,
            on_exit=print,
            stderr=Heard().stderr,
            watchdog=watchdog,
            max_line_bytes=1000,
        )
        await child.stop()


async def test_a_child_that_ends_with_its_input_leaves_nothing_behind() -> None:
    async with running(*program("echo.py")) as (child, heard):
        await child.write(b'{"id":1,"method":"echo","params":{}}')
        await eventually(lambda: heard.lines)
        await child.stop()

        assert members(child.pid) == []
        assert heard.reasons == ["the server was stopped"]


async def test_a_message_is_one_line_for_the_child_however_its_json_was_written() -> None:
    async with running(*program("echo.py")) as (child, heard):
        await child.write(b'{"id":1,"method":"echo","params":\n{"id":2,"method":"forged","params":{}}\r\n}')
        await child.write(b'{"id":3,"method":"echo","params":{}}')
        await eventually(lambda: len(heard.lines) == 2)

    assert [json.loads(line)["id"] for line in heard.lines] == [1, 3]


async def test_everything_of_a_child_that_says_very_much_at_once_is_heard_in_order() -> None:
    many = "import sys; sys.stdout.write(''.join('%030d\\n\\n' % n for n in range(60_000)))"
    async with running(sys.executable, "-I", "-S", "-c", many) as (_, heard):
        await eventually(lambda: heard.reasons, 30)

    assert heard.lines == [b"%030d" % number for number in range(60_000)]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
async def test_what_still_comes_when_the_leader_is_gone_is_heard_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.upstream.child.LAST_WORDS_SECONDS", 1.0)
    speaks_on = "for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.3; done & exit 0"
    async with running("sh", "-c", speaks_on) as (_, heard):
        await eventually(lambda: heard.reasons, 30)

    assert heard.lines == [b"%d" % number for number in range(1, 9)]


async def test_a_stubborn_child_and_its_children_are_gone_within_five_seconds() -> None:
    async with running(*program("stubborn.py")) as (child, heard):
        await eventually(lambda: heard.lines)
        assert len(members(child.pid)) == 3
        async with asyncio.timeout(5):
            await child.stop()

        assert [pid for pid in heard.first if is_running(pid)] == []
        assert members(child.pid) == []


async def test_what_a_dead_leader_left_in_its_group_is_ended_without_being_asked_to() -> None:
    async with running(*program("short_lived_leader.py")) as (child, heard):
        await eventually(lambda: heard.reasons)
        await eventually(lambda: not is_running(heard.first[0]), 5)

        assert members(child.pid) == []
        assert heard.reasons == ["the server exited with status 0: my work is done"]


async def test_descendants_that_left_the_group_are_ended_with_it() -> None:
    async with running(*program("wanderer.py")) as (child, heard):
        await eventually(lambda: heard.lines)
        assert set(heard.first).isdisjoint(members(child.pid))
        assert all(map(is_running, heard.first))
        async with asyncio.timeout(5):
            await child.stop()

        assert [pid for pid in heard.first if is_running(pid)] == []


async def test_stop_may_be_called_again_and_by_many_at_once() -> None:
    async with running(*program("echo.py")) as (child, heard):
        await asyncio.gather(*(child.stop() for _ in range(5)))
        await child.stop()

        assert len(heard.reasons) == 1


async def test_a_caller_who_gives_up_on_stop_does_not_keep_it_from_happening() -> None:
    async with running(*program("stubborn.py")) as (child, heard):
        await eventually(lambda: heard.lines)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await child.stop()

        await eventually(lambda: not members(child.pid), 5)


def own_children() -> set[int]:
    return {pid for pid, process in read_processes().items() if process.parent == os.getpid()}


async def test_a_spawn_that_is_cancelled_at_any_moment_leaves_nothing_behind() -> None:
    before = own_children()
    async with guarded() as watchdog:
        for patience in range(12):
            heard = Heard()
            spawning = asyncio.ensure_future(
                Child.spawn(
                    program("stubborn.py"),
                    server="test",
                    env=dict(os.environ),
                    cwd=None,
                    on_line=heard.lines.append,
                    on_exit=heard.reasons.append,
                    stderr=heard.stderr,
                    watchdog=watchdog,
                    max_line_bytes=1000,
                )
            )
            for _ in range(patience):
                await asyncio.sleep(0)
            spawning.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await spawning).stop()

        await eventually(lambda: not watchdog._groups, 5)
        assert own_children() - before == {watchdog.pid}


async def test_a_stopped_child_is_forgotten_by_the_guard() -> None:
    async with running(*program("echo.py")) as (child, _):
        await child.stop()

        assert child._watchdog._groups == set()


async def test_the_exit_status_and_the_last_words_are_told_once() -> None:
    async with running(*program("crash.py", "status", 3)) as (_, heard):
        await eventually(lambda: heard.reasons)

        assert heard.reasons == ["the server exited with status 3: Traceback | RuntimeError: \ufffdno such database"]
        assert heard.lines == [b'{"last": "line"}']


async def test_a_signal_is_told_by_its_name() -> None:
    async with running(*program("crash.py", "signal", signal.SIGSEGV)) as (_, heard):
        await eventually(lambda: heard.reasons)

        assert heard.reasons[0].startswith("the server was ended by SIGSEGV: Traceback")


@pytest.mark.parametrize(("stream", "told"), [(0, "standard input"), (1, "standard output")])
async def test_a_child_that_closes_a_stream_is_of_no_more_use(stream: int, told: str) -> None:
    async with running(*program("closes_output.py", stream)) as (child, heard):
        await eventually(lambda: heard.reasons)

        assert heard.reasons == [f"the server closed its {told}: going quiet"]
        await eventually(lambda: not members(child.pid), 5)


async def test_a_flood_on_stderr_blocks_nothing_and_only_its_end_is_kept() -> None:
    async with running(*program("stderr_flood.py")) as (_, heard):
        await eventually(lambda: heard.lines, 20)
        await eventually(lambda: heard.stderr.tail(1) == "the flood is over")

        assert len(heard.stderr.tail(1000)) <= 64 * 1024


async def test_a_line_over_the_limit_ends_the_child_with_the_reason() -> None:
    async with running(*program("long_line.py", 5000), max_line_bytes=1000) as (child, heard):
        await eventually(lambda: heard.reasons)

        assert heard.reasons == ["the server sent a line longer than 1000 bytes"]
        assert heard.lines[0] == b'{"good": true}'
        assert max(map(len, heard.lines)) <= 1000
        await eventually(lambda: not members(child.pid), 5)


async def test_a_line_at_the_limit_passes() -> None:
    async with running(*program("long_line.py", 5000), max_line_bytes=5000) as (_, heard):
        await eventually(lambda: len(heard.lines) == 3)

        assert heard.lines[1] == b"x" * 5000


async def test_a_failing_listener_costs_one_line_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with running(*program("long_line.py", 10)) as (child, heard):
        await eventually(lambda: len(heard.lines) == 3)
        child._on_line = lambda line: heard.lines.append(line) if line != b"bad" else print(1 / 0)
        child.pipe_data_received(1, b"bad\ngood\n")

        assert heard.lines[3:] == [b"good"]
        assert "could not be handled" in caplog.text


async def test_writing_waits_while_the_child_is_behind_and_loses_nothing(tmp_path: Path) -> None:
    start = tmp_path / "start"
    line = b"x" * 99_999
    async with running(*program("deaf.py", start)) as (child, heard):
        writers = [asyncio.ensure_future(child.write(line)) for _ in range(100)]
        await asyncio.wait(writers, timeout=0.2)
        behind = sum(not writer.done() for writer in writers)
        assert behind > 80, "the pipe took far more than it can hold"
        assert child._stdin.get_write_buffer_size() < 500_000

        writers.pop().cancel()
        start.touch()
        await asyncio.wait_for(asyncio.gather(*writers), 20)
        await child.write(b"end")
        await eventually(lambda: heard.lines)
        assert heard.first == 99 * 100_000 + len(b"end\n")


async def test_a_writer_that_waits_is_told_when_the_child_is_stopped(tmp_path: Path) -> None:
    async with running(*program("deaf.py", tmp_path / "never")) as (child, _):
        writers = [asyncio.ensure_future(child.write(b"x" * 1_000_000)) for _ in range(5)]
        await asyncio.wait(writers, timeout=0.1)
        async with asyncio.timeout(5):
            await child.stop()
            results = await asyncio.gather(*writers, return_exceptions=True)

        refused = [result for result in results if isinstance(result, ServerConnectionError)]
        assert len(refused) >= 3
        assert not any(error.sent for error in refused)


async def test_writing_to_a_child_that_is_gone_says_why() -> None:
    async with running(*program("crash.py", "status", 4)) as (child, heard):
        await eventually(lambda: 0 not in child._open_pipes or heard.reasons)
        with pytest.raises(ServerConnectionError, match="exited with status 4") as caught:
            await child.write(b"{}")

        assert caught.value.server == "test"
        assert not caught.value.sent


async def test_a_command_that_is_nowhere_on_path_says_so() -> None:
    with pytest.raises(ServerConnectionError) as caught:
        await spawn("no-such-command")

    assert "not found on PATH" in caught.value.hint
    assert caught.value.server == "test"


async def test_the_path_that_counts_is_the_childs_own(tmp_path: Path) -> None:
    tool = tmp_path / "own-command"
    tool.write_text(f"#!{sys.executable}\n")
    tool.chmod(0o700)

    await spawn("own-command", env={"PATH": str(tmp_path)})
    with pytest.raises(ServerConnectionError):
        await spawn("own-command", env={"PATH": "/usr/bin"})


async def test_a_relative_command_is_looked_up_in_the_childs_folder(tmp_path: Path) -> None:
    tool = tmp_path / "inner" / "start"
    tool.parent.mkdir()
    tool.write_text(f"#!{sys.executable}\n")
    tool.chmod(0o700)

    await spawn("./start", cwd=str(tool.parent))
    await spawn("./start", cwd="inner")
    with pytest.raises(ServerConnectionError, match="not found"):
        await spawn("./start")


async def test_a_file_without_permission_to_run_says_so(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o600)
    with pytest.raises(ServerConnectionError, match="permission denied") as caught:
        await spawn(str(tool))

    assert "executable" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "told"), [("#!/no/such/interpreter\n", "interpreter"), ("no program at all\n", "first line")]
)
async def test_a_file_the_system_cannot_run_gets_a_hint(tmp_path: Path, text: str, told: str) -> None:
    tool = tmp_path / "tool"
    tool.write_text(text)
    tool.chmod(0o700)
    with pytest.raises(ServerConnectionError, match="could not be started") as caught:
        await spawn(str(tool))

    assert told in caught.value.hint


async def test_a_null_byte_in_an_argument_is_our_own_kind_of_error() -> None:
    with pytest.raises(ServerConnectionError, match="null byte"):
        await spawn(sys.executable, "a\0b")


async def test_a_working_folder_that_is_missing_says_so(tmp_path: Path) -> None:
    with pytest.raises(ServerConnectionError, match="working folder"):
        await spawn(sys.executable, cwd=str(tmp_path / "gone"))


async def test_no_descriptor_is_left_open_by_many_children() -> None:
    async with running(*program("echo.py")):
        pass
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        async with running(*program("echo.py")):
            pass
        with pytest.raises(ServerConnectionError):
            await spawn("no-such-command")

    assert len(os.listdir("/proc/self/fd")) == before
