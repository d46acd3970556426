from __future__ import annotations

import pytest

from tests.fakes import FakeServer, hearing
from toolcrib.errors import ToolsListFailed
from toolcrib.upstream.inbox import Inbox
from toolcrib.upstream.session import Session
from toolcrib.upstream.tool_list import ListLimits

CLIENT = {"name": "test", "version": "0"}


async def test_a_list_that_is_not_even_looked_at_is_an_error_that_says_what_to_do() -> None:
    link = await FakeServer(methods={"tools/list": lambda _: {"tools": [1] * 600_000}}).open(hearing(lambda *_: None))
    inbox = Inbox("files", lambda: None)
    session = await Session.start("files", link, inbox, known=None, probe_seconds=3, client_info=CLIENT)

    with pytest.raises(ToolsListFailed, match="holds more than 524288 values") as caught:
        await session.read(ListLimits(), timeout_seconds=30)

    assert "maxToolListBytes" in caught.value.hint
