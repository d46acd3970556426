from __future__ import annotations

import asyncio

import pytest

from tests.calls.steps import CALLER, Upstream, a_call, through
from tests.fakes import Clock
from toolcrib.calls.audit import Audit
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.errors import AuditUnavailable, CallTimeout, ServerConnectionError, ToolDisabled
from toolcrib.model.call import ToolResult


class Log(list[AuditRecord]):
    """An audit log in memory."""

    is_full = False

    def append(self, record: AuditRecord) -> bool:  # type: ignore[override]
        if not self.is_full:
            super().append(record)
        return not self.is_full


class Ticking:
    """A clock that moves by a quarter of a second with each look."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 0.25
        return self._now


def audit(log: Log, *, is_required: bool = False) -> Audit:
    return Audit(log, now=Clock(1000.0), monotonic=Ticking(), is_required=lambda: is_required)


async def test_a_success_leaves_one_line_with_names_and_sizes_and_no_values() -> None:
    log = Log()
    result = ToolResult(b'{"content":[]}')
    call = a_call(arguments={"path": "/secret/place", "token": "hunter2"}, caller=CALLER)

    assert await through(audit(log), call, Upstream(result)) is result

    assert log == [
        AuditRecord(1000.0, "agent", "stdio", "files", "read", ("path", "token"), "OK", 250.0, 2, len(result.raw))
    ]
    assert "hunter2" not in repr(log)


async def test_of_a_call_with_very_many_arguments_only_the_first_names_are_looked_at() -> None:
    log = Log()

    await through(audit(log), a_call(arguments={f"name{number}": 1 for number in range(10_000)}), Upstream())

    assert log[0].argument_names == tuple(f"name{number}" for number in range(64))


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


async def test_where_it_is_required_a_call_is_written_down_before_it_runs() -> None:
    log, seen = Log(), []
    upstream = Upstream()

    async def look() -> None:
        seen.extend(record.outcome for record in log)

    upstream.during = look
    await through(audit(log, is_required=True), a_call(), upstream)

    assert seen == ["started"]
    assert [(record.outcome, record.is_call) for record in log] == [("started", False), ("OK", True)]


async def test_where_it_is_required_a_call_that_cannot_be_written_down_does_not_run() -> None:
    log, upstream = Log(), Upstream()
    log.is_full = True

    with pytest.raises(AuditUnavailable) as refused:
        await through(audit(log, is_required=True), a_call(), upstream)

    assert (refused.value.code, refused.value.retryable) == ("AUDIT_UNAVAILABLE", True)
    assert upstream.calls == []
