from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import hearing
from tests.upstream.children import eventually, guarded, program
from toolcrib.errors import ServerConnectionError
from toolcrib.upstream.link import Link
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.stdio import StdioLink
from toolcrib.wire.jsonrpc import RpcError

NO_HEADERS: Mapping[str, str] = {}


@asynccontextmanager
async def opened(
    *argv: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    notes: list[tuple[str, bytes, int | None]] | None = None,
    max_line_bytes: int = 1_000_000,
    max_result_bytes: int = 0,
) -> AsyncIterator[Link]:
    """A link to one of our programs, closed at the end."""
    heard = [] if notes is None else notes
    async with guarded() as watchdog:
        link = await StdioLink.open(
            "test",
            argv or program("echo.py"),
            dict(os.environ) if env is None else env,
            cwd,
            ears=hearing(lambda *note: heard.append(note)),
            stderr=StderrRing(),
            watchdog=watchdog,
            max_line_bytes=max_line_bytes,
            max_result_bytes=max_result_bytes,
        )
        try:
            yield link
        finally:
            await link.close()


async def ask(link: Link, id: int, method: str, **params: Any) -> Any:
    async with asyncio.timeout(10):
        return json.loads(bytes(await link.request(id, method, json.dumps(params).encode(), NO_HEADERS)))


async def test_a_result_comes_back_as_the_json_it_was() -> None:
    async with opened() as link:
        assert await ask(link, 1, "echo", text="naïve ✓", big=2**70) == {"text": "naïve ✓", "big": 2**70}


async def test_an_error_keeps_its_code_message_and_data() -> None:
    async with opened() as link:
        with pytest.raises(RpcError) as caught:
            await ask(link, 1, "refuse")

        assert (caught.value.code, caught.value.message, caught.value.data) == (-32602, "no", {"why": "test"})


async def test_thirty_two_requests_at_once_each_get_their_own_answer() -> None:
    async with opened() as link:
        answers = await asyncio.gather(*(ask(link, id, "gather", count=32, mine=id) for id in range(32)))

        assert [answer["mine"] for answer in answers] == list(range(32))


async def test_cancelling_a_request_tells_the_server() -> None:
    async with opened() as link:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await link.request(5, "hang", b"{}", NO_HEADERS)
        await ask(link, 6, "echo")  # the cancel follows in the background, behind this one at the latest
        seen = await ask(link, 7, "seen")

        assert {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}} in seen


async def test_notifications_requests_and_noise_from_the_server_are_each_met() -> None:
    notes: list[tuple[str, bytes, int | None]] = []
    async with opened(notes=notes) as link:
        await ask(link, 1, "chat")
        assert [(method, json.loads(params)["data"]) for method, params, _ in notes] == [
            ("notifications/message", "hello")
        ]
        seen = await ask(link, 2, "seen")
        answers = {message["id"]: message for message in seen if "method" not in message}
        assert answers["from-server"]["result"] == {}
        assert answers[77]["result"] == {"roots": []}


async def test_our_notifications_arrive() -> None:
    async with opened() as link:
        await link.notify("notifications/initialized", b"{}", NO_HEADERS)
        seen = await ask(link, 1, "seen")

        assert seen[0] == {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}


async def test_environment_and_folder_are_exactly_those_given(tmp_path: Path) -> None:
    given = {"ONLY": "this one", "EMPTY": "", "UMLAUT": "ä\n$HOME `id`"}
    async with opened(env=given, cwd=str(tmp_path)) as link:
        surroundings = await ask(link, 1, "surroundings")

    # Python itself sets LC_CTYPE under the C locale.
    assert {name: value for name, value in surroundings["env"].items() if name != "LC_CTYPE"} == given
    assert Path(surroundings["cwd"]) == tmp_path


async def test_a_waiting_request_fails_with_the_reason_when_the_server_dies() -> None:
    async with opened() as link:
        waiting = asyncio.ensure_future(ask(link, 1, "hang"))
        await ask(link, 2, "echo")
        with pytest.raises(ServerConnectionError):
            await ask(link, 3, "die", words="out of memory\n", status=9)
        with pytest.raises(ServerConnectionError, match="exited with status 9: out of memory") as caught:
            await waiting

        assert caught.value.sent
        assert await link.wait_closed() == "the server exited with status 9: out of memory"


async def test_a_request_after_the_end_was_never_sent() -> None:
    async with opened(*program("crash.py", "status", 2)) as link:
        async with asyncio.timeout(10):
            await link.wait_closed()
        with pytest.raises(ServerConnectionError, match="status 2") as caught:
            await ask(link, 1, "echo")

        assert not caught.value.sent


async def test_an_answer_too_long_closes_the_link_with_the_reason() -> None:
    async with opened(max_line_bytes=2000) as link:
        with pytest.raises(ServerConnectionError, match="sent a line longer than 2000 bytes"):
            await ask(link, 1, "echo", text="x" * 5000)
        async with asyncio.timeout(5):
            assert "longer than 2000 bytes" in await link.wait_closed()


async def test_an_answer_of_many_megabytes_passes() -> None:
    async with opened(max_line_bytes=16_000_000) as link:
        text = "é" * 2_000_000

        assert await ask(link, 1, "echo", text=text) == {"text": text}


async def test_only_a_result_that_is_relayed_may_be_long() -> None:
    long = "x" * 5000
    async with opened(max_line_bytes=2000, max_result_bytes=8000) as link:
        assert (await ask(link, 1, "tools/call", **{"as": "echo"}, text=long))["text"] == long
        with pytest.raises(ServerConnectionError, match="sent a line longer than 2000 bytes"):
            await ask(link, 2, "echo", text=long)


async def test_a_long_result_that_nobody_waits_for_any_more_does_not_end_the_link() -> None:
    async with opened(max_line_bytes=2000, max_result_bytes=8000) as link:
        given_up = asyncio.ensure_future(ask(link, 1, "tools/call", **{"as": "gather"}, count=2, text="x" * 5000))
        await ask(link, 2, "seen")
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)

        assert (await ask(link, 3, "gather", count=2))["count"] == 2
        assert await ask(link, 4, "echo", text="still here") == {"text": "still here"}


async def test_a_refused_call_does_not_leave_the_door_open_for_long_lines() -> None:
    async with opened(max_line_bytes=2000, max_result_bytes=8000) as link:
        with pytest.raises(RpcError):
            await ask(link, 1, "tools/call", **{"as": "refuse"})
        with pytest.raises(ServerConnectionError, match="sent a line longer than 2000 bytes"):
            await ask(link, 2, "echo", text="x" * 5000)


async def test_closing_fails_what_waits_and_may_be_repeated() -> None:
    async with opened() as link:
        waiting = asyncio.ensure_future(ask(link, 1, "hang"))
        await ask(link, 2, "echo")
        await link.close()
        await link.close()
        with pytest.raises(ServerConnectionError, match="was stopped"):
            await waiting


async def test_a_missing_command_is_told_before_there_is_a_link() -> None:
    with pytest.raises(ServerConnectionError, match="not found"):
        async with opened("no-such-command"):
            pass


async def test_the_log_file_holds_what_the_server_said_on_stderr(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "test.log"
    async with guarded() as watchdog:
        link = await StdioLink.open(
            "test",
            program("crash.py", "status", 1),
            os.environ,
            None,
            ears=hearing(lambda *_: None),
            stderr=StderrRing(file=log),
            watchdog=watchdog,
            max_line_bytes=1000,
        )
        await eventually(lambda: log.exists() and b"no such database" in log.read_bytes())
        await link.close()
