from __future__ import annotations

import asyncio
import errno
import logging

import pytest

from tests.fakes import Clock
from toolcrib.telemetry.loop_errors import QUIET_SECONDS, LoopErrors


async def test_the_same_error_a_thousand_times_is_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    loop, errors = asyncio.get_running_loop(), LoopErrors(clock)
    out_of_files = {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "too many")}

    for _ in range(1000):
        errors(loop, out_of_files)
    errors(loop, {"message": "Task exception was never retrieved", "exception": ValueError("odd")})
    clock.advance(QUIET_SECONDS)
    errors(loop, out_of_files)

    assert [record.getMessage() for record in caplog.records] == [
        "socket.accept() out of system resource: OSError(24, 'too many')",
        "Task exception was never retrieved: ValueError('odd')",
        "socket.accept() out of system resource: OSError(24, 'too many')",
    ]
    assert "Traceback" not in caplog.text


async def test_the_origin_of_an_error_is_told_when_debugging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="toolcrib"):
        LoopErrors(Clock())(asyncio.get_running_loop(), {"message": "odd", "exception": ValueError("why")})

    assert caplog.records[0].exc_info is not None
