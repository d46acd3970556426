"""What a client that asks for a prompt or a resource hears when it does not get it."""

from __future__ import annotations

import pytest

from toolcrib.errors import (
    ServerNotFound,
    ToolChanged,
    ToolcribError,
    ToolDisabled,
    ToolNotFound,
    ToolPending,
    ToolQuarantined,
)
from toolcrib.model.call import ExecutionError
from toolcrib.server.native_errors import rpc_error, rpc_error_of

KEPT_AWAY = [ServerNotFound, ToolNotFound, ToolDisabled, ToolChanged, ToolPending, ToolQuarantined]


@pytest.mark.parametrize("error", KEPT_AWAY)
@pytest.mark.parametrize(("modern", "code"), [(True, -32602), (False, -32002)])
def test_what_may_not_be_read_is_told_like_what_is_not_there(
    error: type[ToolcribError], code: int, *, modern: bool
) -> None:
    told = rpc_error(ExecutionError.of(error("no", hint="Ask."), "notes", "x"), modern=modern, uri="file:///x")

    assert (told.code, told.data) == (code, {"uri": "file:///x"})


@pytest.mark.parametrize("error", KEPT_AWAY)
def test_what_may_not_be_used_is_the_callers_mistake_and_not_ours(error: type[ToolcribError]) -> None:
    told = rpc_error_of(error("no", hint="Ask."), modern=True)

    assert (told.code, told.data) == (-32602, {"code": error.code, "hint": "Ask."})
