from __future__ import annotations

import asyncio

import pytest

from tests.calls.steps import CALLER, Upstream, a_call, through
from tests.fakes import Clock
from toolcrib.calls.audit import Audit
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.errors import CallTimeout, ServerConnectionError, ToolDisabled
from toolcrib.model.call import ToolResult


class Log(list[AuditRecord]):
    """An audit log in memory."""


class Ticking:
    """A clock that moves by a quarter of a second with each look."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 0.25
        return self._now


def audit(log: Log) -> Audit:
    return Audit(log, now=Clock(1000.0), monotonic=Ticking())


async def test_a_success_leaves_one_line_with_names_and_sizes_and_no_values() -> None:
    log = Log()
    result = ToolResult(b'{"content":[]}')
    call = a_call(arguments={"path": "/secret/place", "token": "hunter2"}, caller=CALLER)

    assert await through(audit(log), call, Upstream(result)) is result

    assert log == [
        AuditRecord(1000.0, "agent", "stdio", "files", "read", ("path", "token"), "OK", 250.0, 2, len(result.raw))
    ]
    assert "hunter2" not in repr(log)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ToolDisabled("no"), "TOOL_DISABLED"),
        (CallTimeout("late", server="files"), "TOOL_EXECUTION_TIMEOUT"),
        (ServerConnectionError("gone", server="files"), "SERVER_CONNECTION_ERROR"),
    ],
)
async def test_a_refusal_or_failure_leaves_a_line_with_its_code_and_is_raised(error: Exception, outcome: str) -> None:
    log = Log()

    with pytest.raises(type(error)):
        await through(audit(log), a_call(), Upstream(error))

    assert [(record.outcome, record.result_bytes) for record in log] == [(outcome, 0)]


async def test_a_tool_that_says_it_failed_is_no_success() -> None:
    log = Log()

    await through(audit(log), a_call(), Upstream(ToolResult(b'{"content":[],"isError":true}')))

    assert [record.outcome for record in log] == ["TOOL_EXECUTION_ERROR"]


async def test_a_cancelled_call_leaves_a_line() -> None:
    log, upstream = Log(), Upstream()
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.get_running_loop().create_future()

    upstream.during = hang
    task = asyncio.create_task(through(audit(log), a_call(), upstream))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [record.outcome for record in log] == ["CANCELLED"]


async def test_our_own_fault_leaves_a_line_too() -> None:
    log = Log()

    with pytest.raises(KeyError):
        await through(audit(log), a_call(), Upstream(KeyError("x")))

    assert [record.outcome for record in log] == ["INTERNAL_ERROR"]
